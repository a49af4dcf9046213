"""What rewards are like: said once, with no default, and enforced wherever rewards come in."""

import json
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import lingape
from lingape import (
    BUDGET_EXPLORERS,
    EXPLORERS,
    Binary,
    Bounded,
    Experiment,
    Gaussian,
    LinGapE,
    Normal,
    Problem,
    Signed,
    Study,
    SubGaussian,
    ZeroOne,
    canonical,
    run,
    soare,
)
from lingape.cli import main
from lingape.complexity import complexity
from lingape.errors import (
    InvalidBound,
    InvalidEnvironment,
    InvalidProblem,
    InvalidReward,
    InvalidState,
)
from lingape.forecast import forecast, from_gap
from lingape.noise import checked_noise
from lingape.runs import play
from lingape.scaffold.saving import VERSION
from systems import command_line

SQUARE = [[1, 0], [0, 1]]
KINDS = [SubGaussian(0.5), Bounded(-1, 3), Binary(), Normal()]
NAN, INF = float("nan"), float("inf")


# Saying it


@pytest.mark.parametrize(
    ("given", "noise"),
    [
        (2, SubGaussian(2.0)),
        (np.float32(0.5), SubGaussian(0.5)),
        (np.int64(3), SubGaussian(3.0)),
        (Fraction(1, 4), SubGaussian(0.25)),
        ((0, 10), Bounded(0.0, 10.0)),
        ([-1, 1], Bounded(-1.0, 1.0)),
        (np.array([0.0, 2.0]), Bounded(0.0, 2.0)),
        (np.array(2.0), SubGaussian(2.0)),
        ("binary", Binary()),
        ("normal", Normal()),
        *((kind, kind) for kind in KINDS),
    ],
)
def test_every_way_to_say_it(given, noise):
    found = Problem(SQUARE, noise=given).noise
    assert found == noise and type(found) is type(noise)
    assert hash(found) == hash(noise)


CHOICES = ["Say what rewards are like", "noise=R", "Bounded(low, high)", "Binary()", "Normal()"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, CHOICES),
        ("1.0", [*CHOICES, "'1.0'"]),
        ("Binary", [*CHOICES, "'Binary'"]),
        (True, [*CHOICES, "True"]),
        (np.bool_(True), CHOICES),
        (1j, [*CHOICES, "1j"]),
        ([], CHOICES),
        ([1], CHOICES),
        ((0, 1, 2), [*CHOICES, "(0, 1, 2)"]),
        ({0, 1}, CHOICES),
        ({"low": 0, "high": 1}, CHOICES),
        (Normal, [*CHOICES, "Normal"]),
        (0, ["above 0", "got 0", "standard deviation", "Normal()"]),
        (0.0, ["above 0"]),
        (-1, ["above 0", "got -1"]),
        (NAN, ["above 0", "nan"]),
        (INF, ["at most 1e+100", "inf"]),
        (1e200, ["at most 1e+100"]),
        (10**400, ["at most 1e+100", "got 1000"]),
        (np.array([1.0]), CHOICES),
        ((1, 0), ["lowest reward", "then the highest", "(1, 0)"]),
        ((1, 1), ["lowest reward", "then the highest"]),
        ((0, NAN), ["lowest reward", "then the highest", "nan"]),
        ((0, INF), ["at most 1e+100"]),
        ((-1e200, 0), ["at most 1e+100"]),
        ((0, 5e-324), ["lowest reward", "then the highest"]),  # its square is 0
        (("0", "1"), ["lowest reward", "then the highest", "'0'"]),
        ((False, True), ["lowest reward", "then the highest"]),
        ((None, 1), ["lowest reward", "then the highest"]),
        (np.eye(2), ["lowest reward", "then the highest"]),
        ((0, 1e-170), ["1e-100 apart"]),  # the square of which is 0
        ((1000, 1000.5), ["narrow", "Subtract the lowest"]),
    ],
)
def test_every_way_to_say_it_wrongly(given, words):
    with pytest.raises(InvalidProblem) as error:
        Problem(SQUARE, noise=given)
    assert "\n" not in str(error.value) and str(error.value).endswith(".")
    for word in words:
        assert word in str(error.value)


def test_there_is_no_default():
    with pytest.raises(InvalidProblem, match="Say what rewards are like: noise=R"):
        Problem(SQUARE)
    with pytest.raises(InvalidProblem, match="Say what rewards are like"):
        Problem.transductive(SQUARE, items=SQUARE)
    with pytest.raises(TypeError, match="noise_scale"):
        Problem(SQUARE, noise_scale=1.0)


