"""XY-oracle: the allocation for a known θ. A yardstick, not an algorithm."""

from contextlib import suppress
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..bounds import Bound, FixedDesign
from ..designs import trimmed, xy
from ..errors import DesignFailed, InvalidArgument
from ..problem import Problem, checked_theta
from ..scaffold.planned import PlannedExplorer, plan_for

TOLERANCE = 1e-9  # of the value; the shares are then good to about four digits


class XYOracle(PlannedExplorer):
    """Follow the best allocation for a known θ until the best arm is confirmed.

    Soare, Lazaric and Munos, Best-arm identification in linear bandits (NIPS 2014); (18) of Xu et
    al. (2018). It pulls what tells the best arm from every other fastest, and with `test="true"`
    stops as soon as the intervals are shorter than the true gaps, whatever the rewards: the number
    of pulls is then a constant of the problem.

    problem: the arms, and what counts as an answer.
    theta: the true θ, which no explorer that finds anything may know.
    test: "true" compares intervals with the true gaps, as Soare et al. and the paper do;
        "estimated" with the estimated ones.
    bound: FixedDesign() has its constants right, FixedDesign("printed") as in Proposition 1.
    ridge: as for XYStatic. The paper's authors use ridge=1 and K comparisons.

    >>> from lingape import Problem, XYOracle
    >>> explorer = XYOracle(Problem([[1, 0], [1, 0.1], [0, 1]], noise=1.0), theta=[5, 1])
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[5.0, 5.1, 1.0][arm])
    >>> explorer.recommend(), int(explorer.counts.argmax())
    (1, 2)
    """

    settings: ClassVar[tuple[str, ...]] = ("theta", "test")

    def __init__(
        self,
        problem: Problem,
        *,
        theta: npt.ArrayLike,
        test: Literal["true", "estimated"] = "true",
        bound: Bound = FixedDesign(),
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
        if test not in ("true", "estimated"):
            raise InvalidArgument(f'test must be "true" or "estimated"; got {test!r}.')
        vector = checked_theta(problem, theta)
        self.theta_given, self.test = vector, test
        self.truth: FloatArray = problem.gain(1.0) * (problem.arms @ vector)
        plan = plan_for(self, _oracle(problem, self.truth))
        self.follow(plan, self.truth if test == "true" else None)

    def _assumptions(self) -> tuple[str, ...]:
        told = "The explorer was told the true weights θ of the features."
        return (*([told] if self.test == "true" else []), *super()._assumptions())

    def _describe(self, name: str) -> object:
        return self.theta_given.tolist() if name == "theta" else self.test


def _oracle(problem: Problem, means: FloatArray) -> FloatArray:
    best = int(means.argmax())
    gaps = means[best] - means
    rivals = np.flatnonzero(problem.twins != problem.twins[best])
    if not len(rivals):
        return np.full(len(means), 1.0 / len(means))
    if gaps[rivals].min() <= 1e-12 * float(np.abs(means).max()):
        raise InvalidArgument(
            f"XYOracle needs a unique best arm; {problem.name(best)} is tied with "
            f"{problem.name(int(rivals[gaps[rivals].argmin()]))}. No allocation tells them apart."
        )
    x = problem.orthonormal
    directions = x[best] - x[rivals]
    for tolerance in (TOLERANCE, 1e-7):
        with suppress(DesignFailed):  # the last digits are out of reach now and then
            design = xy(x, directions, gaps=gaps[rivals], tolerance=tolerance)
            return trimmed(design.proportions)
    return trimmed(xy(x, directions, gaps=gaps[rivals], tolerance=2e-3).proportions)
