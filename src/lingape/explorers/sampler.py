"""What explorers share whose choice of pulls is separate from the decision to stop.

They stop by any bound that holds under adaptive pulls; what they pull follows from data of their
own (`memory`), which moves with every reward.
"""

import copy
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..bounds import Bound
from ..errors import InvalidArgument, InvalidBound
from ..kernels.memory import LEARNED, Memory
from ..least_squares import LeastSquares
from ..problem import Problem
from .lanes import load_lane
from .skeleton import Contest, Elimination, GapExplorer
from .starting import Spanning, Start, checked_elimination, checked_start, first_pull

if TYPE_CHECKING:
    from ..kernels.lane import Lane

MOST = 500  # arms, of which the compiled lane of a sampler keeps a matrix


class SamplerExplorer(GapExplorer):
    """Sample by `_choose`, stop by the bound.

    A subclass sets `memory` in its constructor, moves it in `_learn`, and reads it in `_choose`.
    """

    settings: ClassVar[tuple[str, ...]] = ("start", "elimination", "seed")
    memory: Memory

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound,
        ridge: float | None = None,
        start: Start = "each",
        elimination: Elimination = "none",
        seed: int = 0,
    ) -> None:
        if not getattr(bound, "adaptive", True):
            raise InvalidBound(
                f"{type(self).__name__} lets past rewards choose the next arm, but "
                f"{type(bound).__name__}() holds "
                "only for pulls fixed in advance. Pass Mixture() or SelfNormalized()."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        self.start, self.elimination = checked_start(start), checked_elimination(elimination)
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InvalidArgument(f"seed must be a whole number from 0; got {seed!r}.")
        self.seed = int(seed)
        if (apart := np.flatnonzero(self.estimate.twins != problem.twins)).size:
            arm, twin = int(apart[0]), int(problem.twins[apart[0]])
            raise InvalidBound(
                f"{type(self).__name__} pulls by features, and {problem.name(twin)} and "
                f"{problem.name(arm)} have the same, while {bound} takes them for different "
                "arms that it would never tell apart. Pass Mixture(), or use UGapE."
            )

    @abstractmethod
    def _choose(self, estimate: LeastSquares, contest: Contest) -> int:
        """Return the arm to pull next, from `memory` and the estimate."""

    def _begun(self, estimate: LeastSquares) -> bool:
        return estimate.ready if self.start == "spanning" else super()._begun(estimate)

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:
            return first_pull(self.problem, estimate, self.start)
        return self._choose(estimate, contest)

    def _update(self, arm: int, reward: float) -> None:
        super()._update(arm, reward)
        self.memory.counters[LEARNED] = self.estimate.pulls

    def _memory(self) -> dict[str, Any]:
        arrays = ("numbers", "counters", "vectors", "matrices")
        return {name: getattr(self.memory, name).tolist() for name in arrays}

    def _recall(self, memory: dict[str, Any]) -> None:
        for name, saved in memory.items():
            array = getattr(self.memory, name)
            values = np.array(saved, dtype=array.dtype).reshape(array.shape)
            if not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite")
            array[...] = values

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts."""
        lane = load_lane()
        if self.done or len(self.problem) > MOST or not lane.serves(self.bound, "sampler"):
            return None
        return lane(
            self.problem,
            self.bound,
            "sampler",
            self.estimate,
            opening=Spanning(self.problem) if self.start == "spanning" else None,
            eliminate=("none", "stop", "sample").index(self.elimination),
            dropped=self._dropped,
            memory=copy.deepcopy(self.memory),
        )

    def adopt(self, lane: "Lane") -> None:
        """Take over what a compiled lane was paid, as if it had been told."""
        super().adopt(lane)
        self.memory = copy.deepcopy(lane.memory)
        begun = self._contest is not None and not self.done
        if begun and self.memory.counters[LEARNED] != self.estimate.pulls:
            self._learn()
            self.memory.counters[LEARNED] = self.estimate.pulls
