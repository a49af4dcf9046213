"""LinGapE: pull whichever arm best settles the closest contest.

Algorithm 1 of the paper is a choice of parts: pull each arm once, select the direction
(Algorithm 2, contests/by_gap.py), stop if B(t) ≤ ε (stopping/margin.py), pull the arm that settles
it (pulls/greedy.py). scaffold/conversation.py plays them in this order.
"""

from typing import ClassVar

from ..bounds import Bound, Mixture
from ..contests import ByGap, Top
from ..errors import InvalidArgument
from ..problem import Problem
from ..pulls import PullRule, greedy
from ..scaffold import (
    ContestExplorer,
    Elimination,
    Parts,
    Start,
    adaptive_only,
    checked_m,
    checked_pull,
    opening_for,
    stopping_for,
)


class LinGapE(ContestExplorer):
    """Find an ε-best arm with probability 1 - δ, adapting at every pull.

    Algorithms 1 and 2 of Xu, Honda and Sugiyama, A fully adaptive algorithm for pure exploration
    in linear bandits (AISTATS 2018). Numbers in parentheses are its equations; docs/notation.md
    pairs its symbols with the names used here.

    problem: the arms, and what counts as an answer.
    bound: gives the width β_t of the interval on each gap (8); it has to hold when past rewards
        choose the next arm. SelfNormalized() is the paper's.
    pull: picks the arm that settles a contest, `greedy` (9) or `Tracking()` (12).
    ridge: λ of the estimate, for bounds around a ridge estimate (1 unless given).
    start: "each" pulls every arm once first, as the paper does; "spanning" only as many arms as
        there are dimensions, chosen to span them well: for many arms; "auto" does the second
        where arms are more than twice as many as dimensions (docs/how-to-choose.md).
    elimination: "stop" counts a rival that the leader has once beaten as beaten, "sample" also
        asks about it no more; both are as safe as neither.
    m: how many of the best arms to find; `top()` returns them.

    Also for problems in which some arms cannot be pulled, or not be the answer
    (Problem.transductive).

    >>> from lingape import LinGapE, Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise=0.1)
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
        adaptive_only(self, bound)
        super().__init__(problem, bound=bound, ridge=ridge)
        self.pull, self.start, self.elimination = checked_pull(pull), start, elimination
        self.m = checked_m(m, problem)
        if m > 1 and elimination != "none":
            raise InvalidArgument("elimination is for the best arm alone; got m > 1.")
        self.parts = Parts(
            opening=opening_for(start, problem),
            contests=ByGap(problem, bound) if m == 1 else Top(problem, bound, self.m),  # Alg. 2
            pull=pull,  # (9) or (12)
            stopping=stopping_for(elimination, problem),  # B(t) ≤ ε
        )
