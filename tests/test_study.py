"""Studies: the same rows on any workers, kept when interrupted, summarised correctly."""

import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from lingape import (
    FixedDesign,
    LinGapE,
    Mixture,
    Study,
    XYOracle,
    XYStatic,
    canonical,
    greedy,
    run,
    soare,
    soare_tied,
)
from lingape.complexity import characteristic_time
from lingape.errors import (
    InvalidArgument,
    InvalidEnvironment,
    InvalidProblem,
    InvalidState,
    LingapeError,
)
from lingape.rates import clopper_pearson
from lingape.study import Row, read_study
from lingape.study.clock import Clock
from lingape.study.study import CHUNK, _Chunks, _Played
from systems import posix

SMALL = {
    "explorers": {"tight": LinGapE, "static": XYStatic, "oracle": XYOracle},
    "instances": [canonical(3, 0.8), soare(3, 0.3)],
    "seeds": 3,
}


def facts(results):
    """What of the rows does not depend on the clock."""
    return [(*row.key, row.arm, row.pulls, row.counts, row.ending) for row in results.rows]


def test_rows_are_those_of_single_runs():
    study = Study(**SMALL)
    results = study.run(jobs=1)
    assert len(results.rows) == len(study) == 3 * 2 * 3
    row = results.rows[4]
    assert row.key == ("tight", "soare(3, 0.3)", 1)
    where = soare(3, 0.3)
    seed = study.noise("soare(3, 0.3)", 1)
    again = run(LinGapE(where.problem()), where.gaussian(), seed=seed)
    assert (row.arm, row.pulls, list(row.counts)) == (again.arm, again.pulls, list(again.counts))
    assert row.correct and row.settled and row.seconds > 0


def test_results_do_not_depend_on_workers_or_company():
    alone = Study(**SMALL | {"instances": [soare(3, 0.3)], "seeds": [2, 1]}).run(jobs=1)
    serial, parallel = (Study(**SMALL).run(jobs=jobs) for jobs in (1, 2))
    assert facts(serial) == facts(parallel)
    assert set(facts(alone)) <= set(facts(serial))


def test_explorers_meet_the_same_noise():
    """Two labels for one explorer have the same rows."""
    results = Study(["lingape", "lingape(pull=greedy)"], ["canonical(3, 0.5)"], seeds=4).run(
        jobs=1
    )
    half = len(results.rows) // 2
    for one, other in zip(results.rows[:half], results.rows[half:], strict=True):
        assert (one.seed, one.pulls, one.counts) == (other.seed, other.pulls, other.counts)


def test_settings_reach_problem_and_world():
    study = Study(
        ["lingape"],
        [canonical(3, 0.5)],
        seeds=2,
        world="signed",
        problem={"delta": 0.2, "epsilon": 0.1},
    )
    row = study.run(jobs=1).rows[0]
    where = canonical(3, 0.5)
    again = run(
        LinGapE(where.problem(delta=0.2, epsilon=0.1)),
        where.signed(),
        seed=study.noise(row.instance, 0),
    )
    assert list(row.counts) == list(again.counts)
    noisy = Study(["lingape"], [canonical(3, 0.5)], problem={"noise": 2.0})
    assert noisy.environment(canonical(3, 0.5)).scale == 2.0


def test_summary():
    study = Study(
        {"tight": LinGapE, "loose": "lingape(bound=self_normalized)"}, [canonical(3, 0.8)]
    )
    results = study.run(jobs=1)
    tight, loose = results.summary()
    pulls = np.array([row.pulls for row in results.rows[:10]])
    least = characteristic_time(canonical(3, 0.8).problem(), canonical(3, 0.8).theta).samples(0.05)
    assert (tight.explorer, tight.runs, tight.unfinished) == ("tight", 10, 0)
    assert tight.mean == pulls.mean()
    assert tight.standard_error == pytest.approx(pulls.std(ddof=1) / np.sqrt(10))
    assert tight.errors == 0
    assert (tight.error_low, tight.error_high) == clopper_pearson(0, 10)
    assert tight.lower_bound == pytest.approx(least, rel=1e-3)
    assert tight.ratio == pytest.approx(tight.mean / least, rel=1e-3)
    assert loose.mean > tight.mean
    assert "| tight | canonical(3, 0.8) | 10 |" in " ".join(results.table().split())


