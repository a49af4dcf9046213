"""XY-static: pull so that all differences of arms become known equally well."""

from typing import ClassVar, Literal

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..designs import differences, even_xy, trimmed
from ..errors import InvalidArgument
from ..plans import OneByOne
from ..problem import Problem
from ..scaffold.planned import PlannedExplorer, plan_for


class XYStatic(PlannedExplorer):
    """Follow the min-max design over all differences of arms until one arm is proven best.

    Soare, Lazaric and Munos, Best-arm identification in linear bandits (NIPS 2014), as compared
    with in Section 7 of Xu et al. (2018). The allocation depends on the arms alone; rewards only
    decide when to stop: when some arm beats every other by more than the width of the interval on
    their gap.

    problem: the arms, and what counts as an answer.
    bound: decides when to stop. FixedDesign() is that of Soare et al. with its constants right,
        FixedDesign("printed") as in Proposition 1. FixedDesign() needs more samples than
        Mixture() with up to about 20 features, and fewer with more.
    design: "rounded" follows proportions within 1 % of optimal that treat like arms alike;
        "greedy" picks pulls one by one, each to shorten the longest difference most.
    ridge: λ of the estimate, for bounds around a ridge estimate. FixedDesign("printed") takes it
        too, as the paper's experiments on real data do, and ignores the bias that it brings.

    Here the last arm says nothing about how the other two compare, so it is pulled once:

    >>> from lingape import Problem, XYStatic
    >>> explorer = XYStatic(Problem([[1, 0], [0, 1], [0.5, 0.5]], noise=0.5))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0, 0.5][arm])
    >>> explorer.recommend(), explorer.counts.tolist()
    (0, [9, 9, 1])
    """

    settings: ClassVar[tuple[str, ...]] = ("design",)

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        design: Literal["rounded", "greedy"] = "rounded",
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
        if design not in ("rounded", "greedy"):
            raise InvalidArgument(f'design must be "rounded" or "greedy"; got {design!r}.')
        self.design = design
        self.follow(OneByOne() if design == "greedy" else plan_for(self, _static(problem)))


def _static(problem: Problem) -> FloatArray:
    """Return the shares of the design, without those too small to matter."""
    if len(np.unique(problem.twins)) == 1:  # all arms are the same arm: any pull works
        return np.full(len(problem), 1.0 / len(problem))
    x = problem.orthonormal
    return trimmed(even_xy(x, differences(x)).proportions)