def test_constructors_check_as_well():
    for wrong in ("1", True, None, 0, -1, NAN):
        with pytest.raises(InvalidProblem, match="above 0"):
            SubGaussian(wrong)
    for wrong in ((1, 0), ("0", 1), (0, True), (NAN, 1)):
        with pytest.raises(InvalidProblem, match="then the highest"):
            Bounded(*wrong)
    with pytest.raises(TypeError):
        Binary(0, 1)


def test_simulated_instances_have_unit_noise():
    assert canonical(3).problem().noise == SubGaussian(1.0)
    assert canonical(3).problem(noise="binary").noise == Binary()


# What follows from it


def test_scales():
    assert [kind.scale for kind in KINDS] == [0.5, 2.0, 0.5, None]
    assert [Problem(SQUARE, noise=kind).noise_scale for kind in KINDS[:3]] == [0.5, 2.0, 0.5]
    with pytest.raises(InvalidBound, match=r"noise=Normal\(\) leaves open: give a scale"):
        Problem(SQUARE, noise=Normal()).noise_scale  # noqa: B018
    with pytest.raises(AttributeError):
        Problem(SQUARE, noise=1).noise_scale = 2.0


@pytest.mark.parametrize("kind", KINDS)
def test_data_give_it_back(kind):
    problem = Problem(SQUARE, noise=kind, delta=0.1)
    data = json.loads(json.dumps(problem.to_dict()))
    assert data["noise"] == kind.to_data()
    for again in (Problem(**data), pickle.loads(pickle.dumps(problem)), problem.replace()):
        assert again == problem and hash(again) == hash(problem) and again.noise == kind
    assert checked_noise(json.loads(json.dumps(kind.to_data()))) == kind
    assert repr(kind) in repr(problem)
    changed = problem.replace(noise=7.0)
    assert changed != problem and changed.noise == SubGaussian(7.0) and changed.delta == 0.1


def test_kinds_differ():
    assert len({Problem(SQUARE, noise=kind) for kind in (*KINDS, Bounded(0, 1))}) == 5
    assert Binary() != Bounded(0, 1) and isinstance(Binary(), Bounded)
    assert [kind.to_data() for kind in KINDS] == [0.5, [-1.0, 3.0], "binary", "normal"]


@pytest.mark.parametrize(
    ("kind", "plain", "exact"),
    [
        (SubGaussian(0.5), "on a scale of at most 0.5", "is 0.5-sub-Gaussian"),
        (Bounded(-1, 3), "rewards are from -1.0 to 3.0", "its mean is xᵀθ"),
        (Binary(), "rewards are 0 or 1", "its mean is xᵀθ"),
        (Normal(), "equally wide for all arms", "is Gaussian with mean 0"),
    ],
)
def test_assumptions(kind, plain, exact):
    simple, _, precise = kind.assumption().partition(" Precisely: ")
    assert plain in simple and simple.endswith(".")
    assert exact in precise and precise.endswith(".")
    assert "given all rewards told before it" in precise
    assert "features" in simple and "xᵀθ" in precise
    alone = kind.assumption(linear=False)
    assert "features" not in alone and "xᵀθ" not in alone and plain in alone


def test_certificates_say_what_was_said_of_rewards():
    explorer = LinGapE(Problem(SQUARE, noise=Bounded(0, 2)))
    assert explorer.certificate().assumptions[0] == Bounded(0, 2).assumption()
    for arm in (0, 1):
        explorer.tell(arm, 1.5)
    assert "sub-Gaussian" not in str(explorer.certificate())
    ugape = EXPLORERS["ugape"](Problem(SQUARE, noise=Binary()))
    assert ugape.certificate().assumptions[0] == Binary().assumption(linear=False)


def test_a_range_counts_as_half_of_it():
    """Widths with a range are those of R = half the range."""
    ranged, plain = (LinGapE(Problem(SQUARE, noise=noise)) for noise in ((0, 3), 1.5))
    for explorer in (ranged, plain):
        explorer.tell_many([0, 1, 0], [0.5, 2.5, 1.0])
    assert ranged.certificate().gap_bound == plain.certificate().gap_bound
    assert np.isfinite(plain.certificate().gap_bound)


# Rewards that were promised not to come


OUTSIDE = [
    (Bounded(-1, 3), [-1.0, 3.0, 0.2], [-1.0000001, 3.0000001, -5, 100]),
    (Binary(), [0, 1, True, 0.0], [0.5, -1, 2, 1.0000001]),
]


