"""What every bound has, and small parts that several share."""

from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ..arrays import FloatArray, IntArray
from ..checks import LARGEST, as_float, checked_whole
from ..errors import InvalidBound
from ..least_squares import Contrasts, LeastSquares
from ..problem import Problem

#: How many comparisons share δ: a number, or one that follows from the number K of arms.
Comparisons: TypeAlias = int | Literal["K-1", "K", "K^2"]


class Bound(Protocol):
    """How wrong can the estimate be? A small frozen value, shared freely between explorers.

    Pass one to an explorer as `bound`. `estimate` and `widths` are all that it takes to use one:

    >>> import numpy as np
    >>> from lingape import Mixture, Problem
    >>> problem, bound = Problem([[1, 0], [0, 1]], noise=1.0), Mixture()
    >>> estimate = bound.estimate(problem)
    >>> estimate.load(counts=np.array([100, 100]), sums=np.array([50.0, 0.0]))
    >>> bound.widths(problem, estimate, leader=0).round(3).tolist()
    [0.0, 0.576]
    """

    @property
    def adaptive(self) -> bool:
        """Whether it holds when past rewards choose the next arm."""
        ...

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        """Return the estimate, without data yet, whose error this bounds.

        problem: the arms.
        ridge: λ, or None for what suits the bound.
        """
        ...

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        """Return the half-width of the interval on each arm's gap to `leader`.

        With probability at least 1 - δ, at all times: for an `adaptive` bound, all of them hold;
        for others, no arm looks better than the best one (a fixed one, if several are) by this
        width more than it is, which is all that finding one arm takes (docs/bounds.md).

        problem: with the scale of the noise, and δ.
        estimate: what `estimate` returned, with data.
        """
        ...

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        """Return what has to be true of a `problem` for that, as sentences."""
        ...

    def caveat(self, problem: Problem, ridge: float) -> str:
        """Return why it is not proven even so, with the way out, or "" if it is.

        problem: the arms.
        ridge: λ of the estimate.
        """
        ...


@runtime_checkable
class Refining(Protocol):
    """A bound that also has shorter widths, too slow for every pull: for when the end is near.

    >>> from lingape import Mixture
    >>> from lingape.bounds import Refining
    >>> isinstance(Mixture(), Refining), Mixture().near, Mixture(refined=True).near
    (True, 0.0, 0.8)
    """

    @property
    def near(self) -> float:
        """How short they are at best, as a share of `widths`: when to try; 0 for never."""
        ...

    def settling_widths(
        self,
        problem: Problem,
        estimate: LeastSquares,
        leader: int,
        rivals: IntArray,
        means: FloatArray,
    ) -> FloatArray | None:
        """Return refined widths of the leader's gaps to `rivals` if these settle every contest.

        All or nothing, so that refinement decides when to stop and never what to pull. For fresh
        caches; None as well if `near` is 0.

        problem, estimate: as for `widths`.
        means: by which all arms are judged.
        """
        ...


@runtime_checkable
class Foreseeable(Protocol):
    """A bound that says how much longer widths can have become since all were computed.

    So that contests among very many arms need not look at those that are far behind.
    """

    def widths_of(
        self, problem: Problem, estimate: LeastSquares, contrasts: Contrasts
    ) -> FloatArray:
        """Return the half-widths of gaps that are known as `contrasts` says.

        problem, estimate: as for `widths`.
        """
        ...

    def factors(self, problem: Problem, estimate: LeastSquares) -> FloatArray:
        """Return what widths of a `problem` depend on beside contrasts, by an `estimate` now."""
        ...

    def lengthening(
        self, problem: Problem, before: FloatArray, now: FloatArray, shift: float
    ) -> tuple[float, float]:
        """Return c and e so that no width now is above c times what it was plus e‖y‖ before.

        Both norms are those of A⁻¹ before; A has only grown since.
        problem: as for `widths`.
        before, now: `factors`, both times.
        shift: ‖(A⁻¹ now - A⁻¹ before) y‖ is at most this times ‖y‖.
        """
        ...


