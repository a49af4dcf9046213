"""Run an explorer in a simulated world."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .arrays import FloatArray, IntArray
from .certificate import Certificate
from .checks import checked_whole
from .environments import Environment
from .errors import InvalidArgument, InvalidEnvironment, InvalidReward, MissingExtra
from .explorers import Explorer
from .html import as_html
from .kernels.parts import has_kernel
from .lanes import CompiledLane, compiled_lane
from .noise import Bounded
from .problem import Problem

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator
Lane: TypeAlias = Literal["auto", "plain", "compiled"]
OnProgress: TypeAlias = Callable[[Explorer, int], None]

MAX_PULLS = 10_000_000
# A compiled call cannot be interrupted, so it is asked for about this many seconds at a time.
PATIENCE = 0.2


class Ending(Enum):
    """How a run ended.

    >>> from lingape import LinGapE, canonical, run
    >>> instance = canonical(3, gap=1.0)
    >>> explorer = LinGapE(instance.problem())
    >>> run(explorer, instance.gaussian(), max_pulls=10, lane="plain").ending
    <Ending.LIMIT: 'stopped at the pull limit'>
    """

    SETTLED = "settled"  #: The answer is proven.
    SPENT = "the budget is spent"  #: But the answer is not proven to within ε.
    LIMIT = "stopped at the pull limit"  #: The question is still open.


class Step(NamedTuple):
    """One pull of a run.

    number: of the pull, from 1.
    arm: what was pulled.
    reward: what it paid.

    >>> from lingape import Step
    >>> Step(number=1, arm=2, reward=0.5).arm
    2
    """

    number: int
    arm: int
    reward: float


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run.

    arm: the answer, or the best guess at the limit.
    pulls: how many there were.
    counts: how many of each arm.
    ending: why it ended.
    certificate: what is proven.
    true_gap: how much better another arm really is than the worst of those chosen.
    correct: whether true_gap ≤ ε.
    seconds: how long it took, without compiling, which only the first run of a kind does.
    lane: "plain" or "compiled".

    >>> from lingape import LinGapE, canonical, run
    >>> instance = canonical(3, gap=1.0)
    >>> result = run(LinGapE(instance.problem()), instance.gaussian(), lane="plain")
    >>> result.arm, result.correct, result.ending.value, result.lane
    (0, True, 'settled', 'plain')
    """

    arm: int
    pulls: int
    counts: IntArray
    ending: Ending
    certificate: Certificate
    true_gap: float
    correct: bool
    seconds: float
    lane: str

    def __str__(self) -> str:
        if self.ending is not Ending.LIMIT:
            return str(self.certificate)
        return (
            f"Stopped at the limit of {self.pulls} pulls. {self.certificate}\n"
            "More pulls may settle it, but arms that tie are never told apart: "
            "epsilon > 0 accepts any arm that close to the best."
        )

    def _repr_html_(self) -> str:
        ended = [self.certificate.name, f"{self.pulls:,}", self.ending.value, self.correct]
        return as_html("Run", str(self), [["answer", "pulls", "ending", "correct"], ended])


def play(
    explorer: Explorer,
    environment: Environment,
    *,
    seed: Seed = 0,
    max_pulls: int = MAX_PULLS,
) -> Iterator[Step]:
    """Let the explorer pull until it is done or `max_pulls` are spent, one Step at a time.

    explorer: who chooses; it goes on from where it is.
    environment: the world that pays.
    seed: of the noise.
    max_pulls: where it stops.

    >>> from lingape import Uniform, canonical, play
    >>> instance = canonical(3, gap=1.0)
    >>> steps = play(Uniform(instance.problem()), instance.gaussian(scale=0.0), max_pulls=4)
    >>> [(step.number, step.arm, step.reward) for step in steps]
    [(1, 0, 1.0), (2, 1, 0.0), (3, 2, 0.0), (4, 0, 1.0)]
    """
    check_run(explorer, environment, max_pulls)
    return _steps(explorer, environment, _generator(seed), max_pulls)


