"""LinGapE: pull whichever arm best settles the closest contest.

Algorithms 1 and 2 of Xu, Honda and Sugiyama (AISTATS 2018). Numbers in parentheses are its
equations; docs/notation.md pairs its symbols with the names used here. Select-direction (Algorithm
2) is `_closest_contest` of the skeleton, which other explorers use too.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from ..bounds import Bound, Mixture
from ..errors import InvalidArgument, InvalidBound
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import PULLS, PullRule, greedy
from ..registry import describe, revive
from .lanes import load_lane
from .skeleton import Contest, GapExplorer

if TYPE_CHECKING:
    from ..kernels.lane import Lane


class LinGapE(GapExplorer):
    """Find an ε-best arm with probability 1 - δ, adapting at every pull.

    bound: gives the width β_t of the interval on each gap (8); it has to hold when past rewards
        choose the next arm. SelfNormalized() is the paper's.
    pull: picks the arm that settles a contest, `greedy` (9) or `Tracking()` (12).
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).

    >>> problem = Problem([[1, 0], [0, 1]], noise_scale=0.1)
    >>> explorer = LinGapE(problem)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend()
    0
    """

    settings: ClassVar[tuple[str, ...]] = ("pull",)

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        pull: PullRule = greedy,
        ridge: float | None = None,
    ) -> None:
        if isinstance(pull, type) or not callable(pull):
            raise InvalidArgument(
                f"pull must be a pull rule, greedy or Tracking(); got {pull!r}. "
                "Mind the parentheses."
            )
        if not getattr(bound, "adaptive", True):
            raise InvalidBound(
                f"LinGapE lets past rewards choose the next arm, but {bound} holds only for pulls "
                "fixed in advance. Pass Mixture() or SelfNormalized(), or fix the pulls."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        self.pull = pull

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:  # pull each arm once
            return int(estimate.counts.argmin())
        return self.pull(estimate, contest.leader, contest.rival)

    def _describe(self, name: str) -> Any:
        return describe(self.pull, PULLS)

    @classmethod
    def _revive(cls, name: str, data: Any) -> Any:
        return revive(data, PULLS, argument="pull")

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts.

        Raises MissingExtra without numba. `adopt` takes the lane's data back.
        """
        lane = load_lane()
        if self.done or not lane.serves(self.bound, self.pull):
            return None
        return lane(self.problem, self.bound, self.pull, self.estimate)
