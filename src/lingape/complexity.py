"""How hard is a problem? Quantities that need θ, which no explorer may know.

Numbers in parentheses are equations of Xu, Honda and Sugiyama (2018). Where its text drops a
square or a factor, the one that its proofs need is used (docs/notation.md).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import FloatArray, IntArray
from .checks import LARGEST, SMALLEST, as_float
from .designs import DirectionProgram, Mix, xy
from .errors import InvalidArgument
from .problem import Problem, checked_theta


class CharacteristicTime(NamedTuple):
    """T*(θ): an algorithm with error rate at most δ needs at least kl(δ, 1-δ)·T* samples.

    time: T*, from below: certified.
    gap: by how much, as a share, it can be larger.
    allocation: the best proportions of pulls if θ were known, one number per arm.

    >>> from lingape import Problem
    >>> from lingape.complexity import characteristic_time
    >>> found = characteristic_time(Problem([[1, 0], [0, 1]], noise=1.0), [0.5, 0.0])
    >>> round(found.time, 3), found.allocation.round(3).tolist()
    (32.0, [0.5, 0.5])
    >>> round(found.samples(delta=0.05), 1)
    84.8
    """

    time: float
    gap: float
    allocation: FloatArray

    def samples(self, delta: float) -> float:
        """Return the least expected number of samples, for Gaussian noise.

        delta: δ, the error rate.
        """
        return divergence(delta) * self.time


def divergence(delta: float) -> float:
    """Return kl(δ, 1-δ), the information that a decision with error rate `delta` (δ) takes.

    >>> from lingape.complexity import divergence
    >>> round(divergence(0.05), 3)
    2.65
    """
    if not 0 < delta < 1:
        raise InvalidArgument(f"delta must lie strictly between 0 and 1; got {delta!r}.")
    return (1 - 2 * delta) * math.log((1 - delta) / delta) if delta < 0.5 else 0.0


def gaps(problem: Problem, theta: npt.ArrayLike) -> tuple[int, FloatArray]:
    """Return a problem's best arm and Δ (14): how much worse each arm is than the best.

    For the best arm itself it is the smallest of the others'. Exact duplicates of the best arm are
    as good as it and have gap 0. The best is among the answers, and arms that cannot be the answer
    have no gap: NaN.

    problem: the arms, and which of them can be pulled and be the answer.
    theta: θ, a weight for each feature.

    >>> from lingape import Problem
    >>> from lingape.complexity import gaps
    >>> best, delta = gaps(Problem([[1, 0], [0, 1], [1, 1]], noise=1.0), [0.5, -0.1])
    >>> best, delta.round(3).tolist()
    (0, [0.1, 0.6, 0.1])
    """
    vector = checked_theta(problem, theta)
    gains = problem.gain(1.0) * (problem.arms @ vector)
    means = np.where(problem.can_answer, gains, -np.inf)
    best = int(means.argmax())
    delta = np.where(problem.can_answer, means[best] - means, np.nan)
    others = _rivals(problem, best)
    if not len(others):
        raise InvalidArgument("There must be an arm other than the best; all are duplicates.")
    least = float(delta[others].min())
    if least <= 1e-12 * float(np.abs(means[problem.can_answer]).max()):
        tied = int(others[delta[others].argmin()])
        raise InvalidArgument(
            f"The best arm must be unique; arms {best} and {tied} both have mean {means[best]:g}. "
            "No algorithm can tell them apart."
        )
    if not SMALLEST <= least <= LARGEST:
        raise InvalidArgument(
            f"The smallest gap must lie between {SMALLEST:g} and {LARGEST:g}; got {least:g}. "
            "Measure rewards in other units."
        )
    delta[best] = least
    return best, delta


def characteristic_time(
    problem: Problem, theta: npt.ArrayLike, *, tolerance: float = 1e-6
) -> CharacteristicTime:
    """Return T*(θ) = min_p max_i 2R²‖x* - x_i‖²/Δ_i², the oracle's design problem, certified.

    The best arm x* and its rivals x_i are answers; the design p is on arms that can be pulled.

    problem: the arms, and which of them can be pulled and be the answer.
    theta: θ, a weight for each feature.
    tolerance: the certified gap, as a share.

    >>> from lingape import Problem
    >>> from lingape.complexity import characteristic_time
    >>> found = characteristic_time(Problem([[1, 0], [0, 1]], noise=1.0), [0.5, 0.0])
    >>> round(found.time, 3), found.gap <= 1e-6
    (32.0, True)
    """
    best, delta = gaps(problem, theta)
    if not SMALLEST <= problem.noise_scale / float(delta[best]) <= LARGEST:
        raise InvalidArgument(
            f"noise (R) and the smallest gap, {delta[best]:g}, are too far apart in size to "
            f"compute with; got {problem.noise_scale:g}. Are both in the same units?"
        )
    rivals = _rivals(problem, best)
    directions = problem.arms[best] - problem.arms[rivals]
    pulled = problem.arms[problem.can_pull]
    # Gaps in a unit of their own size, or their fourth powers overflow; a power of 2 is exact.
    unit = math.ldexp(1.0, math.frexp(float(delta[best]))[1])
    design = xy(pulled, directions, gaps=delta[rivals] / unit, tolerance=tolerance)
    allocation = np.zeros(len(problem))
    allocation[problem.can_pull] = design.proportions
    scale = 2.0 * (problem.noise_scale / unit) ** 2
    return CharacteristicTime(scale * design.lower_bound, design.gap, allocation)


def _rivals(problem: Problem, best: int) -> IntArray:
    """Return the answers that are not duplicates of the best one."""
    return np.flatnonzero((problem.twins != problem.twins[best]) & problem.can_answer)


@dataclass(frozen=True, eq=False)
class Complexity:
    """What theory says about a problem with a known θ.

    best: the best arm.
    gaps: Δ (14), how much worse each arm is than the best.
    lingape: H_ε (13).
    oracle: H_oracle, the largest ρ/Δ² of the best arm and a rival.
    oracle_sum: H'_oracle, their sum.
    ugape: UGapE's H_ε for rewards of range 2, which ignores features.
    characteristic: T*(θ), and the best proportions of pulls.
    lower_bound: kl(δ, 1-δ)·T* samples; None unless ε = 0.
    theorem_2, theorem_2_large_ridge: the paper's bounds on LinGapE's samples, (16) and (17); None
        where their conditions do not hold.

    >>> from lingape import Problem
    >>> from lingape.complexity import complexity
    >>> found = complexity(Problem([[1, 0], [0, 1]], noise=1.0), [0.5, 0.0])
    >>> found.best, found.gaps.tolist(), round(found.lingape, 3), round(found.lower_bound, 1)
    (0, [0.5, 0.5], 144.0, 84.8)
    """

    best: int
    gaps: FloatArray
    lingape: float
    oracle: float
    oracle_sum: float
    ugape: float
    characteristic: CharacteristicTime
    lower_bound: float | None
    theorem_2: float | None
    theorem_2_large_ridge: float | None

    @property
    def theorem_3(self) -> float:
        """Return H_ε/H'_oracle, which Theorem 3 is about.

        It says at most 72, which is false for many arms; what holds is `theorem_3_limit`.
        """
        return self.lingape / self.oracle_sum

    @property
    def theorem_3_limit(self) -> float:
        """Return 9(2K - 3), which H_ε/H'_oracle never exceeds (paper/ERRATA.md, row 32)."""
        return 9.0 * (2 * len(self.gaps) - 3)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "best": self.best,
            "gaps": self.gaps.tolist(),
            "H": self.lingape,
            "H_oracle": self.oracle,
            "H_oracle_sum": self.oracle_sum,
            "theorem_3": self.theorem_3,
            "theorem_3_limit": self.theorem_3_limit,
            "H_ugape": self.ugape if math.isfinite(self.ugape) else None,
            "characteristic_time": self.characteristic.time,
            "characteristic_time_gap": self.characteristic.gap,
            "allocation": self.characteristic.allocation.tolist(),
            "lower_bound": self.lower_bound,
            "theorem_2": self.theorem_2,
            "theorem_2_large_ridge": self.theorem_2_large_ridge,
        }