def test_summary_of_runs_without_an_end():
    study = Study(["lingape"], [soare_tied(3, 0.3)], seeds=3, max_pulls=500)
    results = study.run(jobs=1)
    (cell,) = results.summary()
    assert (cell.unfinished, cell.lower_bound, cell.ratio) == (3, None, None)
    assert "≥ 500" in results.table()
    assert "3 runs were stopped at 500 pulls" in results.table()


def test_errors_are_counted():
    """A run that settles on an arm worse by more than ε is an error; an unfinished one is not."""

    def hasty(problem):
        return LinGapE(problem.replace(delta=0.999999, noise=0.01))

    (cell,) = Study({"hasty": hasty}, [canonical(4, 0.3)], seeds=30).run(jobs=1).summary()
    assert 0 < cell.errors < 30
    assert cell.error_rate == cell.errors / 30


def test_tables():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    results = Study(**SMALL).run(jobs=1)
    frame, table = results.to_pandas(), results.to_polars()
    assert isinstance(frame, pandas.DataFrame) and isinstance(table, polars.DataFrame)
    assert frame["pulls"].tolist() == table["pulls"].to_list() == [r.pulls for r in results.rows]
    assert [list(c) for c in frame["counts"]] == table["counts"].to_list()


class TestFile:
    def test_it_has_a_header_and_all_rows(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        study = Study(**SMALL)
        results = study.run(jobs=1, path=path)
        header, *rows = map(json.loads, path.read_text("utf-8").splitlines())
        assert header["study"]["seeds"] == [0, 1, 2]
        assert header["study"]["explorers"]["oracle"] == "XYOracle"
        assert header["ran_on"]["numpy"] == np.__version__
        assert len(rows) == len(study)
        assert facts(study.read(path)) == facts(results)

    def test_it_is_not_overwritten(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        study = Study(**SMALL | {"seeds": 1})
        study.run(jobs=1, path=path)
        before = path.read_bytes()
        with pytest.raises(InvalidState, match="exists"):
            study.run(jobs=1, path=path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("cut", [1, 30, 500, 2000])
    def test_resume_after_a_crash(self, tmp_path, cut):
        path = tmp_path / "rows.jsonl"
        study = Study(**SMALL)
        whole = study.run(jobs=1, path=path)
        path.write_bytes(path.read_bytes()[:-cut])
        rows = len(study.read(path).rows)
        ticks = []
        again = study.run(jobs=1, path=path, resume=True, progress=ticks.append)
        assert facts(again) == facts(whole)
        assert [tick.done for tick in ticks] == list(range(rows + 1, len(study) + 1))
        assert facts(study.read(path)) == facts(whole)

    def test_another_study_is_refused(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        Study(**SMALL | {"seeds": 1}).run(jobs=1, path=path)
        for change in (
            {"max_pulls": 7},
            {"instances": [canonical(3, 0.9)]},
            {"problem": {"delta": 0.1}},
        ):
            with pytest.raises(InvalidState, match=f"another study: it has {next(iter(change))} "):
                Study(**SMALL | {"seeds": 1} | change).run(jobs=1, path=path, resume=True)

    def test_more_seeds_go_on_with_the_file(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        two, three = Study(**SMALL | {"seeds": 2}), Study(**SMALL | {"seeds": 3})
        two.run(jobs=1, path=path)
        ticks = []
        more = three.run(jobs=1, path=path, resume=True, progress=ticks.append)
        assert facts(more) == facts(three.run(jobs=1))
        assert len(ticks) == len(three) - len(two)
        assert ticks[-1].done == ticks[-1].total == len(three)
        # Fewer again: nothing is left to do, and the file keeps what it has.
        fewer = two.run(jobs=1, path=path, resume=True, progress=ticks.append)
        assert facts(fewer) == facts(two.run(jobs=1))
        assert len(ticks) == len(three) - len(two)
        assert facts(three.read(path)) == facts(more)

    def test_resume_needs_a_file(self):
        with pytest.raises(InvalidArgument, match="resume needs a path"):
            Study(**SMALL).run(jobs=1, resume=True)

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            (lambda t: "nonsense\n" + t, "not a file of study rows"),
            (lambda t: "", "not a file"),
            (lambda t: t.replace("lingape study", "shopping list"), "shopping list"),
            (lambda t: t.replace('"arm"', '"leg"', 1), "Line 2"),
            (lambda t: t.replace('"pulls": ', '"pulls": "many", "p": ', 1), "Line 2"),
            (lambda t: t.replace('"correct": true', '"correct": 1', 1), "Line 2"),
            (lambda t: t.replace('"study": {', '"study": 3, "s": {', 1), "not a file"),
        ],
    )
    def test_damage_is_refused(self, tmp_path, damage, words):
        path = tmp_path / "rows.jsonl"
        study = Study(**SMALL | {"seeds": 1})
        study.run(jobs=1, path=path)
        path.write_text(damage(path.read_text("utf-8")))
        with pytest.raises(InvalidState, match=words):
            study.read(path)

    def test_rows_so_far_are_kept_when_interrupted(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        study = Study(**SMALL)

        def stop(pace):
            if pace.done == 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            study.run(jobs=1, path=path, progress=stop)
        assert len(study.read(path).rows) == 5
        assert facts(study.run(jobs=2, path=path, resume=True)) == facts(study.run(jobs=1))


@posix("os.killpg")
def test_ctrl_c_on_the_command_line(tmp_path):
    """With parallel workers: one sentence, status 130, and rows to resume from."""
    (tmp_path / "study.toml").write_text(
        'seeds = 400\nmax_pulls = 100_000_000\nexplorers = ["lingape"]\n'
        'instances = ["soare(5, 0.02)"]\n'
    )
    command = [sys.executable, "-m", "lingape", "simulate", "study.toml", "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    rows = tmp_path / "study.jsonl"
    deadline = time.monotonic() + 400  # the first time it compiles
    while not (rows.exists() and rows.read_text("utf-8").count("\n") > 3):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "--resume continues" in said
    assert "Traceback" not in said
    assert len(read_study(tmp_path / "study.toml").read(rows).rows) >= 3


DASK = """
import joblib
from dask.distributed import Client, LocalCluster
from lingape import Study

def main():
    study = Study(["lingape", "xy_static"], ["soare(3, 0.3)"], seeds=4)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client, joblib.parallel_config(backend="dask"):
            rows = study.run().rows
            print(len(client.scheduler_info()["workers"]))
    print([row.pulls for row in rows] == [row.pulls for row in study.run(jobs=1).rows])

if __name__ == "__main__":
    main()
"""


def test_on_a_dask_cluster(tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "on_dask.py"
    script.write_text(DASK)
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=400,
        cwd=tmp_path,
        env=os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "200s"},
    )
    assert done.stdout.split() == ["2", "True"], done.stderr


def test_functions_of_one_name_are_told_apart(tmp_path):
    """A resumed study is the same study, also if its explorers are lambdas."""
    path = tmp_path / "rows.jsonl"
    one, other = (lambda p: LinGapE(p)), (lambda p: XYStatic(p))
    Study({"x": one}, [canonical(3, 1.0)], seeds=1).run(jobs=1, path=path)
    Study({"x": one}, [canonical(3, 1.0)], seeds=1).run(jobs=1, path=path, resume=True)
    with pytest.raises(InvalidState, match="it has explorers .* now"):
        Study({"x": other}, [canonical(3, 1.0)], seeds=1).run(jobs=1, path=path, resume=True)
    made = [(lambda bound: lambda p: LinGapE(p, bound=bound))(b) for b in (Mixture(), Mixture(4))]
    told = [Study({"x": build}, [canonical(3, 1.0)]).header()["study"] for build in made]
    assert told[0] != told[1]


def test_parts_are_told_without_addresses():
    study = Study({"x": partial(LinGapE, pull=greedy, bound=Mixture())}, [canonical(3, 1.0)])
    said = study.header()["study"]["explorers"]["x"]
    assert said == "LinGapE(pull=greedy, bound=Mixture(scales=8, base=16.0, refined=False))"


def test_a_coin_toss_has_no_lower_bound():
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=2, problem={"delta": 0.5})
    (cell,) = study.run(jobs=1).summary()
    assert (cell.lower_bound, cell.ratio) == (None, None)


def test_numpy_numbers_are_numbers(tmp_path):
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=np.int64(2), max_pulls=np.int64(50))
    results = study.run(jobs=np.int64(1), path=tmp_path / "rows.jsonl")
    assert len(results.rows) == 2


def test_a_torn_header_is_written_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=1)
    study.run(jobs=1, path=path)
    path.write_bytes(path.read_bytes()[:20])
    study.run(jobs=1, path=path, resume=True)
    assert len(study.read(path).rows) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_pulls": 0}, "max_pulls"),
        ({"seeds": "12"}, "seeds"),
        ({"seeds": [0.5, 1.5]}, "seeds"),
        ({"seeds": True}, "seeds"),
        ({"explorers": 5}, "mapping from labels"),
        ({"explorers": {"a": 42}}, "a function that takes a problem, or a text .* got 42"),
        ({"explorers": ["lingape", 42]}, "got 42"),
        ({"explorers": {1: LinGapE}}, "must be texts"),
        ({"instances": 5}, "must be a list"),
        ({"instances": [5]}, "such as 'soare"),
        ({"problem": 3}, "must be a mapping"),
        ({"world": ["gaussian"]}, "gaussian, signed"),
        ({"explorers": []}, "needs an explorer"),
        ({"explorers": [LinGapE, LinGapE]}, "different names"),
        ({"explorers": ["nonsense"]}, "No explorer is called"),
        ({"instances": []}, "needs an instance"),
        ({"instances": [soare(3, 0.3), "soare(3, 0.3)"]}, "different names"),
        ({"seeds": 0}, "seeds"),
        ({"seeds": [1, 1]}, "seeds"),
        ({"seeds": [-1]}, "seeds"),
        ({"seeds": "many"}, "seeds"),
        ({"world": "flat"}, "gaussian, signed"),
        ({"problem": {"detla": 0.1}}, "delta, epsilon"),
    ],
)
def test_mistakes_are_found_before_the_first_run(change, words):
    with pytest.raises(InvalidArgument, match=words):
        Study(**SMALL | change)