def is_foreseeable(bound: object) -> bool:
    """Return whether a bound is, and no subclass has changed only a part of what that takes."""
    names, kinds = ("widths", "widths_of", "factors", "lengthening"), type(bound).__mro__
    makers = {next((kind for kind in kinds if name in vars(kind)), None) for name in names}
    return isinstance(bound, Foreseeable) and len(makers) == 1


def near(bound: object) -> float:
    """Return how short refined widths may be, as a share, or 0 if the bound has none."""
    share: float = getattr(bound, "near", 0.0)
    return share


def refine(
    bound: object,
    problem: Problem,
    estimate: LeastSquares,
    leader: int,
    means: FloatArray,
    margins: FloatArray,
) -> bool:
    """Shorten the margins of all rivals (those above -∞) if that settles it, or none."""
    if not isinstance(bound, Refining) or not bound.near or not estimate.fresh:
        return False
    rivals = np.flatnonzero(margins > -np.inf)
    widths = bound.settling_widths(problem, estimate, leader, rivals, means)
    if widths is not None:
        margins[rivals] = means[rivals] + widths - means[leader]
    return widths is not None


class NormWidths:
    """Widths ‖y‖ times one radius, which a subclass returns."""

    shrinks_with_lengths: ClassVar[bool] = True  # and no faster

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        """Return the factor in front of ‖y‖.

        problem, estimate: as for `widths`.
        """
        raise NotImplementedError

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        """Return the half-width of the interval on each arm's gap to `leader`.

        problem, estimate: as for `Bound.widths`.
        """
        return self.widths_of(problem, estimate, estimate.contrasts(leader))

    def widths_of(
        self, problem: Problem, estimate: LeastSquares, contrasts: Contrasts
    ) -> FloatArray:
        """Return the half-widths of gaps that are known as `contrasts` says.

        problem, estimate: as for `widths`.
        """
        norms: FloatArray = np.sqrt(contrasts.variance)
        norms *= self.radius(problem, estimate)  # (8)
        return norms

    def factors(self, problem: Problem, estimate: LeastSquares) -> FloatArray:
        """Return what widths of a `problem` depend on beside contrasts, by an `estimate` now."""
        return np.array([self.radius(problem, estimate)])

    def lengthening(
        self, problem: Problem, before: FloatArray, now: FloatArray, shift: float
    ) -> tuple[float, float]:
        """Return how much the radius has grown: norms have not.

        problem, before, now, shift: as for `Foreseeable.lengthening`.
        """
        return float(now[0] / before[0]), 0.0


def checked_comparisons(comparisons: Comparisons, bound: str) -> None:
    """Raise unless `comparisons` is a positive whole number, "K-1", "K" or "K^2"."""
    if comparisons in ("K-1", "K", "K^2"):
        return
    name, advice = f"comparisons of {bound}", 'It may also be "K-1", "K" or "K^2".'
    checked_whole(name, comparisons, least=1, advice=advice, error=InvalidBound)


def comparison_count(comparisons: Comparisons, problem: Problem) -> int:
    """Return by how much δ is divided."""
    if comparisons == "K-1":
        return len(problem) - 1
    if comparisons == "K":
        return len(problem)
    if comparisons == "K^2":
        return len(problem) ** 2
    return comparisons


def ridge_of(ridge: float | None, default: float, bound: str) -> float:
    """Return λ > 0, or raise."""
    value = default if ridge is None else as_float(ridge)
    if not 0 < value <= LARGEST:
        raise InvalidBound(
            f"ridge (λ) must be a number above 0, at most {LARGEST:g}, for {bound}, which bounds "
            f"the regularised estimate; got {ridge!r}. Mixture() bounds the one without ridge."
        )
    return value


def no_ridge(ridge: float | None, bound: str) -> None:
    """Raise if a ridge was asked for where there is none."""
    if ridge is not None and ridge != 0:
        raise InvalidBound(
            f"{bound} bounds the plain least-squares estimate, so ridge must be 0 or left out; "
            f"got {ridge!r}. SelfNormalized() takes a ridge."
        )


def norm_bound_of(problem: Problem, bound: str) -> float:
    """Return S, or raise."""
    if problem.norm_bound is None:
        raise InvalidBound(
            f"{bound}() needs to know how long θ can be: pass norm_bound (S) with the problem. "
            "Mixture() needs none."
        )
    return problem.norm_bound