def complexity(problem: Problem, theta: npt.ArrayLike, *, ridge: float = 1.0) -> Complexity:
    """Return every quantity that the paper defines for a problem with this θ.

    problem: the arms, all of which can be pulled and be the answer.
    theta: θ, a weight for each feature.
    ridge: λ, for Theorem 2.

    >>> from lingape import soare
    >>> from lingape.complexity import complexity
    >>> instance = soare(3, angle=0.1)
    >>> found = complexity(instance.problem(), instance.theta)
    >>> found.best, round(found.characteristic.time), round(found.lingape)
    (0, 221, 1000)
    """
    _refuse_items(problem)
    if not 0 < as_float(ridge) <= LARGEST:
        raise InvalidArgument(f"ridge (λ) must be a number above 0; got {ridge!r}.")
    best, delta = gaps(problem, theta)
    time = characteristic_time(problem, theta)
    mixes = _mixes(problem)
    h = _lingape(problem, delta, mixes)
    ratios = [
        mixes[min(best, k), max(best, k)].rho / delta[k] ** 2
        for k in _rivals(problem, best).tolist()
    ]
    return Complexity(
        best=best,
        gaps=delta,
        lingape=h,
        oracle=max(ratios),
        oracle_sum=sum(ratios),
        ugape=ugape_complexity(delta, epsilon=problem.epsilon, reward_range=2.0),
        characteristic=time,
        lower_bound=time.samples(problem.delta) if problem.epsilon == 0 else None,
        theorem_2=theorem_2(problem, h, ridge=ridge),
        theorem_2_large_ridge=theorem_2_large_ridge(problem, h, ridge=ridge),
    )