def _steps(
    explorer: Explorer, environment: Environment, rng: np.random.Generator, max_pulls: int
) -> Iterator[Step]:
    for number in range(1, max_pulls + 1):
        if explorer.done:
            return
        arm = explorer.ask()
        reward = environment.pull(arm, rng)
        explorer.tell(arm, reward)
        yield Step(number, arm, reward)


def run(
    explorer: Explorer,
    environment: Environment,
    *,
    seed: Seed = 0,
    max_pulls: int = MAX_PULLS,
    lane: Lane = "auto",
    progress: OnProgress | None = None,
    moments: Iterable[int] | None = None,
) -> Result:
    """Let the explorer pull until it is done or `max_pulls` are spent.

    explorer: who chooses; it goes on from where it is.
    environment: the world that pays, such as Gaussian(arms, theta) or instance.gaussian().
    seed: of the noise; the same seed gives the same run, in either lane.
    max_pulls: where the run is stopped; it counts the pulls of this call.
    lane: "compiled" simulates in compiled code, hundreds of times faster; "auto" does so where
        explorer and environment have such a lane and numba is installed; "plain" asks and tells.
    progress: called with the explorer and the pulls so far, a few times a second and at the end.
    moments: numbers of pulls, rising, at which to call it instead. It changes no pull.

    A run may be continued by another call. Caches are then rebuilt once more, which changes the
    bound slightly, so that a run in compiled pieces may differ from the run in one.

    >>> from lingape import LinGapE, canonical, run
    >>> instance = canonical(3, gap=1.0)
    >>> run(LinGapE(instance.problem()), instance.gaussian(), seed=1, lane="plain").arm
    0
    """
    check_run(explorer, environment, max_pulls)
    rng = _generator(seed)
    before = int(explorer.counts.sum())
    driver = _driver(explorer, environment, lane)
    watch = _Watch(progress, moments)
    start, compiling = time.perf_counter(), [0.0]
    if driver is not None:
        from .kernels.compiling import timed

        with timed(compiling.append):
            _drive(explorer, *driver, rng, before + max_pulls, watch)
    else:
        for step in play(explorer, environment, seed=rng, max_pulls=max_pulls):
            if watch.due(before + step.number) and not explorer.done:
                watch.call(explorer, before + step.number)
    counts = explorer.counts
    if progress is not None:
        progress(explorer, int(counts.sum()))
    arm = explorer.recommend()
    certificate = explorer.certificate()
    true_gap = true_gap_of(explorer.problem, environment.means, certificate.arms)
    return Result(
        arm=arm,
        pulls=int(counts.sum()),
        counts=counts,
        ending=_ending(explorer, certificate),
        certificate=certificate,
        true_gap=true_gap,
        correct=true_gap <= explorer.problem.epsilon,
        seconds=max(0.0, time.perf_counter() - start - sum(compiling)),
        lane="plain" if driver is None else "compiled",
    )


def _ending(explorer: Explorer, certificate: Certificate) -> Ending:
    if not explorer.done:
        return Ending.LIMIT
    return Ending.SETTLED if certificate.settled else Ending.SPENT


def true_gap_of(problem: Problem, means: FloatArray, arms: Sequence[int]) -> float:
    """Return how much better an answer is that was not chosen than the worst that was."""
    others = problem.can_answer.copy()
    others[list(arms)] = False
    gains = problem.gain(1.0) * means
    return float(max(0.0, gains[others].max() - min(gains[arm] for arm in arms)))


class _Watch:
    """When to call progress: at given moments, or a few times a second."""

    def __init__(self, progress: OnProgress | None, moments: Iterable[int] | None) -> None:
        self._progress = progress
        self._moments = None if moments is None or progress is None else deque(moments)
        self._last = time.perf_counter()

    def next_moment(self, pulls: int, otherwise: int) -> int:
        while self._moments and self._moments[0] <= pulls:
            self._moments.popleft()
        return self._moments[0] if self._moments else otherwise

    def due(self, pulls: int) -> bool:
        if self._progress is None:
            return False
        if self._moments is not None:
            return self.next_moment(pulls - 1, pulls - 1) == pulls
        return time.perf_counter() - self._last > PATIENCE

    def call(self, explorer: Explorer, pulls: int) -> None:
        assert self._progress is not None
        self._progress(explorer, pulls)
        self._last = time.perf_counter()
        self.next_moment(pulls, pulls)


