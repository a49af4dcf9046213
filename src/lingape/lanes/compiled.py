"""The compiled lane: one loop for all explorers that are made of parts, and what drives it.

The same pulls as ask and tell, hundreds of times faster. Each step of the loop is a function that
the type of a part's kernel chooses (kernels/parts.py): which contest is closest, whether that
settles it, what to pull. numba compiles the loop for the parts in use. With very many arms it is
another loop, which plays rounds in a shortlist (kernels/shortlist.py).
"""

import copy
import logging
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np

from ..arrays import FloatArray, IntArray
from ..contests import ByGap, Contest
from ..errors import MissingExtra
from ..explorers.race import Race
from ..kernels.book import (
    CHECKED,
    GROWTH,
    LEADING,
    LOG_DET,
    MARGIN,
    PULLS,
    REBUILD_AT,
    RIVALLING,
    TICK,
    Book,
    Model,
    Stage,
    absorb,
    new_arena,
    new_book,
    rebuild,
)
from ..kernels.functions import EntryPoint, inlined
from ..kernels.parts import (
    GO_ON,
    NEEDS_HELP,
    STOP,
    choose,
    closest,
    decide,
    glide,
    has_kernel,
    nearly,
    pay,
    pick,
    shortlists,
)
from ..kernels.shortlist import (
    DRAWN,
    GROWN,
    SIZE,
    WANTED,
    Shortlist,
    absorb_outside,
    catch_up,
    draw_up,
    fits,
    holds,
    new_shortlist,
    rebuild_all,
    small_arena,
    small_book,
    suits,
)
from ..least_squares import ill_conditioned
from ..problem import Problem
from ..pulls.base import Learner
from ..scaffold import EachArm
from ..scaffold.budget_phases import PhasedBudgetExplorer
from ..scaffold.conversation import ContestExplorer, Parts
from ..scaffold.phases import PhasedExplorer
from .blocks import PAUSED, SETTLED, BlockLane
from .phases import PhaseLane

_log = logging.getLogger("lingape")
_said: set[str] = set()  # about which parts

# What `advance` returns, beside PAUSED, SETTLED and NEEDS_HELP; and two states that it goes on in.
NEARLY, BROKEN, UNSUITED = 2, 3, 4
PLAYING, STALE = 5, 6
# A shortlist is tried after so many pulls for each dimension, and again after so many times more.
FIRST, AGAIN = 15, 2


