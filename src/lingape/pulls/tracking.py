"""Keep the counts close to the best proportions for the contested gap: (12) of the paper."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..designs import DirectionProgram, Mix
from ..kernels.book import Model, Stage
from ..kernels.functions import inlined, on_gpu
from ..kernels.parts import NEEDS_HELP, choose, pick
from ..kernels.teams import begin, lowest, stride
from ..least_squares import LeastSquares
from ..ties import PULL, first_max


class Solved(NamedTuple):
    """The mixes found so far for one set of arms."""

    features: FloatArray
    program: DirectionProgram
    mixes: dict[tuple[int, int], Mix]


class Tracking:
    """Keep the counts close to the best proportions for the contested gap, equation (12).

    The proportions p* come from the linear program (11), solved once for each pair of arms that
    is ever contested.

    >>> from lingape import LinGapE, Problem, Tracking
    >>> explorer = LinGapE(Problem([[1, 0], [1, 0.1], [0, 1]], noise=0.3), pull=Tracking())
    >>> explorer.tell_many([0, 1, 2], [5.0, 5.1, 1.0])
    >>> explorer.contest.leader, explorer.contest.rival, explorer.ask()
    (1, 0, 2)
    """

    shortlists: ClassVar[bool] = True

    def __init__(self) -> None:
        self._solved: Solved | None = None

    def __repr__(self) -> str:
        return "Tracking()"

    def __eq__(self, other: object) -> bool:
        return type(other) is Tracking

    def __hash__(self) -> int:
        return hash(Tracking)

    def __reduce__(self) -> tuple[type["Tracking"], tuple[()]]:
        return Tracking, ()  # what is kept follows from the arms,

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tracking":
        return self  # and copies may share it

    def __call__(self, estimate: LeastSquares, leader: int, rival: int) -> int:
        p = self.mix(estimate.features, leader, rival, estimate.pullable).proportions
        support = np.flatnonzero(p)
        shortfall = -estimate.counts[support] / p[support]  # -T_a/p*_a (12)
        return int(support[first_max(shortfall, -PULL * float(shortfall.max()))])

    def mix(
        self,
        features: FloatArray,
        leader: int,
        rival: int,
        pullable: BoolArray | None = None,
    ) -> Mix:
        """Return w*, p* and ρ for the gap between `leader` and `rival`, in either order.

        features: of all arms.
        pullable: which of them can be pulled; all unless given.
        """
        solved = self._solved
        if solved is None or solved.features is not features:  # first use, or another problem
            program = DirectionProgram(features, pullable)
            solved = self._solved = Solved(features, program, {})
        first, second = pair = min(leader, rival), max(leader, rival)
        if pair not in solved.mixes:
            solved.mixes[pair] = solved.program.between(first, second)
        return solved.mixes[pair]

    def kernel(self, stage: Stage) -> "TrackingKernel":
        """Return this rule for the compiled lane, as a run begins at `stage`."""
        return new_tracking(stage.estimate.features.shape[1])

    def help(
        self,
        kernel: Any,
        features: FloatArray,
        means: FloatArray,
        leader: int,
        rival: int,
    ) -> Any:
        """Return `kernel` with the proportions for `leader` and `rival`, whom it has not met.

        features, means: of all arms; the means do not matter.
        """
        p = self.mix(features, leader, rival).proportions
        support = np.flatnonzero(p)
        key = min(leader, rival) * len(p) + max(leader, rival)
        return with_pair(kernel, key, support, p[support])


@on_gpu("keys", "sizes", "support", "proportions")
class TrackingKernel(NamedTuple):
    """Proportions p* of the pairs seen so far, as an open-addressing hash table."""

    keys: IntArray  # (slots,) i·K + j with i < j, or -1
    sizes: IntArray  # (slots,)
    support: IntArray  # (slots, d) arms, ascending
    proportions: FloatArray  # (slots, d)


def new_tracking(d: int, slots: int = 16) -> TrackingKernel:
    return TrackingKernel(
        keys=np.full(slots, -1, dtype=np.int64),
        sizes=np.zeros(slots, dtype=np.int64),
        support=np.zeros((slots, d), dtype=np.int64),
        proportions=np.zeros((slots, d)),
    )


def with_pair(
    table: TrackingKernel, key: int, support: IntArray, proportions: FloatArray
) -> TrackingKernel:
    """Return a table with one more pair, larger if it would be more than half full."""
    if 2 * (int((table.keys >= 0).sum()) + 1) > len(table.keys):
        old, table = table, new_tracking(table.support.shape[1], 2 * len(table.keys))
        for slot in np.flatnonzero(old.keys >= 0).tolist():
            size = int(old.sizes[slot])
            table = with_pair(
                table, int(old.keys[slot]), old.support[slot, :size], old.proportions[slot, :size]
            )
    slot, size = key % len(table.keys), len(support)
    while table.keys[slot] >= 0:
        slot = (slot + 1) % len(table.keys)
    table.keys[slot], table.sizes[slot] = key, size
    table.support[slot, :size], table.proportions[slot, :size] = support, proportions
    return table


@choose.of(TrackingKernel)
def _(pull: TrackingKernel, model: Model, leader: int, rival: int) -> int:
    return _furthest_behind(model.book.team, pull, model.book.counts, leader, rival)


@pick.of(TrackingKernel)
def _(
    pull: TrackingKernel, whole: Model, small: Model, grown: float, leader: int, rival: int
) -> int:
    return _furthest_behind(whole.book.team, pull, whole.book.counts, leader, rival)


@inlined
def _furthest_behind(
    team: Any, pull: TrackingKernel, counts: IntArray, leader: int, rival: int
) -> int:
    """Return the arm furthest behind p* (12), or NEEDS_HELP if p* is not known yet."""
    key = min(leader, rival) * len(counts) + max(leader, rival)
    slots = len(pull.keys)
    slot = key % slots
    while pull.keys[slot] != key:
        if pull.keys[slot] < 0:
            return NEEDS_HELP
        slot = (slot + 1) % slots
    least, size = math.inf, pull.sizes[slot]
    m = begin(team)
    while m < size:
        least = min(least, counts[pull.support[slot, m]] / pull.proportions[slot, m])
        m += stride(team)
    least = lowest(team, least)
    least += PULL * least
    m = begin(team)
    while m < size and counts[pull.support[slot, m]] / pull.proportions[slot, m] > least:
        m += stride(team)
    return int(pull.support[slot, lowest(team, m)])