@pytest.mark.parametrize(("kind", "right", "wrong"), OUTSIDE)
def test_rewards_outside_are_refused_and_leave_no_trace(kind, right, wrong):
    problem = Problem(SQUARE, noise=kind)
    for reward in right:
        kind.check(reward)
        assert problem.check_reward(reward) == reward
        assert type(problem.check_reward(reward)) is float
    explorer = LinGapE(problem)
    explorer.tell(0, right[0])
    before = explorer.state()
    for reward in (*wrong, NAN, INF):
        calls = [
            lambda reward=reward: problem.check_reward(reward),
            lambda reward=reward: kind.check(reward),
            lambda reward=reward: explorer.tell(1, reward),
            lambda reward=reward: explorer.tell_many([0, 1], [right[1], reward]),
        ]
        for call in calls:
            with pytest.raises(InvalidReward, match="Nothing was recorded") as error:
                call()
            assert repr(float(reward)) in str(error.value) or repr(reward) in str(error.value)
        assert explorer.state() == before
    for reward in wrong:
        with pytest.raises(InvalidReward, match=f"have to be {kind.words}.*the range that"):
            explorer.tell(0, reward)


def test_other_noise_takes_any_finite_number():
    for kind in (SubGaussian(0.1), Normal()):
        for reward in (-1e100, 0.0, 1e99):
            kind.check(reward)
        for reward in (NAN, INF, -INF, 1e101):
            with pytest.raises(InvalidReward, match="finite"):
                kind.check(reward)
    with pytest.raises(InvalidReward, match="got 'high'"):
        Problem(SQUARE, noise=1).check_reward("high")


@pytest.mark.parametrize("name", ["lingape", "xy_static", "rage"])
def test_experiments_refuse_and_record_nothing(tmp_path, name):
    url, problem = f"sqlite:///{tmp_path}/run.db", Problem(SQUARE, noise=(0, 1))
    with Experiment.open(url, "ads", create=problem, explorer=name) as experiment:
        (ticket,) = experiment.ask()
        before = experiment.status().digest
        for call in (lambda: experiment.tell(ticket, 1.5), lambda: experiment.add(0, -0.5)):
            with pytest.raises(InvalidReward, match=r"from 0\.0 to 1\.0.*Nothing was recorded"):
                call()
        with pytest.raises(InvalidReward, match="have to be"):
            experiment.run(lambda ticket: 2.0, workers=1, max_pulls=1)
        assert [event.kind for event in experiment.events()] == ["created", "asked", "asked"]
        assert experiment.tell(ticket, 1.0).pulls == 1
        assert experiment.status().digest != before
        experiment.verify()


def test_saved_states_keep_it():
    explorer = LinGapE(Problem(SQUARE, noise="binary"))
    explorer.tell_many([0, 1, 1], [1, 0, 1])
    state = json.loads(json.dumps(explorer.state()))
    assert state["version"] == VERSION == 3 and state["problem"]["noise"] == "binary"
    again = LinGapE.from_state(state)
    assert again.problem == explorer.problem and again.state() == explorer.state()
    with pytest.raises(InvalidReward):
        again.tell(0, 0.5)
    with pytest.raises(InvalidState, match="version 3"):
        LinGapE.from_state(state | {"version": 2})
    del state["problem"]["noise"]
    with pytest.raises(InvalidState, match="Say what rewards are like"):
        LinGapE.from_state(state)


# Noise of unknown scale


def built(name, problem):
    kind = (EXPLORERS | BUDGET_EXPLORERS)[name]
    settings = {"budget": 100} if name in BUDGET_EXPLORERS else {}
    return kind(problem, **settings | ({"theta": [1.0, 0.0]} if name == "xy_oracle" else {}))


@pytest.mark.parametrize("name", [*EXPLORERS, *BUDGET_EXPLORERS])
def test_explorers_refuse_noise_of_unknown_scale_unless_they_learn_it(name):
    problem = Problem(SQUARE, noise="normal", norm_bound=2.0)
    kind = (EXPLORERS | BUDGET_EXPLORERS)[name]
    if kind.learns_scale:
        built(name, problem)
        return
    with pytest.raises(InvalidBound) as error:
        built(name, problem)
    assert f"{kind.__name__} needs the scale of the noise" in str(error.value)
    assert "give a scale (noise=R)" in str(error.value)
    assert built(name, problem.replace(noise="binary")).problem.noise_scale == 0.5