def test_functions_that_make_no_explorer():
    with pytest.raises(InvalidArgument, match="got 42") as raised:
        Study({"a": lambda problem: 42}, ["canonical(3, 1.0)"], seeds=1).run(jobs=1)
    assert "This was 'a' on" in raised.value.__notes__[0]


def test_worlds_that_cannot_be():
    with pytest.raises(InvalidEnvironment, match="from -1 to 1"):
        Study(["lingape"], [soare(3, 0.3)], world="signed")
    with pytest.raises(InvalidProblem, match="delta"):
        Study(["lingape"], [soare(3, 0.3)], problem={"delta": 2})
    with pytest.raises(InvalidArgument, match="jobs"):
        Study(**SMALL).run(jobs=0)


def test_an_error_says_which_run_it_was():
    from lingape.errors import InvalidBound

    study = Study({"odd": partial(LinGapE, bound=FixedDesign())}, [soare(3, 0.3)], seeds=1)
    with pytest.raises(InvalidBound) as caught:
        study.run(jobs=1)
    assert caught.value.__notes__ == ["This was 'odd' on 'soare(3, 0.3)' with seed 0."]


class TestFiles:
    def test_a_study_from_a_file(self, tmp_path):
        (tmp_path / "arms.csv").write_text("red,1,0\nblue,0,1\n")
        path = tmp_path / "study.toml"
        path.write_text(
            'seeds = [3, 5]\nmax_pulls = 1000\nworld = "signed"\n'
            'instances = ["canonical(3, 0.5)", {arms = "arms.csv", theta = [0.9, 0.1]}]\n'
            '[explorers]\n"the tight one" = "lingape"\n[problem]\ndelta = 0.1\n'
        )
        study = read_study(path)
        assert list(study.explorers) == ["the tight one"]
        assert list(study.instances) == ["canonical(3, 0.5)", "arms.csv"]
        assert study.instances["arms.csv"].theta.tolist() == [0.9, 0.1]
        assert (study.seeds, study.max_pulls, study.world) == ((3, 5), 1000, "signed")
        assert study.posed(study.instances["arms.csv"]).delta == 0.1

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("seeds = ", "cannot be read as TOML"),
            ("seeds = 3", "must name its explorers"),
            ('explorers = ["lingape"]', "must name its instances"),
            ('explorers = [3]\ninstances = ["outsider"]', "must be texts"),
            ('explorers = ["lingape"]\ninstances = [3]', "arms with a theta"),
            ('explorers = ["lingape"]\ninstances = ["outsider"]\nsede = 3', "sede"),
            ('explorers = 5\ninstances = ["outsider"]', "must be texts"),
            ('explorers = ["lingape"]\ninstances = 5', "arms with a theta"),
            ('explorers = "lingape"\ninstances = {arms = "a", theta = "12"}', "with a theta"),
            ('explorers = "lingape"\ninstances = "sphere(5, 2, -1)"', "seed must be"),
            ('explorers = "lingape"\ninstances = "soare(100000000000)"', "to 999,999"),
        ],
    )
    def test_mistakes(self, tmp_path, text, words):
        path = tmp_path / "study.toml"
        path.write_text(text)
        with pytest.raises(LingapeError, match=words):
            read_study(path)


