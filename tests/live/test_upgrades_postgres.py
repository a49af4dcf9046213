"""What earlier versions wrote into PostgreSQL (tests/test_upgrades.py has the rest)."""

import pytest

from lingape import Experiment
from test_upgrades import VERSIONS, agrees, kept
from upgrades import NAMES, facts


@pytest.mark.parametrize("version", [folder.name for folder in VERSIONS])
def test_tables_are_read_and_go_on(postgres_server, postgres_url, version):
    folder = next(folder for folder in VERSIONS if folder.name == version)
    postgres_server.restore((folder / "postgres.sql").read_text(encoding="utf-8"))
    said = kept(version, "said")["experiments"]
    for name in NAMES:
        # The times in the logs are the same; ids of tickets, and so hashes, are not.
        now = facts(postgres_url, name)
        for part in ("status", "certificate"):
            now[part]["digest"] = said[name][part]["digest"]
        assert agrees(said[name], now)
    with Experiment.open(postgres_url, "ads") as ads:
        pulls = ads.status().pulls
        ads.add(1, 1.0)
        assert ads.status().pulls == pulls + 1
        ads.verify()
