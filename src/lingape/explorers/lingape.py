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
from .skeleton import Contest, Elimination, GapExplorer
from .starting import Spanning, Start, checked_elimination, checked_m, checked_start, first_pull

if TYPE_CHECKING:
    from ..kernels.lane import Lane


MOST = 4_000  # arms, of which the compiled lane keeps track in pairs when it eliminates


class LinGapE(GapExplorer):
    """Find an ε-best arm with probability 1 - δ, adapting at every pull.

    bound: gives the width β_t of the interval on each gap (8); it has to hold when past rewards
        choose the next arm. SelfNormalized() is the paper's.
    pull: picks the arm that settles a contest, `greedy` (9) or `Tracking()` (12).
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start: "each" pulls every arm once first, as the paper does; "spanning" only as many arms as
        there are dimensions, chosen to span them well: for many arms.
    elimination: "stop" counts a rival that the leader has once beaten as beaten, "sample" also
        asks about it no more; both are as safe as neither.
    m: how many of the best arms to find; `top()` returns them.

    Also for problems in which some arms cannot be pulled, or not be the answer
    (Problem.transductive).

    >>> problem = Problem([[1, 0], [0, 1]], noise_scale=0.1)
    >>> explorer = LinGapE(problem)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend()
    0
    """

    settings: ClassVar[tuple[str, ...]] = ("pull", "start", "elimination", "m")
    transductive: ClassVar[bool] = True

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        pull: PullRule = greedy,
        ridge: float | None = None,
        start: Start = "each",
        elimination: Elimination = "none",
        m: int = 1,
    ) -> None:
        if isinstance(pull, type) or not callable(pull):
            raise InvalidArgument(
                f"pull must be a pull rule, greedy or Tracking(); got {pull!r}. "
                "Mind the parentheses."
            )
        if not getattr(bound, "adaptive", True):
            raise InvalidBound(
                f"LinGapE lets past rewards choose the next arm, but "
                f"{type(bound).__name__}() holds only for pulls "
                "fixed in advance. Pass Mixture() or SelfNormalized(), or fix the pulls."
            )
        super().__init__(problem, bound=bound, ridge=ridge)
        self.pull, self.start = pull, checked_start(start)
        self.elimination, self.m = checked_elimination(elimination), checked_m(m, problem)
        if m > 1 and elimination != "none":
            raise InvalidArgument("elimination is for the best arm alone; got m > 1.")

    def _begun(self, estimate: LeastSquares) -> bool:
        return estimate.ready if self.start == "spanning" else super()._begun(estimate)

    def _pick(self, estimate: LeastSquares, contest: Contest | None) -> int:
        if contest is None:
            return first_pull(self.problem, estimate, self.start)
        return self.pull(estimate, contest.leader, contest.rival)

    def _describe(self, name: str) -> Any:
        return describe(self.pull, PULLS) if name == "pull" else getattr(self, name)

    @classmethod
    def _revive(cls, name: str, data: Any) -> Any:
        return revive(data, PULLS, argument="pull") if name == "pull" else data

    def compiled(self) -> "Lane | None":
        """Return a compiled lane that goes on from here, if there is one for these parts.

        Raises MissingExtra without numba. `adopt` takes the lane's data back.
        """
        lane = load_lane()
        plain = self.problem.plain and self.m == 1
        many = self.elimination != "none" and len(self.problem) > MOST
        if self.done or not plain or many or not lane.serves(self.bound, self.pull):
            return None
        return lane(
            self.problem,
            self.bound,
            self.pull,
            self.estimate,
            opening=Spanning(self.problem) if self.start == "spanning" else None,
            eliminate=("none", "stop", "sample").index(self.elimination),
            dropped=self._dropped,
        )