def test_the_example_in_the_help_is_a_study(tmp_path):
    from lingape.cli.simulate import simulate

    (tmp_path / "arms.csv").write_text("1,0,0\n0,1,0\n0,0,1\n")
    (tmp_path / "study.toml").write_text(simulate.help.split("\b")[1].split("\n\n")[0])
    assert len(read_study(tmp_path / "study.toml")) == 2 * 2 * 20


class TestClock:
    """How long will it take? From runs alone, not from compiling and from starting processes."""

    def row(self, explorer, instance, seed, seconds):
        return Row(explorer, instance, seed, 0, True, 600, (600,), "settled", seconds)

    def test_left_follows_from_like_runs(self, monkeypatch):
        now = iter(range(0, 10_000, 1000))  # time that passes otherwise counts for nothing
        monkeypatch.setattr("time.perf_counter", lambda: next(now))
        tasks = [(e, f"draw {k}", 0) for e in ("a", "b") for k in range(10)]
        clock = Clock(20, [], tasks, workers=2)
        first = clock.tick(self.row("a", "draw 0", 0, 3.0))
        assert first.left == (9 + 10) * 3.0 / 2
        second = clock.tick(self.row("b", "draw 0", 0, 1.0))
        assert second.left == (9 * 3.0 + 9 * 1.0) / 2
        assert second.speed == 2 * 1200 / 4.0
        assert str(second) == "2/20 runs, 600 rounds per second, about 18 s left"

    def test_a_run_does_not_count_its_compiling(self, monkeypatch):
        """The compiler is said to take 1000 s, more than any run here."""
        event = pytest.importorskip("numba.core.event")
        from lingape.lanes.compiled import ContestLane

        advance, now = ContestLane.advance, itertools.count(0, 1000)

        def compiling(*args):
            with event.trigger_event("numba:compiler_lock"):
                pass
            advance(*args)

        monkeypatch.setattr(ContestLane, "advance", compiling)
        monkeypatch.setattr(event, "timer", lambda: next(now))
        (row,) = Study(["lingape"], ["canonical(3, 1.0)"], seeds=1).run(jobs=1).rows
        assert row.seconds == 0.0