def test_what_needs_the_scale_says_so(tmp_path):
    problem = Problem(SQUARE, noise=Normal(), norm_bound=1.0)
    calls = [
        lambda: complexity(problem, [1.0, 0.5]),
        lambda: forecast(
            problem, ["lingape"], from_gap(problem, gap=0.5, draws=1), max_pulls=9, jobs=1
        ),
        *(lambda bound=bound: widths(bound(), problem) for bound in lingape.BOUNDS.values()),
    ]
    for call in calls:
        with pytest.raises(InvalidBound, match="leaves open: give a scale"):
            call()


def widths(bound, problem):
    estimate = bound.estimate(problem)
    for arm in (0, 1):
        estimate.update(arm, 0.0)
    return bound.widths(problem, estimate, 0)


class Guess(LinGapE):
    """Has the scale guessed, as if it had learnt it."""

    learns_scale = True

    def __init__(self, problem, **settings):
        super().__init__(problem.replace(noise=1.0), **settings)
        self.problem = problem


def test_experiments_work_with_noise_of_unknown_scale(tmp_path, monkeypatch):
    monkeypatch.setitem(EXPLORERS, "guess", Guess)
    url, problem = f"sqlite:///{tmp_path}/run.db", Problem(SQUARE, noise="normal", epsilon=0.5)
    rng = np.random.default_rng(0)
    with Experiment.open(url, "ads", create=problem, explorer="guess") as experiment:
        assert experiment.check().noise_scale is None and experiment.status().warnings == ()
        outcome = experiment.run(lambda ticket: ticket.arm + rng.normal(), workers=1)
        assert outcome.certificate.settled
        check = experiment.check()
        assert check.fine and check.noise == pytest.approx(1.0, abs=0.5) and check.noise_p is None
        assert f"a standard deviation of about {check.noise:.3g}" in str(check)
        assert experiment.verify().certificate.assumptions[0] == Normal().assumption()
        again = Guess.from_state(json.loads(json.dumps(explorer_of(experiment).state())))
        assert again.problem == problem and again.done


def explorer_of(experiment):
    with experiment.current() as replay:
        return replay.explorer


# Simulated worlds


def test_worlds_that_break_the_promise_are_refused():
    instance = canonical(3, 0.5)
    for noise, world in [
        (Bounded(-5, 5), instance.gaussian()),
        (Binary(), instance.gaussian(scale=0.1)),
        (Binary(), instance.signed()),
        (Bounded(0, 1), instance.signed()),
        (Bounded(-1, 0.5), instance.signed()),
        (Bounded(0, 0.5), instance.zero_one()),
    ]:
        explorer = LinGapE(instance.problem(noise=noise))
        for call in (run, play):
            with pytest.raises(InvalidEnvironment, match=f"have to be {noise.words}"):
                call(explorer, world, seed=0)
        assert explorer.counts.sum() == 0
    for noise, world in [
        (Bounded(-1, 1), instance.signed()),
        (Binary(), instance.zero_one()),
        (Bounded(-1, 2), instance.zero_one()),
        (SubGaussian(0.5), instance.zero_one()),
    ]:
        for lane in ("plain", "compiled"):
            assert run(LinGapE(instance.problem(noise=noise)), world, lane=lane).arm == 0


class Unknown:
    """A world that does not say what it pays."""

    means = np.array([1.0, 0.0])

    def pull(self, arm, rng):
        return 1.0 if arm else 1.5


def test_a_world_that_does_not_say_what_it_pays_is_found_out_by_tell():
    with pytest.raises(InvalidReward, match=r"got 1\.5"):
        run(LinGapE(Problem(SQUARE, noise=(0, 1))), Unknown())


def test_zero_one():
    world = ZeroOne([[1, 0], [0, 1], [1, 1]], [0.3, 0.7])
    rng = np.random.default_rng(0)
    drawn = np.array([[world.pull(arm, rng) for arm in range(3)] for _ in range(5_000)])
    assert set(drawn[:, :2].ravel()) == {0.0, 1.0} and drawn[:, 2].min() == 1.0
    assert drawn.mean(axis=0) == pytest.approx(world.means, abs=0.03)
    for theta in ([1.1, 0], [-0.1, 0]):
        with pytest.raises(InvalidEnvironment, match="arm 0 has"):
            ZeroOne(SQUARE, theta)
    with pytest.raises(InvalidEnvironment, match="have means from -1 to 1"):
        Signed(SQUARE, [0, -1.1])


