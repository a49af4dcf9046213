"""What every explorer obeys."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..certificate import Certificate
from ..environments import canonical, soare, sphere
from ..errors import ExplorationOver, InvalidArm, InvalidReward
from ..explorers import Explorer
from ..lanes import compiled_lane
from ..least_squares import LeastSquares
from ..problem import Problem
from ..runs import play, run
from .judging import errors_allowed, refusal, require

#: Makes a new explorer for a problem; the true means are for yardsticks that may know them.
BuildExplorer: TypeAlias = Callable[[Problem, FloatArray], Explorer]

ROUNDS = 200  # enough for several rebuilds of every cache


class Tape:
    """Rewards written down in advance: the n-th pull of an arm pays the same in every run.

    means: of the arms.
    scale: the standard deviation of the Gaussian noise.
    seed: of the noise.

    >>> import numpy as np
    >>> from lingape.testing import Tape
    >>> one, other = (Tape(np.array([0.5, 0.2]), seed=3) for _ in range(2))
    >>> [one.pay(0), one.pay(1)] == [other.pay(arm) for arm in (0, 1)]
    True
    """

    def __init__(self, means: FloatArray, *, scale: float = 1.0, seed: int = 0) -> None:
        self._means, self._scale = means, scale
        self._streams = [np.random.default_rng((seed, k)) for k in range(len(means))]

    def pay(self, arm: int) -> float:
        """Return the next reward of `arm`."""
        return float(self._means[arm] + self._scale * self._streams[arm].standard_normal())


def pulls_of(explorer: Explorer, tape: Tape, rounds: int = ROUNDS) -> list[int]:
    """Return the arms that `explorer` pulls, told what `tape` pays, in at most `rounds` pulls.

    >>> import numpy as np
    >>> from lingape import LinGapE, Problem
    >>> from lingape.testing import Tape, pulls_of
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=0.1))
    >>> pulls = pulls_of(explorer, Tape(np.array([0.0, 1.0]), scale=0.1))
    >>> explorer.done, explorer.recommend(), len(pulls) == int(explorer.counts.sum())
    (True, 1, True)
    """
    pulled: list[int] = []
    while not explorer.done and len(pulled) < rounds:
        pulled.append(explorer.ask())
        explorer.tell(pulled[-1], tape.pay(pulled[-1]))
    return pulled


def generic() -> tuple[Problem, FloatArray]:
    """Return a problem without symmetries, too hard to settle within ROUNDS."""
    instance = sphere(9, 3, seed=5)
    return instance.problem(norm_bound=2.0), instance.gaussian().means


def asking_changes_nothing(build: BuildExplorer) -> None:
    """Asking twice gives the same arm and changes nothing."""
    problem, means = generic()
    explorer, tape = build(problem, means), Tape(means)
    for _ in range(ROUNDS // 4):
        before = json.dumps(explorer.state())
        arms = [explorer.ask(), explorer.ask(), explorer.ask_many(1)[0]]
        several = explorer.ask_many(5, pending=[0, 1, 1])
        require(len(set(arms)) == 1, f"asked three times, answered {arms}")
        require(several == explorer.ask_many(5, pending=[0, 1, 1]), "ask_many wavered")
        explorer.recommend()
        explorer.certificate()
        require(json.dumps(explorer.state()) == before, "asking changed the state")
        explorer.tell(arms[0], tape.pay(arms[0]))


def refused_rewards_leave_no_trace(build: BuildExplorer) -> None:
    """A refused reward (NaN, infinite, no number) or arm leaves no trace."""
    problem, means = generic()
    explorer, tape = build(problem, means), Tape(means)
    pulls_of(explorer, tape, 40)
    before = json.dumps(explorer.state())
    rewards = [(0, reward) for reward in (math.nan, math.inf, "much", None)]
    for arm, reward in rewards + [(arm, 0.0) for arm in (-1, len(problem), 0.5, "0")]:
        told = f"tell({arm!r}, {reward!r})"
        refusal((InvalidReward, InvalidArm), told, explorer.tell, arm, reward)
        require(json.dumps(explorer.state()) == before, f"{told} left a trace")


def copies_agree_to_the_end(build: BuildExplorer) -> None:
    """The same rewards give the same pulls, also after a copy, a pickle, a saved state."""
    problem, means = generic()
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
            require(whole[:halfway] + rest[: len(whole) - halfway] == whole, f"{way} went astray")
            require(explorer.counts.sum() == halfway, f"{way} shares state with its original")


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
        rotated = problem.replace(arms=problem.arms @ rotation)
        means = instance.gaussian().means
        require(
            pulls_of(build(problem, means), Tape(means))
            == pulls_of(build(rotated, means), Tape(means)),
            f"rotating {instance.name} changed a pull",
        )


def units_change_no_pull(build: BuildExplorer) -> None:
    """Rewards, R, S and ε in other units change no pull."""
    problem, means = generic()
    problem = problem.replace(epsilon=0.01)
    expected = pulls_of(build(problem, means), Tape(means))
    for c in (1e-6, 3.0, 1e6):
        scaled = problem.replace(
            noise=c * problem.noise_scale,
            norm_bound=c * (problem.norm_bound or 1.0),
            epsilon=c * problem.epsilon,
        )
        pulled = pulls_of(build(scaled, c * means), Tape(c * means, scale=c))
        require(pulled == expected, f"rewards times {c:g} changed a pull")


def renaming_renames_the_answer(build: BuildExplorer) -> None:
    """Giving the arms in another order gives the same answer."""
    instance = sphere(6, 2, seed=1)
    problem, means = instance.problem(norm_bound=2.0, noise=0.1), instance.gaussian().means
    order = np.random.default_rng(0).permutation(len(means))
    explorer = build(problem, means)
    shuffled = build(problem.replace(arms=problem.arms[order]), means[order])
    pulls_of(explorer, Tape(means, scale=0.1), 20_000)
    pulls_of(shuffled, Tape(means[order], scale=0.1), 20_000)
    require(explorer.done and shuffled.done, "an easy instance took more than 20,000 pulls")
    require(
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
    require(all(r.certificate.settled for r in results), "a run did not stop in 20,000 pulls")
    wrong = sum(not r.correct for r in results)
    allowed = errors_allowed(len(results), problem.delta)
    require(wrong <= allowed, f"{wrong} of {len(results)} runs were wrong; {allowed} allowed")


def done_is_for_good(build: BuildExplorer) -> None:
    """After `done`, `ask` refuses and names the answer, and later tells change no verdict."""
    instance = canonical(3, 1.5)
    means = instance.gaussian().means
    explorer = build(instance.problem(norm_bound=2.0, names=["red", "green", "blue"]), means)
    pulls_of(explorer, Tape(means), 20_000)
    require(explorer.done, "an easy instance took more than 20,000 pulls")
    verdict, answer = explorer.certificate(), explorer.recommend()
    for _ in range(50):  # evidence to the contrary
        for arm in range(3):
            explorer.tell(arm, -5.0 if arm == answer else 5.0)
    require(explorer.done, "done reverted")
    require(explorer.recommend() == answer, "the answer changed after it was given")
    require(explorer.certificate() == verdict, "the certificate changed after it was given")
    revived = type(explorer).from_state(json.loads(json.dumps(explorer.state())))
    require(revived.certificate() == verdict, "the certificate did not survive a saved state")
    for ask in (explorer.ask, lambda: explorer.ask_many(2), revived.ask):
        reason = refusal(ExplorationOver, "an ask after done", ask)
        require(verdict.name in reason, f"the refusal does not name the answer: {reason}")


def certificate_says_what_is_proven(build: BuildExplorer) -> None:
    """The certificate is there at any time, agrees with `done`, and is settled just then."""
    problem, means = generic()
    problem = problem.replace(epsilon=0.5)
    explorer, tape = build(problem, means), Tape(means)
    require(not explorer.certificate().settled, "settled before the first pull")
    while not explorer.done:
        explorer.tell(arm := explorer.ask(), tape.pay(arm))
        settled = checked_certificate(explorer).settled
        require(settled == explorer.done, "certificate and done differ")


def checked_certificate(explorer: Explorer) -> Certificate:
    """Return what an explorer has proven, which agrees with itself and with the answer."""
    certificate = explorer.certificate()
    require(certificate.arm == explorer.recommend(), "certificate and answer differ")
    require(
        certificate.settled == (certificate.gap_bound <= explorer.problem.epsilon),
        f"gap bound {certificate.gap_bound} and settled={certificate.settled} disagree",
    )
    json.dumps(certificate.to_dict(), allow_nan=False)
    return certificate


def caches_agree_with_a_rebuild(build: BuildExplorer) -> None:
    """What an explorer's estimate keeps up to date is what counts and sums give from scratch."""
    problem, means = generic()
    explorer, tape = build(problem, means), Tape(means)
    if not isinstance(getattr(explorer, "estimate", None), LeastSquares):
        return
    for _ in range(10):
        pulls_of(explorer, tape, 137)
        kept = explorer.estimate  # type: ignore[attr-defined]
        if not kept.ready:
            continue
        fresh = kept.copy()
        fresh.rebuild()
        for name in ("means", "variances", "inverse", "log_det"):
            require(
                np.allclose(getattr(kept, name), getattr(fresh, name), rtol=1e-9, atol=1e-12),
                f"{name} drifted away from the counts",
            )