def check_run(explorer: Explorer, environment: Environment, max_pulls: int) -> None:
    """Raise unless the explorer can run in this world, for this many pulls."""
    if not hasattr(explorer, "problem") or not hasattr(explorer, "ask"):
        raise InvalidArgument(f"An explorer such as LinGapE(problem) is needed; got {explorer!r}.")
    if not hasattr(environment, "means") or not hasattr(environment, "pull"):
        raise InvalidEnvironment(
            f"{type(environment).__name__} is not an Environment. Of an instance, use "
            "instance.gaussian(), instance.signed() or instance.zero_one()."
        )
    if len(environment.means) != len(explorer.problem):
        raise InvalidEnvironment(
            f"The world has {len(environment.means)} arms and the problem "
            f"{len(explorer.problem)}; they must be the same arms."
        )
    arms = getattr(environment, "arms", None)
    if arms is not None and not np.array_equal(arms, explorer.problem.arms):
        raise InvalidEnvironment(
            "The world and the problem have different features; they must be the same arms."
        )
    check_promise(explorer.problem, environment)
    checked_limit(max_pulls)


def check_promise(problem: Problem, environment: Environment) -> None:
    """Raise if the world is known to pay rewards that the problem rules out."""
    noise, ends = problem.noise, getattr(environment, "reward_range", None)
    if ends is None or not isinstance(noise, Bounded):
        return
    try:
        for end in ends:
            noise.check(end)
    except InvalidReward as reason:
        pays = "any number" if np.isinf(ends).any() else f"from {ends[0]:g} to {ends[1]:g}"
        raise InvalidEnvironment(
            f"Rewards have to be {noise.words}, by the noise of the problem, but "
            f"{type(environment).__name__} pays {pays}. Give the problem the noise that the world "
            "has."
        ) from reason


def checked_limit(max_pulls: int) -> int:
    """Return a number of pulls as an int, or raise."""
    return checked_whole("max_pulls", max_pulls, least=1)


def _generator(seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as reason:
        raise InvalidArgument(
            f"seed must be a whole number from 0, or a NumPy generator; got {seed!r}."
        ) from reason


def _driver(
    explorer: Explorer, environment: Environment, lane: Lane
) -> tuple[CompiledLane, Any] | None:
    """Return the compiled lane and world to play in, or None for the plain lane."""
    if lane not in ("auto", "plain", "compiled"):
        raise InvalidArgument(
            f'lane must be "auto", "plain" or "compiled", or "gpu" in run_many; got {lane!r}.'
        )
    if lane == "plain":
        return None
    try:
        # Compiled worlds pay what is maximised.
        possible = has_kernel(environment) and not explorer.problem.minimize
        driver = compiled_lane(explorer) if possible else None
    except MissingExtra as reason:
        if lane == "compiled":
            raise
        if find_spec("numba") is not None:  # installed, and does not work
            logging.getLogger("lingape").warning("%s", reason)
        return None
    if driver is not None:
        return driver, environment.kernel()  # type: ignore[attr-defined]
    if lane == "compiled" and not explorer.done:
        raise InvalidArgument(
            f"There is no compiled lane for {type(explorer).__name__} with these parts in "
            f"{type(environment).__name__}. Use lane='auto' or 'plain'."
        )
    return None


def _drive(
    explorer: Any,
    lane: CompiledLane,
    world: Any,
    rng: np.random.Generator,
    limit: int,
    watch: _Watch,
) -> None:
    stride = 1_000
    while not lane.settled and lane.pulls < limit:
        begun = time.perf_counter()
        until = min(limit, lane.pulls + stride)
        lane.advance(world, rng, min(until, watch.next_moment(lane.pulls, until)))
        taken = time.perf_counter() - begun
        stride = int(stride * min(10.0, max(0.1, PATIENCE / max(taken, 1e-9)))) + 1
        if not lane.settled and watch.due(lane.pulls):
            explorer.adopt(lane)
            watch.call(explorer, lane.pulls)
    explorer.adopt(lane)