@partial(EntryPoint, counting=False)
def advance(
    model: Model,
    contest: Any,
    pull: Any,
    stopping: Any,
    world: Any,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Play on until settled, `until` pulls, or something that the caller has to look at."""
    clock = model.book.clock
    if clock[REBUILD_AT] == 0:
        rebuild(model, pull)
    while True:
        clock[TICK] += 1  # rows used from now on are not replaced before the next round
        leader, rival, margin, factor = closest(contest, model, stopping)
        clock[LEADING], clock[RIVALLING], model.book.gauge[MARGIN] = leader, rival, margin
        status = judged(model, contest, stopping, leader, margin, until)
        if status == PLAYING:
            means, found = contest.means, (leader, rival, factor)
            glided = glide(pull, model, means, world, rng, until, found)
            clock[PULLS] += glided
            if glided == 0:
                arm = leader  # if all arms are the same arm
                if model.arena.twins[leader] != model.arena.twins[rival]:
                    arm = choose(pull, model, leader, rival)
                if arm < 0:
                    return NEEDS_HELP
                if _pull(model, pull, world, rng, arm):
                    continue
        elif status != STALE:
            return status
        rebuild(model, pull)


@partial(EntryPoint, counting=False)
def advance_listed(
    shortlist: Shortlist,
    whole: Model,
    small: Model,
    contest: Any,
    pull: Any,
    stopping: Any,
    world: Any,
    rng: np.random.Generator,
    until: int,
) -> int:
    """Do as `advance`, in a shortlist; return UNSUITED if it should have another size."""
    clock, gauge, arms = whole.book.clock, whole.book.gauge, shortlist.arms
    if clock[REBUILD_AT] == 0:
        rebuild_all(shortlist, whole, small, pull)
    while True:
        if gauge[LOG_DET] != gauge[LOG_DET]:
            return BROKEN
        clock[TICK] += 1
        if not shortlist.clock[DRAWN]:
            if not suits(shortlist, whole.arena):
                return UNSUITED
            draw_up(shortlist, whole, small)
        found = closest(contest, small, stopping)
        place, margin = found[0], found[2]
        if margin == margin and not holds(shortlist, whole.arena, whole.book, small.book, found):
            shortlist.clock[DRAWN] = 0
            continue
        leader, rival = arms[place], arms[found[1]]
        clock[LEADING], clock[RIVALLING], gauge[MARGIN] = leader, rival, margin
        status = judged(small, contest, stopping, place, margin, until)
        if status == PLAYING:
            arm = pick(pull, whole, small, shortlist.gauge[GROWN], leader, rival)
            if arm < 0:
                return NEEDS_HELP
            paid = pay(world, arm, rng)
            if _count(whole.book, arm, paid) and absorb_outside(
                shortlist, whole, small, arm, paid
            ):
                continue
        elif status != STALE:
            return status
        rebuild_all(shortlist, whole, small, pull)


@partial(EntryPoint, counting=False)
def leave_list(shortlist: Shortlist, whole: Model, small: Model) -> None:
    """Bring the whole book up to date."""
    catch_up(shortlist, whole, small)


@inlined
def judged(
    model: Model, contest: Any, stopping: Any, leader: int, margin: float, until: int
) -> int:
    """Return how the run ends here; or PLAYING; or STALE, to rebuild and look again."""
    arena, book, _ = model
    pulls, fresh = book.clock[PULLS], book.gauge[GROWTH] == 0.0
    decision = decide(stopping, leader, margin, pulls, arena.noise_scale)
    status = PLAYING
    if margin != margin:  # caches have lost too many digits, or V is singular
        status = BROKEN if fresh else STALE
    elif decision != GO_ON:  # before the final decision, caches are rebuilt
        status = SETTLED if decision == STOP or fresh else STALE
    elif (
        fresh
        and book.clock[CHECKED] != pulls
        and nearly(stopping, contest.means, book.scores, arena.twins, leader)
    ):
        book.clock[CHECKED] = pulls
        status = NEARLY
    elif pulls >= until:
        status = PAUSED
    return status


@inlined
def _pull(model: Model, pull: Any, world: Any, rng: np.random.Generator, arm: int) -> bool:
    """Pull an arm, and return whether the caches could take it in without a rebuild."""
    paid = pay(world, arm, rng)
    return _count(model.book, arm, paid) and absorb(model, pull, arm, paid)


@inlined
def _count(book: Book, arm: int, paid: float) -> bool:
    """Write down a pull, and return whether no rebuild is due."""
    book.counts[arm] += 1
    book.sums[arm] += paid
    book.clock[PULLS] += 1
    last = book.counts[arm] == 1 and book.counts.all()  # as in the plain lane
    return not (book.clock[PULLS] >= book.clock[REBUILD_AT] or last)


@EntryPoint
def pull_each(
    counts: IntArray, sums: FloatArray, world: Any, rng: np.random.Generator, most: int
) -> int:
    """Pull arms that have not been pulled, in order, at most so many; return how many."""
    pulls = 0
    for arm in range(len(counts)):
        if counts[arm] == 0 and pulls < most:
            counts[arm] = 1
            sums[arm] = pay(world, arm, rng)
            pulls += 1
    return pulls


class CompiledLane(Protocol):
    """A run in compiled code, paused between calls of `advance`.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> explorer.tell_many([0, 1], [1.0, 0.0])
    >>> lane = compiled_lane(explorer)
    >>> lane.pulls, lane.settled
    (2, False)
    """

    @property
    def settled(self) -> bool:
        """Whether it is over."""
        ...

    @property
    def pulls(self) -> int:
        """How many there were, those before the lane included."""
        ...

    def prepare(self, world: Any) -> None:
        """Compile what it takes, without a pull.

        world: what pays, `environment.kernel()`.
        """
        ...

    def advance(self, world: Any, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls.

        world: what pays, `environment.kernel()`.
        rng: for the noise.
        """
        ...


def compiled_lane(explorer: Any) -> CompiledLane | None:
    """Return a compiled lane that goes on from here, if all parts of the explorer have kernels.

    `explorer.adopt(lane)` takes the lane's data back. Raises MissingExtra without numba.

    Returns None for explorers that are done, or have parts without a kernel. `run` and
    `run_many` do all this by themselves.

    explorer: whose data and parts it plays with.

    >>> from lingape import LinGapE, Problem
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> isinstance(compiled_lane(explorer), ContestLane)
    True
    """
    try:
        import numba  # noqa: F401
    except ImportError as reason:
        raise MissingExtra(
            f"The compiled lane needs numba, which could not be imported ({reason}): "
            "pip install \"lingape[sim]\", or use lane='plain'."
        ) from reason
    if getattr(explorer, "done", True):
        return None
    lane: CompiledLane | None = None
    if is_driven(explorer) and explorer._knowable:
        if isinstance(explorer, ContestExplorer):
            return ContestLane.of(explorer)
        if isinstance(explorer, Race):
            return BlockLane.of(explorer)
        lane = PhaseLane.of(explorer)
    if lane is None:
        say_once(type(explorer).__name__)
    return lane


class Kernels(NamedTuple):
    """The compiled forms of an explorer's parts."""

    bound: Any
    contest: Any
    pull: Any
    stopping: Any


class ListParts(NamedTuple):
    """A shortlist, and what is made for its arms."""

    shortlist: Shortlist
    model: Model
    contest: Any


class ContestLane:
    """A run in compiled code, which starts from the data of an explorer."""

    def __init__(self, explorer: ContestExplorer, stage: Stage, kernels: Kernels) -> None:
        opening, contests, pull, stopping = explorer.parts
        if isinstance(pull, Learner) or hasattr(stopping, "adopt"):  # they keep something
            pull, stopping = copy.deepcopy((pull, stopping))  # and one may refer to the other
        self._parts = Parts(opening, contests, pull, stopping)
        self._estimate = stage.estimate
        self._arena, self._book = new_arena(stage.estimate, stage.problem.noise_scale), stage.book
        self._kernels, self._stage = kernels, stage
        self._listed: ListParts | None = None
        self._again = FIRST * len(self._arena.columns)  # pulls from which to try a shortlist
        self._budget: int | None = getattr(explorer, "budget", None)
        self._verdict: Contest | None = None
        self._settled = False
        self.begun = explorer.contest is not None  # whether arms can be compared
        if stage.listed:
            self._play_listed(None)  # until there are pulls enough

    @classmethod
    def of(cls, explorer: ContestExplorer) -> Self | None:
        """Return a lane, or None, saying so once, if a part of the explorer has no kernel."""
        stage = stage_of(explorer)
        made = kernels_of(explorer, stage)
        if isinstance(made, Kernels):
            return cls(explorer, stage, made)
        say_once(made)
        return None

    @property
    def pulls(self) -> int:
        return int(self._book.clock[PULLS])

    @property
    def counts(self) -> IntArray:
        return self._book.counts

    @property
    def sums(self) -> FloatArray:
        return self._book.sums

    @property
    def settled(self) -> bool:
        """Whether the question is answered, or the budget spent."""
        return self._settled or (self._budget is not None and self.pulls >= self._budget)

    @property
    def contest(self) -> Contest | None:
        """The closest contest at the last stop, once arms can be compared."""
        clock = self._book.clock
        if self._verdict is not None or not clock[REBUILD_AT]:
            return self._verdict
        margin = float(self._book.gauge[MARGIN])
        return Contest(int(clock[LEADING]), int(clock[RIVALLING]), margin)

    def hand_over(self, pull: Any, stopping: Any) -> None:
        """Let an explorer's parts take over what their kernels keep."""
        if self._verdict is not None:  # the plain rule decided, and knows more
            stopping.restore(self._parts.stopping.kept())
        elif hasattr(stopping, "adopt"):
            stopping.adopt(self._kernels.stopping)
        if isinstance(pull, Learner):
            for mine, compiled in zip(pull.memory, self._kernels.pull.memory, strict=True):
                mine[...] = compiled

    def advance(self, world: Any, rng: np.random.Generator, until: int) -> None:
        """Play on until settled or `until` pulls."""
        until = until if self._budget is None else min(until, self._budget)
        if not self.begun:
            self._open(world, rng, until)
        while self.begun and not self._settled:
            if self._can_list():
                self._play_listed(self._new_list(SIZE))
            loop, arguments = self._loop()
            status = loop(*arguments, world, rng, self._pause(until))
            if status != PAUSED:
                self._look(status)
            elif self.pulls >= until:
                return

    def prepare(self, world: Any) -> None:
        """Compile the loops for these parts, or load them, without a pull."""
        for listed in [None, self._new_list(SIZE)] if self._stage.listed else [None]:
            lane = copy.copy(self)
            lane._play_listed(listed)
            loop, arguments = lane._loop()
            loop.compile_for(*arguments, world, np.random.default_rng(0), 0)

    def _loop(self) -> tuple[EntryPoint[Any], tuple[Any, ...]]:
        """Return the loop to play in, and what it is called with first."""
        bound, contest, pull, stopping = self._kernels
        model = Model(self._arena, self._book, bound)
        if self._listed is None:
            return advance, (model, contest, pull, stopping)
        shortlist, small, contest = self._listed
        return advance_listed, (shortlist, model, small, contest, pull, stopping)

    def _new_list(self, size: int, old: ListParts | None = None) -> ListParts:
        """Return a shortlist of so many arms, which goes on from an old one."""
        shortlist, book = new_shortlist(self._arena, size), small_book(self._book, size)
        if old is not None:
            shortlist = old.shortlist._replace(arms=shortlist.arms)
            book = book._replace(inverse=old.model.book.inverse)
        stage, contests = self._stage._replace(book=book), self._parts.contests
        bound: Any = contests.bound
        small = Model(small_arena(self._arena, size), book, bound.kernel(stage))
        return ListParts(shortlist, small, contests.kernel(stage))  # type: ignore[attr-defined]

    def _can_list(self) -> bool:
        """Whether to try a shortlist now: only where caches are new, or are about to be."""
        new = self._book.clock[REBUILD_AT] == 0 or self._book.gauge[GROWTH] == 0.0
        waited = self.pulls >= self._again
        return bool(self._stage.listed and self._listed is None and waited and new)

    def _pause(self, until: int) -> int:
        """Return when to leave the loop: when caches are new, if a shortlist may be tried then."""
        due = int(self._book.clock[REBUILD_AT])
        return min(until, due) if self._stage.listed and self._listed is None and due else until

    def _play_listed(self, listed: ListParts | None) -> None:
        """Go on in a shortlist, or without one."""
        self._listed, pull = listed, cast(Any, self._parts.pull)
        stage = self._stage._replace(listed=listed is not None)
        self._kernels = self._kernels._replace(pull=pull.kernel(stage))
        if listed is not None:
            self._book.clock[REBUILD_AT] = 0

    def _resize(self, listed: ListParts) -> None:
        """Go on in a shortlist of another size, or for a while without one."""
        shortlist, small, _ = listed
        size = int(shortlist.clock[WANTED])
        if fits(self._arena.twins, len(self._arena.columns), size):
            self._listed = self._new_list(size, listed)
            return
        leave_list(shortlist, Model(self._arena, self._book, self._kernels.bound), small)
        self._again = AGAIN * self.pulls
        self._play_listed(None)

    def _look(self, status: int) -> None:
        """Handle the reason for which the compiled loop stopped."""
        leader, rival = self._book.clock[[LEADING, RIVALLING]].tolist()
        if status == BROKEN:
            raise ill_conditioned(self._arena.ridge)
        if status == NEEDS_HELP:
            kernel = self._parts.pull.help(  # type: ignore[attr-defined]
                self._kernels.pull, self._estimate.features, self._book.means, leader, rival
            )
            self._kernels = self._kernels._replace(pull=kernel)
        elif status == NEARLY:
            self._judge()
        elif status == UNSUITED:
            assert self._listed is not None
            self._resize(self._listed)
        else:
            self._settled = status == SETTLED

    def _judge(self) -> None:
        """Let the plain stopping rule decide, by refined widths."""
        _, contests, _, stopping = self._parts
        self._estimate.load(self.counts, self.sums)
        if hasattr(stopping, "adopt"):
            stopping.adopt(self._kernels.stopping)
        closest = contests.closest(self._estimate, stopping.unasked)
        contest, self._settled = stopping.judge(contests, self._estimate, closest)
        if self._settled:
            self._verdict = contest

    def _open(self, world: Any, rng: np.random.Generator, until: int) -> None:
        """Make the first pulls, which the compiled loop takes for granted."""
        estimate, opening, book = self._estimate, self._parts.opening, self._book
        if isinstance(opening, EachArm):
            book.clock[PULLS] += pull_each(book.counts, book.sums, world, rng, until - self.pulls)
            self.begun = bool(book.counts.all())
            return
        while not self.begun and estimate.pulls < until:
            arm = opening.pick(estimate)
            estimate.update(arm, float(pay(world, arm, rng)))
            self.begun = opening.over(estimate)
        book.counts[:], book.sums[:] = estimate.counts, estimate.sums
        book.clock[PULLS] = estimate.pulls


def is_driven(explorer: Any) -> bool:
    """Whether an explorer behaves as the class does that takes over compiled runs (`adopt`)."""
    if not isinstance(explorer, ContestExplorer | PhasedExplorer | PhasedBudgetExplorer | Race):
        return False
    for kind in type(explorer).__mro__:
        if "adopt" in vars(kind):
            return True
        if {"_pick", "_update", "ask", "tell"} & vars(kind).keys():
            return False
    return False


def _lacking(part: Any, problem: Problem) -> str:
    """Return what there is no kernel for, or "" if the part has one for this problem."""
    name = str(getattr(part, "__name__", type(part).__name__))
    most = getattr(part, "most_arms", len(problem))
    if not has_kernel(part):
        return name
    return "" if len(problem) <= most else f"{name} with more than {most} arms"


def stage_of(explorer: ContestExplorer) -> Stage:
    """Return a compiled run of an explorer about to begin."""
    all_rows = any(getattr(part, "all_rows", False) for part in explorer.parts)
    estimate = explorer.estimate.copy()
    book = new_book(estimate, all_rows=all_rows)
    _, contests, pull, stopping = explorer.parts
    listed = (
        all(map(shortlists, (contests.bound, contests, pull, stopping)))
        and getattr(contests, "truth", None) is None
        and fits(estimate.twins, estimate.features.shape[1], SIZE)
    )
    return Stage(
        problem=explorer.problem,
        estimate=estimate,
        bound=contests.bound,
        truth=getattr(contests, "truth", None),
        skips=isinstance(contests, ByGap) and getattr(explorer.parts.stopping, "skips", False),
        book=book,
        dropped=np.zeros((0, 0)),
        listed=listed,
    )


def kernels_of(explorer: ContestExplorer, stage: Stage) -> Kernels | str:
    """Return the compiled forms of an explorer's parts, or what there is none of."""
    _, contests, pull, stopping = explorer.parts
    parts: tuple[Any, ...] = (contests.bound, contests, pull, stopping)
    if not explorer.problem.plain:
        return "problems with pullable or answers"
    if lacking := [what for part in parts if (what := _lacking(part, explorer.problem))]:
        return " and ".join(lacking)
    decides = parts[3].kernel(stage)
    if getattr(stopping, "sample", False):
        stage = stage._replace(dropped=decides.dropped)
    made = [*(part.kernel(stage) for part in parts[:3]), decides]
    if None in made:
        return f"{type(parts[made.index(None)]).__name__} with these settings"
    return Kernels(*made)


def say_once(parts: str, lane: str = "compiled", instead: str = "the plain") -> None:
    """Warn that there is no code for some parts, the first time."""
    said = f"No {lane} code for {parts}: this runs in {instead} lane."
    if said not in _said:
        _said.add(said)
        _log.warning("%s", said)
