"""The laws that every explorer and every bound obeys, for ours and for yours.

    from lingape.testing import EXPLORER_LAWS

    @pytest.mark.parametrize("law", EXPLORER_LAWS.values(), ids=EXPLORER_LAWS)
    def test_my_explorer(law):
        law(lambda problem, means: MyExplorer(problem))

A law takes a function that builds a new explorer (or bound) and raises AssertionError with a
sentence if the law is broken. The true means are there for yardsticks that are allowed to know
them; leave them alone.
"""

import copy
import json
import math
import pickle
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from .arrays import FloatArray
from .bounds import Bound
from .environments import canonical, soare, soare_tied, sphere
from .errors import ExplorationOver, InvalidArm, InvalidReward, LingapeError
from .explorers import Explorer, LinGapE
from .problem import Problem
from .pulls import greedy
from .run import Compilable, play, run

BuildExplorer: TypeAlias = Callable[[Problem, FloatArray], Explorer]
BuildBound: TypeAlias = Callable[[], Bound]

ROUNDS = 200  # enough for several rebuilds of every cache


class Tape:
    """Rewards written down in advance: the n-th pull of an arm pays the same in every run."""

    def __init__(self, means: FloatArray, *, scale: float = 1.0, seed: int = 0) -> None:
        self._streams: list[Iterator[float]] = [
            _normals(float(mean), scale, (seed, k)) for k, mean in enumerate(means)
        ]

    def pay(self, arm: int) -> float:
        """Return the next reward of `arm`."""
        return next(self._streams[arm])


def _normals(mean: float, scale: float, seed: tuple[int, int]) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield mean + scale * rng.standard_normal()


def pulls_of(explorer: Explorer, tape: Tape, rounds: int = ROUNDS) -> list[int]:
    """Let the explorer play against the tape and return the arms it pulled."""
    pulled: list[int] = []
    while not explorer.done and len(pulled) < rounds:
        pulled.append(explorer.ask())
        explorer.tell(pulled[-1], tape.pay(pulled[-1]))
    return pulled


