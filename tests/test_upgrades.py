"""What earlier versions wrote is read by this one, and goes on (tests/upgrades.py)."""

import json
import shutil

import pytest

import lingape
from lingape import BUDGET_EXPLORERS, EXPLORERS, Experiment
from lingape.live import experiments, read_export, verify
from upgrades import KEPT, study

VERSIONS = sorted(KEPT.iterdir())
REGISTRY = {**EXPLORERS, **BUDGET_EXPLORERS}
STATES = [
    (folder.name, name)
    for folder in VERSIONS
    for name in json.loads((folder / "states.json").read_text(encoding="utf-8"))
]


def test_this_version_is_kept_too():
    assert lingape.__version__ in [folder.name for folder in VERSIONS]


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def written(request, tmp_path):
    """A copy of what a version wrote."""
    return shutil.copytree(request.param, tmp_path / request.param.name)


def test_logs_are_verified_and_go_on(written):
    url = f"sqlite:///{written / 'run.db'}"
    assert {one.name for one in experiments(url)} == {"ads", "ads-per-arm", "settled"}
    for name in ("ads", "ads-per-arm", "settled"):
        with Experiment.open(url, name) as experiment:
            assert experiment.verify().certificate == experiment.certificate()
    with Experiment.open(url, "settled") as settled:
        assert settled.certificate().settled
    with Experiment.open(url, "ads") as ads:
        before = ads.status()
        assert (before.pulls, before.pending, before.voided) == (242, 3, 1)
        (first, _), (second, _), _ = ads.events()[-1].tickets  # asked for with the old version
        ads.tell(first, 1.0)
        ads.void(second, reason="too late")
        assert ads.status().pulls == 243
        ads.verify()


def test_exports_are_read_and_imported(written):
    assert verify(read_export(written / "ads.jsonl")).events == 371
    new = f"sqlite:///{written / 'new.db'}"
    with Experiment.from_export(written / "ads.jsonl", new) as ads:
        ads.verify()
        assert ads.status().pulls == 242


@pytest.mark.parametrize(("version", "name"), STATES)
def test_saved_states_resume(version, name):
    kept = json.loads((KEPT / version / "states.json").read_text(encoding="utf-8"))[name]
    explorer = REGISTRY[name].from_state(kept["state"])
    assert explorer.counts.tolist() == kept["counts"]
    assert explorer.certificate().claim == kept["claim"]
    assert explorer.done == (kept["next"] is None)
    if not explorer.done:
        arm = explorer.ask()
        assert arm == kept["next"]
        explorer.tell(arm, 0.5)
        assert sum(explorer.counts) == sum(kept["counts"]) + 1


def test_rows_of_studies_are_continued(written):
    path = written / "rows.jsonl"
    before = path.read_text(encoding="utf-8")
    assert len(study().run(path=path, resume=True, jobs=1).rows) == 6
    assert path.read_text(encoding="utf-8") == before