def unasked_arms_are_welcome(build: BuildExplorer) -> None:
    """Arms told without being asked count like others.

    An explorer whose pulls are fixed in advance refuses those that are not due, without a trace.
    """
    problem, means = generic()
    explorer, tape = build(problem, means), Tape(means)
    told = np.zeros(len(problem), dtype=np.int64)
    for arm in [3, 3, 1, 0, 8, 2, 7, 7, 5, 4, 6, 1]:
        try:
            explorer.tell(arm, tape.pay(arm))
            told[arm] += 1
        except InvalidArm as reason:
            require("fixed in advance" in str(reason), f"arm {arm} was refused: {reason}")
        require(explorer.counts.tolist() == told.tolist(), "counts went wrong")
    pulls_of(explorer, tape, 50)


def compiled_lane_plays_the_same(build: BuildExplorer) -> None:
    """The compiled lane, if there is one, plays the pulls of ask and tell, to the same end."""
    for instance in soare(4, 0.2), sphere(9, 3, seed=5), sphere(60, 3, seed=2), canonical(3, 0.5):
        problem, gaussian = instance.problem(norm_bound=2.0, epsilon=0.1), instance.gaussian()
        bounded = np.abs(gaussian.means).max() <= 1
        for world in (gaussian, instance.signed()) if bounded else (gaussian,):
            if compiled_lane(build(problem, world.means)) is None:  # not with these parts
                continue
            plain, fast = (
                run(build(problem, world.means), world, seed=7, max_pulls=1_500, lane=lane)
                for lane in ("plain", "compiled")
            )
            require(
                plain.counts.tolist() == fast.counts.tolist() and plain.ending is fast.ending,
                f"on {instance.name} the plain lane pulled {plain.counts.tolist()} and was "
                f"{plain.ending.value}, the compiled one {fast.counts.tolist()}, "
                f"{fast.ending.value}",
            )