def _require(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _generic() -> tuple[Problem, FloatArray]:
    """A problem without symmetries, too hard to settle within ROUNDS."""
    instance = sphere(9, 3, seed=5)
    return instance.problem(norm_bound=2.0), instance.gaussian().means


def asking_changes_nothing(build: BuildExplorer) -> None:
    """Asking twice gives the same arm and changes nothing."""
    problem, means = _generic()
    explorer, tape = build(problem, means), Tape(means)
    for _ in range(ROUNDS // 4):
        before = json.dumps(explorer.state())
        arms = [explorer.ask(), explorer.ask(), explorer.ask_many(1)[0]]
        several = explorer.ask_many(5, pending=[0, 1, 1])
        _require(len(set(arms)) == 1, f"asked three times, answered {arms}")
        _require(several == explorer.ask_many(5, pending=[0, 1, 1]), "ask_many wavered")
        explorer.recommend()
        explorer.certificate()
        _require(json.dumps(explorer.state()) == before, "asking changed the state")
        explorer.tell(arms[0], tape.pay(arms[0]))


def refused_rewards_leave_no_trace(build: BuildExplorer) -> None:
    """A refused reward (NaN, infinite, no number) or arm leaves no trace."""
    problem, means = _generic()
    explorer, tape = build(problem, means), Tape(means)
    pulls_of(explorer, tape, 40)
    before = json.dumps(explorer.state())
    for arm, reward in [
        (0, math.nan),
        (0, math.inf),
        (0, "much"),
        (0, None),
        (-1, 0.0),
        (len(problem), 0.0),
        (0.5, 0.0),
        ("0", 0.0),
    ]:
        try:
            explorer.tell(arm, reward)  # type: ignore[arg-type]
        except (InvalidReward, InvalidArm):
            pass
        else:
            raise AssertionError(f"tell({arm!r}, {reward!r}) was accepted")
        _require(json.dumps(explorer.state()) == before, f"tell({arm!r}, {reward!r}) left a trace")


def copies_agree_to_the_end(build: BuildExplorer) -> None:
    """The same rewards give the same pulls, also after a copy, a pickle, a saved state."""
    problem, means = _generic()
    whole = pulls_of(build(problem, means), Tape(means))
    for halfway in (0, 5, len(whole) // 2):
        explorer, tape = build(problem, means), Tape(means)
        pulls_of(explorer, tape, halfway)
        for way, again in {
            "a copy": copy.deepcopy(explorer),
            "a pickle": pickle.loads(pickle.dumps(explorer)),
            "a saved state": type(explorer).from_state(json.loads(json.dumps(explorer.state()))),
        }.items():
            rest = pulls_of(again, copy_of_tape(means, whole[:halfway]))
            _require(whole[:halfway] + rest[: len(whole) - halfway] == whole, f"{way} went astray")
            _require(explorer.counts.sum() == halfway, f"{way} shares state with its original")


def copy_of_tape(means: FloatArray, pulled: list[int]) -> Tape:
    """Return a tape wound to where the pulls so far have left it."""
    tape = Tape(means)
    for arm in pulled:
        tape.pay(arm)
    return tape


def rotation_changes_no_pull(build: BuildExplorer) -> None:
    """Rotating feature space changes no pull, ties included."""
    rng = np.random.default_rng(3)
    for instance in (sphere(9, 3, seed=5), soare(3, 0.1), canonical(4, 0.3)):
        problem = instance.problem(norm_bound=2.0)
        rotation = np.linalg.qr(rng.standard_normal((problem.arms.shape[1],) * 2))[0]
        rotated = _replaced(problem, arms=problem.arms @ rotation)
        means = instance.gaussian().means
        _require(
            pulls_of(build(problem, means), Tape(means))
            == pulls_of(build(rotated, means), Tape(means)),
            f"rotating {instance.name} changed a pull",
        )


def units_change_no_pull(build: BuildExplorer) -> None:
    """Rewards, R, S and ε in other units change no pull."""
    problem, means = _generic()
    problem = _replaced(problem, epsilon=0.01)
    expected = pulls_of(build(problem, means), Tape(means))
    for c in (1e-6, 3.0, 1e6):
        scaled = _replaced(
            problem,
            noise_scale=c * problem.noise_scale,
            norm_bound=c * (problem.norm_bound or 1.0),
            epsilon=c * problem.epsilon,
        )
        pulled = pulls_of(build(scaled, c * means), Tape(c * means, scale=c))
        _require(pulled == expected, f"rewards times {c:g} changed a pull")


def renaming_renames_the_answer(build: BuildExplorer) -> None:
    """Giving the arms in another order gives the same answer."""
    instance = sphere(6, 2, seed=1)
    problem, means = instance.problem(norm_bound=2.0, noise_scale=0.1), instance.gaussian().means
    order = np.random.default_rng(0).permutation(len(means))
    explorer = build(problem, means)
    shuffled = build(_replaced(problem, arms=problem.arms[order]), means[order])
    pulls_of(explorer, Tape(means, scale=0.1), 20_000)
    pulls_of(shuffled, Tape(means[order], scale=0.1), 20_000)
    _require(explorer.done and shuffled.done, "an easy instance took more than 20,000 pulls")
    _require(
        explorer.recommend() == order[shuffled.recommend()],
        f"arm {explorer.recommend()} became arm {order[shuffled.recommend()]}",
    )


def stops_and_is_right(build: BuildExplorer) -> None:
    """On an easy instance it stops, and errs at most δ of the time."""
    instance = canonical(3, 1.5)
    problem, world = instance.problem(norm_bound=2.0, delta=0.1), instance.gaussian()
    results = [
        run(build(problem, world.means), world, seed=seed, max_pulls=20_000) for seed in range(60)
    ]
    _require(all(r.certificate.settled for r in results), "a run did not stop in 20,000 pulls")
    wrong = sum(not r.correct for r in results)
    allowed = errors_allowed(len(results), problem.delta)
    _require(wrong <= allowed, f"{wrong} of {len(results)} runs were wrong; {allowed} allowed")


def errors_allowed(runs: int, delta: float, doubt: float = 1e-3) -> int:
    """Return the most errors in `runs` that chance explains if the error rate is δ.

    More occur with probability below `doubt`.

    >>> errors_allowed(100, 0.05)
    13
    """
    term, total, errors = (1 - delta) ** runs, 0.0, 0
    while True:
        total += term
        if 1 - total < doubt:
            return errors
        term *= (runs - errors) / (errors + 1) * delta / (1 - delta)
        errors += 1


def done_is_for_good(build: BuildExplorer) -> None:
    """After `done`, `ask` refuses and names the answer, and later tells change no verdict."""
    instance = canonical(3, 1.5)
    means = instance.gaussian().means
    explorer = build(instance.problem(norm_bound=2.0, names=["red", "green", "blue"]), means)
    pulls_of(explorer, Tape(means), 20_000)
    _require(explorer.done, "an easy instance took more than 20,000 pulls")
    verdict, answer = explorer.certificate(), explorer.recommend()
    for _ in range(50):  # evidence to the contrary
        for arm in range(3):
            explorer.tell(arm, -5.0 if arm == answer else 5.0)
    _require(explorer.done, "done reverted")
    _require(explorer.recommend() == answer, "the answer changed after it was given")
    _require(explorer.certificate() == verdict, "the certificate changed after it was given")
    revived = type(explorer).from_state(json.loads(json.dumps(explorer.state())))
    _require(revived.certificate() == verdict, "the certificate did not survive a saved state")
    for ask in (explorer.ask, lambda: explorer.ask_many(2), revived.ask):
        try:
            ask()
        except ExplorationOver as reason:
            _require(
                verdict.name in str(reason), f"the refusal does not name the answer: {reason}"
            )
        else:
            raise AssertionError("ask went on after done")


def certificate_says_what_is_proven(build: BuildExplorer) -> None:
    """The certificate is there at any time, agrees with `done`, and is settled just then."""
    problem, means = _generic()
    problem = _replaced(problem, epsilon=0.5)
    explorer, tape = build(problem, means), Tape(means)
    _require(not explorer.certificate().settled, "settled before the first pull")
    while not explorer.done:
        explorer.tell(arm := explorer.ask(), tape.pay(arm))
        certificate = explorer.certificate()
        _require(certificate.arm == explorer.recommend(), "certificate and answer differ")
        _require(certificate.settled == explorer.done, "certificate and done differ")
        _require(
            certificate.settled == (certificate.gap_bound <= problem.epsilon),
            f"gap bound {certificate.gap_bound} and settled={certificate.settled} disagree",
        )
        json.dumps(certificate.to_dict(), allow_nan=False)


def unasked_arms_are_welcome(build: BuildExplorer) -> None:
    """Arms told without being asked count like others.

    An explorer whose pulls are fixed in advance refuses those that are not due, without a trace.
    """
    problem, means = _generic()
    explorer, tape = build(problem, means), Tape(means)
    told = np.zeros(len(problem), dtype=np.int64)
    for arm in [3, 3, 1, 0, 8, 2, 7, 7, 5, 4, 6, 1]:
        try:
            explorer.tell(arm, tape.pay(arm))
            told[arm] += 1
        except InvalidArm as reason:
            _require("fixed in advance" in str(reason), f"arm {arm} was refused: {reason}")
        _require(explorer.counts.tolist() == told.tolist(), "counts went wrong")
    pulls_of(explorer, tape, 50)


def compiled_lane_plays_the_same(build: BuildExplorer) -> None:
    """The compiled lane, if there is one, plays the pulls of ask and tell, to the same end."""
    instances = [soare(4, 0.2), sphere(9, 3, seed=5), sphere(60, 3, seed=2), canonical(3, 0.5)]
    for instance in instances:
        problem = instance.problem(norm_bound=2.0, epsilon=0.1)
        for world in (instance.gaussian(), instance.signed() if _bounded(instance) else None):
            explorer = build(problem, instance.gaussian().means)
            if world is None or not isinstance(explorer, Compilable):
                continue
            if explorer.compiled() is None:  # not with these parts
                continue
            plain, fast = (
                run(build(problem, world.means), world, seed=7, max_pulls=1_500, lane=lane)
                for lane in ("plain", "compiled")
            )
            _require(
                plain.counts.tolist() == fast.counts.tolist() and plain.ending is fast.ending,
                f"on {instance.name} the plain lane pulled {plain.counts.tolist()} and was "
                f"{plain.ending.value}, the compiled one {fast.counts.tolist()}, "
                f"{fast.ending.value}",
            )


def _bounded(instance: object) -> bool:
    return bool(np.abs(instance.arms @ instance.theta).max() <= 1)  # type: ignore[attr-defined]


def odd_problems_are_answered(build: BuildExplorer) -> None:
    """Features that do not span, duplicates, d = 1, tiny and huge scales: a right answer.

    With tiny features, which a ridge of 1 swamps, no answer will do as well.
    """
    plain = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    means = plain @ [1.0, 0.2]
    embed = np.array([[1.0, 2.0, 0.0], [-2.0, 1.0, 0.0]]) / math.sqrt(5)
    pulled = pulls_of(build(Problem(plain, norm_bound=2.0), means), Tape(means))
    flat = pulls_of(build(Problem(plain @ embed, norm_bound=2.0), means), Tape(means))
    _require(pulled == flat, "features that do not span changed a pull")

    odd: dict[str, tuple[FloatArray, FloatArray, float]] = {
        "duplicates of the best arm": (plain[[0, 1, 0, 2]], means[[0, 1, 0, 2]], 2.0),
        "only duplicates": (plain[[0, 0]], means[[0, 0]], 2.0),
        "d = 1": (np.array([[1.0], [-0.5], [0.2]]), np.array([1.0, -0.5, 0.2]), 2.0),
        "a zero arm": (np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), 2.0),
        "tiny features": (1e-6 * plain, means, 2e6),
        "huge features": (1e6 * plain, means, 2e-6),
    }
    for name, (arms, true, norm_bound) in odd.items():
        problem = Problem(arms, norm_bound=norm_bound, noise_scale=0.05)
        explorer = build(problem, true)
        pulls_of(explorer, Tape(true, scale=0.05), 5_000)
        _require(explorer.done or name == "tiny features", f"{name}: open after 5,000 pulls")
        right = true[explorer.recommend()] == true.max()
        _require(right or not explorer.done, f"{name}: answered arm {explorer.recommend()}")


def play_yields_what_run_reports(build: BuildExplorer) -> None:
    """`play` yields each pull once, and ends at the limit with something proven."""
    instance = soare(2, 0.02)
    problem, world = instance.problem(norm_bound=2.0, delta=0.01), instance.gaussian()
    explorer = build(problem, world.means)
    steps = list(play(explorer, world, seed=1, max_pulls=150))
    _require([step.number for step in steps] == list(range(1, 151)), "steps are not numbered")
    again = run(build(problem, world.means), world, seed=1, max_pulls=150, lane="plain")
    _require(again.counts.tolist() == explorer.counts.tolist(), "run and play differ")
    _require("epsilon" in str(again), f"the limit's message names no way out: {again}")


EXPLORER_LAWS: dict[str, Callable[[BuildExplorer], None]] = {
    law.__name__: law
    for law in (
        asking_changes_nothing,
        refused_rewards_leave_no_trace,
        copies_agree_to_the_end,
        rotation_changes_no_pull,
        units_change_no_pull,
        renaming_renames_the_answer,
        stops_and_is_right,
        done_is_for_good,
        certificate_says_what_is_proven,
        unasked_arms_are_welcome,
        compiled_lane_plays_the_same,
        odd_problems_are_answered,
        play_yields_what_run_reports,
    )
}


def wider_for_smaller_delta(build: BuildBound) -> None:
    """More confidence costs width."""
    widths = [_widths(build(), delta=delta) for delta in (0.2, 0.05, 1e-3, 1e-9)]
    for wide, wider in zip(widths, widths[1:], strict=False):
        _require((wide[1:] < wider[1:]).all(), "a smaller δ did not widen every interval")


def scales_with_the_noise(build: BuildBound) -> None:
    """R and S in other units change the widths by the same factor."""
    narrow, wide = _widths(build()), _widths(build(), noise_scale=3.0, norm_bound=6.0)
    _require(np.allclose(3.0 * narrow, wide, rtol=1e-9), "widths do not scale with R and S")


def shrinks_with_pulls(build: BuildBound) -> None:
    """A hundred times the pulls make every interval shorter; the leader's own has no width."""
    few, many = _widths(build()), _widths(build(), repeats=300)
    _require((many[1:] < few[1:]).all(), "a hundred times the pulls did not narrow an interval")
    _require(abs(few[0]) < 1e-6 * few[1], f"the gap of an arm to itself has width {few[0]}")


def covers_as_promised(build: BuildBound) -> None:
    """All intervals hold at all times, in all but a share δ of runs.

    Under adaptive sampling if the bound claims to be adaptive, else under a fixed design.
    """
    bound, rounds, runs = build(), 150, 60
    instance = soare_tied(2, 0.5)
    problem = instance.problem(norm_bound=2.0, delta=0.1)
    means = instance.gaussian().means
    missed = 0
    for seed in range(runs):
        estimate, rng = bound.estimate(problem), np.random.default_rng(seed)
        leader, rival, missed_now = 0, 1, False
        for t in range(rounds):
            if t < len(problem) or not bound.adaptive:
                arm = t % len(problem)
            else:
                arm = greedy(estimate, leader, rival)
            estimate.update(arm, float(means[arm] + rng.standard_normal()))
            if t < len(problem) - 1:
                continue
            leader = int(estimate.means.argmax())
            widths = bound.widths(problem, estimate, leader)
            errors = (estimate.means - estimate.means[leader]) - (means - means[leader])
            missed_now |= bool((np.abs(errors) > widths + 1e-12).any())
            upper = estimate.means + widths
            upper[leader] = -np.inf
            rival = int(upper.argmax())
        missed += missed_now
    allowed = errors_allowed(runs, problem.delta)
    _require(missed <= allowed, f"{missed} of {runs} runs missed; {allowed} allowed")


def explains_itself(build: BuildBound) -> None:
    """It states what it assumes, and an adaptive explorer refuses it if it has to."""
    bound = build()
    problem = sphere(4, 2).problem()
    _require(all(text.endswith(".") for text in bound.assumptions(problem)), "not sentences")
    try:
        LinGapE(problem, bound=bound)
    except LingapeError as reason:
        _require(not bound.adaptive, f"LinGapE refused an adaptive bound: {reason}")
    else:
        _require(bound.adaptive, "LinGapE took a bound that does not hold for it")


def _widths(
    bound: Bound,
    *,
    delta: float = 0.05,
    noise_scale: float = 1.0,
    norm_bound: float = 2.0,
    repeats: int = 3,
) -> FloatArray:
    """Return the widths after each of a few arms was pulled `repeats` times; the leader first."""
    instance = sphere(6, 3, seed=2)
    problem = instance.problem(noise_scale=noise_scale, norm_bound=norm_bound, delta=delta)
    estimate = bound.estimate(problem)
    for _ in range(repeats):
        for arm in range(len(problem)):
            estimate.update(arm, 0.0)
    return bound.widths(problem, estimate, 0)


BOUND_LAWS: dict[str, Callable[[BuildBound], None]] = {
    law.__name__: law
    for law in (
        wider_for_smaller_delta,
        scales_with_the_noise,
        shrinks_with_pulls,
        covers_as_promised,
        explains_itself,
    )
}


def _replaced(problem: Problem, **changes: object) -> Problem:
    return Problem(**problem.to_dict() | changes)
