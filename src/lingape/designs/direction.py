"""The best mix of arms for estimating one direction: the linear program of the paper's (11).

    min Σ|w_k|  subject to  Σ w_k x_k = y

The optimal proportions are p_k = |w_k| / Σ|w| (10), and n pulls spent so estimate yᵀθ with
variance ρ/n, ρ = (Σ|w|)² (the paper's (15) drops the square).
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import DesignFailed

NEGLIGIBLE = 1e-9  # a weight below this share of Σ|w| is solver noise
# Equally good mixes are common (on random arms, often). Arm k costs 1 + PREFERENCE·ξ_k instead of
# 1, with ξ_k the fractional part of kφ: too little to matter, far above the solver's tolerance,
# and without whole-number relations, so that the same mix wins wherever it is solved.
PREFERENCE = 1e-6
GOLDEN = 0.6180339887498949


class Mix(NamedTuple):
    """The mix of arms that estimates one direction best."""

    weights: FloatArray  # w*, signed, at most d of them not 0
    proportions: FloatArray  # p*, summing to 1
    rho: float  # (Σ|w*|)²


class DirectionProgram:
    """Solve the linear program for one set of arms and many directions.

    One model is kept and only its right-hand side moves, so that each solve starts from the last
    optimal basis. Where it starts does not matter: ties are broken by the costs.
    """

    def __init__(self, features: FloatArray) -> None:
        # Weights are the same in any basis; an orthonormal one suits the solver's tolerances.
        size = np.abs(features).max(axis=0)
        self._scale = np.where(size > 0, size, 1.0)
        left, values, right = np.linalg.svd(features / self._scale, full_matrices=False)
        rank = int((values > values[0] * max(features.shape) * np.finfo(float).eps).sum())
        self._basis = np.ascontiguousarray(left[:, :rank])
        self._values, self._right = values[:rank], right[:rank]
        _, first = np.unique(features, axis=0, return_index=True)
        self._model = _model(self._basis, first)

    def solve(self, direction: FloatArray) -> Mix:
        """Return the optimal mix for `direction`, which must lie in the span of the arms."""
        import highspy

        count, rank = self._basis.shape
        if direction.shape != self._scale.shape or not np.isfinite(direction).all():
            raise DesignFailed(
                f"A direction must be {len(self._scale)} finite numbers; got {direction!r}."
            )
        scaled = direction / self._scale
        inside = self._right @ scaled
        outside = float(np.abs(scaled - inside @ self._right).max())
        if outside > 1e-7 * float(np.abs(scaled).max()):
            raise DesignFailed(
                "The direction is not a combination of the arms' features (it is off by "
                f"{outside:.1e}). Use a difference of arms."
            )
        target = inside / self._values
        length = float(np.linalg.norm(target))
        if length == 0:
            return Mix(np.zeros(count), np.zeros(count), 0.0)
        target = target / length  # the solver's tolerances are absolute
        self._model.changeRowsBounds(rank, np.arange(rank, dtype=np.int32), target, target)
        self._model.run()
        status = self._model.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise DesignFailed(
                "The linear program for a direction ended as "
                f"{self._model.modelStatusToString(status)}, not optimal. Features that differ "
                "less in size may help."
            )
        columns = np.array(self._model.getSolution().col_value)
        weights = _polished(self._basis, target, columns[:count] - columns[count:]) * length
        total = float(np.abs(weights).sum())
        return Mix(weights, np.abs(weights) / total, total**2)


def direction(arms: FloatArray, y: FloatArray) -> Mix:
    """Return w*, p* and ρ for estimating yᵀθ with pulls of `arms`.

    >>> direction(np.eye(3), np.array([1.0, -1.0, 0.0])).rho  # two arms of a plain bandit
    4.0
    """
    return DirectionProgram(np.asarray(arms, dtype=np.float64)).solve(
        np.asarray(y, dtype=np.float64)
    )


def _polished(features: FloatArray, target: FloatArray, weights: FloatArray) -> FloatArray:
    """Drop solver noise and solve again on the support alone, to full precision."""
    support = np.flatnonzero(np.abs(weights) > NEGLIGIBLE * np.abs(weights).sum())
    polished = np.zeros(len(features))
    polished[support] = np.linalg.lstsq(features[support].T, target, rcond=None)[0]
    return polished


def _model(features: FloatArray, distinct: IntArray) -> Any:
    import highspy

    count, d = features.shape
    cost = 1.0 + PREFERENCE * (GOLDEN * np.arange(1, count + 1) % 1.0)
    limit = np.zeros(count)
    limit[distinct] = highspy.kHighsInf  # of duplicates, only the first is used
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 2 * count, d  # w = w⁺ - w⁻
    lp.col_cost_ = np.concatenate([cost, cost])
    lp.col_lower_, lp.col_upper_ = np.zeros(2 * count), np.concatenate([limit, limit])
    lp.row_lower_ = lp.row_upper_ = np.zeros(d)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(2 * count + 1, dtype=np.int32) * d
    lp.a_matrix_.index_ = np.tile(np.arange(d, dtype=np.int32), 2 * count)
    lp.a_matrix_.value_ = np.concatenate([features, -features]).ravel()

    model = highspy.Highs()
    for option, value in {
        "output_flag": False,
        "solver": "simplex",  # a vertex: at most d arms
        "presolve": "off",  # it would discard the basis that the next solve starts from
        "threads": 1,
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
    }.items():
        model.setOptionValue(option, value)
    model.passModel(lp)
    return model