def lingape_complexity(problem: Problem, theta: npt.ArrayLike) -> float:
    """Return H_ε (13) of a problem, which bounds LinGapE's samples with Tracking.

    H_ε = Σ_k max_{i,j} p*_k(y) ρ(y) / max(ε, (ε + Δ_i)/3, (ε + Δ_j)/3)²,  y = x_i - x_j

    problem: the arms, all of which can be pulled and be the answer.
    theta: θ, a weight for each feature.

    >>> from lingape import Problem
    >>> from lingape.complexity import lingape_complexity
    >>> round(lingape_complexity(Problem([[1, 0], [0, 1]], noise=1.0), [0.5, 0.0]), 3)
    144.0
    """
    _refuse_items(problem)
    return _lingape(problem, gaps(problem, theta)[1], _mixes(problem))


def _refuse_items(problem: Problem) -> None:
    if not problem.plain:
        raise InvalidArgument(
            "The paper's quantities are for arms that can all be pulled and be the answer; this "
            "problem has pullable or answers. characteristic_time takes it."
        )


def ugape_complexity(delta: FloatArray, *, epsilon: float, reward_range: float) -> float:
    """Return UGapE's Σ_k b²/max((Δ_k + ε)/2, ε)² for rewards of range b (Gabillon et al. 2012).

    Infinite with duplicates of the best arm and ε = 0: UGapE does not know that they are equal.

    delta: the gaps Δ, from `gaps`.
    epsilon: ε.
    reward_range: the range b of rewards.

    >>> import numpy as np
    >>> from lingape.complexity import ugape_complexity
    >>> ugape_complexity(np.array([0.5, 0.5]), epsilon=0.0, reward_range=1.0)
    32.0
    """
    scales = np.maximum((delta + epsilon) / 2, epsilon)
    return float(((reward_range / scales) ** 2).sum()) if scales.all() else math.inf


def theorem_2(problem: Problem, h: float, *, ridge: float = 1.0) -> float | None:
    """Return the number of samples that LinGapE exceeds with probability at most δ (16).

    8 H R² log(K²/δ) + C(H, δ), where C = K + 4HR²d log(1 + M²L²/λd) and M bounds √τ. None unless
    S is known and λ ≤ (2R²/S²) log(K²/δ).

    M solves τ ≤ 4HR²√(dL²τ/λ) + N for √τ; the printed M has a stray factor there.

    problem: the arms, with R, S and δ.
    h: H_ε, from `lingape_complexity`.
    ridge: λ.

    >>> from lingape import Problem
    >>> from lingape.complexity import lingape_complexity, theorem_2
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0, norm_bound=1.0)
    >>> round(theorem_2(problem, lingape_complexity(problem, [0.5, 0.0])))
    19712
    """
    k, d = len(problem), problem.rank
    r2, s = problem.noise_scale**2, problem.norm_bound
    log = math.log(k**2 / problem.delta)
    if s is None or ridge * s**2 > 2 * r2 * log:
        return None
    longest = float((problem.arms**2).sum(axis=1).max())  # L²
    n = 8 * h * r2 * log + k
    a = 4 * h * r2 * math.sqrt(d * longest / ridge)
    m = (a + math.hypot(a, 2 * math.sqrt(n))) / 2
    growth = np.logaddexp(0.0, 2 * math.log(m) + math.log(longest / (ridge * d)))
    return n + 4 * h * r2 * d * float(growth)


def theorem_2_large_ridge(problem: Problem, h: float, *, ridge: float) -> float | None:
    """Return 8 H R² log(K²/δ) + 4HλS² + 2K (17), or None unless S is known and λ > 4HR²L².

    problem: the arms, with R, S and δ.
    h: H_ε, from `lingape_complexity`.
    ridge: λ.

    >>> from lingape import Problem
    >>> from lingape.complexity import lingape_complexity, theorem_2_large_ridge
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0, norm_bound=1.0)
    >>> h = lingape_complexity(problem, [0.5, 0.0])
    >>> theorem_2_large_ridge(problem, h, ridge=1.0) is None
    True
    >>> round(theorem_2_large_ridge(problem, h, ridge=1e4))
    5765052
    """
    r2, s = problem.noise_scale**2, problem.norm_bound
    longest = float((problem.arms**2).sum(axis=1).max())
    if s is None or ridge <= 4 * h * r2 * longest:
        return None
    k = len(problem)
    return 8 * h * r2 * math.log(k**2 / problem.delta) + 4 * h * ridge * s**2 + 2 * k


def _mixes(problem: Problem) -> dict[tuple[int, int], Mix]:
    """Solve (11) for every pair of distinct arms."""
    arms = problem.orthonormal
    program = DirectionProgram(arms)
    return {
        (i, j): program.between(i, j)
        for j in range(len(arms))
        for i in range(j)
        if problem.twins[i] != problem.twins[j]
    }


def _lingape(problem: Problem, delta: FloatArray, mixes: dict[tuple[int, int], Mix]) -> float:
    epsilon = problem.epsilon
    worst = np.zeros(len(problem))
    for (i, j), mix in mixes.items():
        scale = max(epsilon, (epsilon + delta[i]) / 3, (epsilon + delta[j]) / 3)
        worst = np.maximum(worst, mix.proportions * mix.rho / scale**2)
    return float(worst.sum())