@pytest.mark.parametrize("make", ["zero_one", "signed", "gaussian"])
def test_lanes_draw_the_same_rewards(make):
    instance = canonical(3, 0.4)
    world = getattr(instance, make)()
    runs = [
        run(LinGapE(instance.problem(epsilon=0.2)), world, seed=3, lane=lane)
        for lane in ("plain", "compiled")
    ]
    assert runs[0].counts.tolist() == runs[1].counts.tolist()


class TestStudies:
    def test_the_world_zero_one_is_binary(self):
        study = Study(["lingape"], [canonical(3, 0.9)], seeds=2, world="zero_one")
        assert study.posed(canonical(3, 0.9)).noise == Binary()
        assert study.header()["study"]["problem"] == {"noise": "binary"}
        assert all(row.correct for row in study.run(jobs=1).rows)

    def test_what_means_the_same_is_written_the_same(self):
        headers = [
            Study(["lingape"], [canonical(3)], world="signed", problem={"noise": noise}).header()
            for noise in (Bounded(-1, 1), (-1, 1), [-1.0, 1])
        ]
        assert headers[0]["study"] == headers[1]["study"] == headers[2]["study"]

    @pytest.mark.parametrize("noise", [(0, 1), "binary", Bounded(-9, 9)])
    def test_a_gaussian_world_is_not_bounded(self, noise):
        with pytest.raises(InvalidEnvironment, match="pays any number"):
            Study(["lingape"], [canonical(3)], problem={"noise": noise})

    def test_noise_that_cannot_be(self):
        with pytest.raises(InvalidProblem, match="above 0"):
            Study(["lingape"], [canonical(3)], problem={"noise": -1})
        with pytest.raises(InvalidEnvironment, match="arm 0 has 2"):
            Study(["lingape"], [soare(3, 0.3)], world="zero_one")

    def test_the_gaussian_world_has_the_scale_of_the_problem(self):
        instance = canonical(3)
        for noise, scale in ((2.5, 2.5), ("normal", 1.0)):
            world = Study(["lingape"], [instance], problem={"noise": noise}).environment(instance)
            assert isinstance(world, Gaussian) and world.scale == scale


# The command line


@pytest.fixture
def arms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arms.csv").write_text("name,x,y\nred,1,0\nblue,0,1\n")


def called(*arguments, code):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


SAYINGS = {
    0.5: ["--noise-scale", 0.5],
    (0.0, 9.0): ["--bounded", 0, 9],
    "binary": ["--binary"],
}


@pytest.mark.parametrize("said", SAYINGS)
def test_options_say_it(arms, said):
    called("live", "new", "sqlite:///run.db", "ads", "arms.csv", *SAYINGS[said], code=0)
    with Experiment.open("sqlite:///run.db", "ads") as experiment:
        assert experiment.problem.noise == checked_noise(said)


def test_one_option_says_it(arms):
    new = ["live", "new", "sqlite:///run.db", "ads", "arms.csv"]
    for some in ([], ["--normal", "--binary"], ["--bounded", 0, 1, "--noise-scale", 0.5]):
        told = called(*new, *some, code=2).stderr
        for flag in ("--noise-scale R", "--bounded LOW HIGH", "--binary", "--normal"):
            assert flag in told
    told = called(*new, "--normal", "--explorer", "lingape", code=1).stderr
    assert (
        "which --normal leaves open: give a scale (--noise-scale R) or a range (--bounded" in told
    )
    assert "--noise-scale (R) must be" in called(*new, "--noise-scale", -1, code=1).stderr


def test_find_records_no_reward_outside(arms):
    command = command_line(sys.executable, "-c", "print(1.5)", "{arm}")
    common = ["find", "arms.csv", "--reward-cmd", command, "--bounded", 0, 1]
    told = called(*common, "--log", "run.db", code=4).stderr
    assert "1.5, where rewards have to be from 0.0 to 1.0" in told
    with Experiment.open("sqlite:///run.db", "find") as experiment:
        assert [event.kind for event in experiment.events()] == ["created", "asked", "voided"]
        assert experiment.status().pulls == 0


def test_compare_with_rewards_of_0_and_1(arms):
    common = ["compare", "-i", "canonical(3, 0.9)", "-e", "lingape", "--seeds", 2, "--jobs", 1]
    found = json.loads(called(*common, "--world", "zero_one", "--json", code=0).stdout)
    assert all(row["correct"] for row in found["rows"])
    told = called(*common, "--world", "zero_one", "--noise-scale", 1, code=2).stderr
    assert "--noise-scale does not go with --world zero_one" in told