@pytest.mark.parametrize("odd", [int, 3, None])
def test_what_is_no_explorer_is_refused(odd):
    with pytest.raises(InvalidArgument, match="An explorer is a class, a function"):
        Study({"a": odd}, ["soare(5, 0.1)"], seeds=1)


def test_runs_share_the_problem_and_the_world_of_an_instance():
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=2)
    (where,) = study.instances.values()
    assert study.posed(where) is study.posed(where)
    assert study.environment(where) is study.environment(where)
    sent = pickle.loads(pickle.dumps(study))
    assert sent.play("lingape", where.name, 1).pulls == study.play("lingape", where.name, 1).pulls


def test_short_runs_go_to_workers_in_chunks():
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=400)
    tasks = study._tasks()
    chunks = _Chunks(tasks, workers=2)
    sent = iter(chunks)
    row = study.play(*tasks[0])
    first = next(sent)
    assert len(first) == 1  # nothing is known yet
    chunks.note(_Played(first, [row], [CHUNK / 10.5]))
    assert len(second := next(sent)) == 10
    chunks.note(_Played(second, [row] * 10, [100.0] * 10))
    assert len(third := next(sent)) == 1
    chunks.note(_Played(third, [row], [1e-9]))
    fourth = next(sent)
    assert len(fourth) == (400 - 12) // 8  # so that no worker waits long for another
    chunks.note(_Played(fourth, [row] * 3, [CHUNK] * 3))  # runs took longer than was expected
    rest = list(sent)
    assert rest[0] == fourth[3:4]
    fourth = fourth[:3]
    assert [task for some in (first, second, third, fourth, *rest) for task in some] == tasks