def odd_problems_are_answered(build: BuildExplorer) -> None:
    """Features that do not span, duplicates, d = 1, tiny and huge scales: a right answer.

    With tiny features, which a ridge of 1 swamps, no answer is accepted too. Duplicates are a tie
    to explorers that ignore features, so these may accept any arm close to the best.
    """
    plain = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    means = plain @ [1.0, 0.2]
    embed = np.array([[1.0, 2.0, 0.0], [-2.0, 1.0, 0.0]]) / math.sqrt(5)
    pulled = pulls_of(build(Problem(plain, noise=1.0, norm_bound=2.0), means), Tape(means))
    flat = pulls_of(build(Problem(plain @ embed, noise=1.0, norm_bound=2.0), means), Tape(means))
    require(pulled == flat, "features that do not span changed a pull")

    odd: dict[str, tuple[FloatArray, FloatArray, float]] = {
        "duplicates of the best arm": (plain[[0, 1, 0, 2]], means[[0, 1, 0, 2]], 2.0),
        "only duplicates": (plain[[0, 0]], means[[0, 0]], 2.0),
        "d = 1": (np.array([[1.0], [-0.5], [0.2]]), np.array([1.0, -0.5, 0.2]), 2.0),
        "a zero arm": (np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), 2.0),
        "tiny features": (1e-6 * plain, means, 2e6),
        "huge features": (1e6 * plain, means, 2e-6),
    }
    for name, (arms, true, norm_bound) in odd.items():
        problem = Problem(arms, norm_bound=norm_bound, noise=0.05)
        explorer = build(problem, true)
        if "duplicates" in name and _tells_duplicates_apart(explorer):
            explorer = build(problem.replace(epsilon=0.2), true)
        pulls_of(explorer, Tape(true, scale=0.05), 5_000)
        require(explorer.done or name == "tiny features", f"{name}: open after 5,000 pulls")
        right = true[explorer.recommend()] == true.max()
        require(right or not explorer.done, f"{name}: answered arm {explorer.recommend()}")


def _tells_duplicates_apart(explorer: Explorer) -> bool:
    twins = getattr(getattr(explorer, "estimate", None), "twins", None)
    return twins is not None and len(np.unique(twins)) == len(explorer.problem)


def play_yields_what_run_reports(build: BuildExplorer) -> None:
    """`play` yields each pull once, and ends at the limit with something proven."""
    instance = soare(2, 0.02)
    problem, world = instance.problem(norm_bound=2.0, delta=0.01), instance.gaussian()
    explorer = build(problem, world.means)
    steps = list(play(explorer, world, seed=1, max_pulls=150))
    require([step.number for step in steps] == list(range(1, 151)), "steps are not numbered")
    again = run(build(problem, world.means), world, seed=1, max_pulls=150, lane="plain")
    require(again.counts.tolist() == explorer.counts.tolist(), "run and play differ")
    require("epsilon" in str(again), f"the limit's message names no way out: {again}")


#: What every explorer obeys, by name; a law takes what makes an explorer.
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
        caches_agree_with_a_rebuild,
        unasked_arms_are_welcome,
        compiled_lane_plays_the_same,
        odd_problems_are_answered,
        play_yields_what_run_reports,
    )
}