def test_long_runs_are_not_sent_with_short_ones():
    study = Study(["lingape", "uniform"], [canonical(3, 1.0)], seeds=100)
    chunks = _Chunks(study._tasks(), workers=1)
    sent = iter(chunks)
    for seconds in (1e-5, 60.0):  # of the first explorer, and of the second
        chunk = next(sent)
        chunks.note(_Played(chunk, [study.play(*chunk[0])], [seconds]))
    assert [len(next(sent)) for _ in range(4)] == [1, 1, 1, 1]


class Moody:
    """Explorers that fail in one of the runs."""

    def __init__(self, problem):
        Moody.made = getattr(Moody, "made", 0) + 1
        if Moody.made == 3:
            raise ValueError("no")
        self.explorer = LinGapE(problem)

    def __getattr__(self, name):
        return getattr(self.explorer, name)


def test_a_run_that_fails_does_not_lose_those_before_it(monkeypatch):
    study = Study({"moody": Moody}, [canonical(3, 1.0)], seeds=4)
    played = study._play_some(study._tasks())
    assert len(played.rows) == len(played.seconds) == 2 and len(played.tasks) == 4
    Moody.made = 2
    with pytest.raises(ValueError, match="no"):
        study._play_some(study._tasks())


def test_chunks_end_in_time(monkeypatch):
    monkeypatch.setattr("lingape.study.study.CHUNK", 0.0)
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=4)
    assert len(study._play_some(study._tasks()).rows) == 1


def test_many_short_runs_in_two_processes_are_those_of_one():
    study = Study(["lingape"], [canonical(3, 1.0)], seeds=60)
    alone, together = study.run(jobs=1).rows, study.run(jobs=2).rows
    assert [replace(row, seconds=0.0) for row in together] == [
        replace(row, seconds=0.0) for row in alone
    ]
