"""The best mix of arms for estimating one direction: the linear program of the paper's (11).

    min Σ|w_k|  subject to  Σ w_k x_k = y

The optimal proportions are p_k = |w_k| / Σ|w| (10), and n pulls spent so estimate yᵀθ with
variance ρ/n, ρ = (Σ|w|)² (the paper's (15) drops the square).
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..errors import DesignFailed

NEGLIGIBLE = 1e-9  # a weight below this share of Σ|w| is solver noise
# Equally good mixes are common (on random arms, often). Arm k costs 1 + PREFERENCE·√((k+1)/K)
# instead of 1: too little to matter, enough to make earlier arms win, on every machine alike.
PREFERENCE = 1e-7


class Mix(NamedTuple):
    weights: FloatArray  # w*, signed, at most d of them not 0
    proportions: FloatArray  # p*, summing to 1
    rho: float  # (Σ|w*|)²


class DirectionProgram:
    """Solve the linear program for one set of arms and many directions.

    One model is kept and only its right-hand side moves, so that each solve starts from the last
    optimal basis. The answer does not depend on where it started: the optimum is unique.
    """

    def __init__(self, features: FloatArray) -> None:
        self._features = features
        self._model = _model(features)

    def solve(self, direction: FloatArray) -> Mix:
        """Return the optimal mix for `direction`, which must lie in the span of the arms."""
        import highspy

        features = self._features
        count, d = features.shape
        length = float(np.linalg.norm(direction))
        if length == 0:
            return Mix(np.zeros(count), np.zeros(count), 0.0)
        target = direction / length  # the solver's tolerances are absolute
        self._model.changeRowsBounds(d, np.arange(d, dtype=np.int32), target, target)
        self._model.run()
        status = self._model.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise DesignFailed(
                "The linear program for a direction ended as "
                f"{self._model.modelStatusToString(status)}, not optimal. The "
                "direction has to be a combination of the arms' features."
            )
        columns = np.array(self._model.getSolution().col_value)
        weights = _polished(features, target, columns[:count] - columns[count:]) * length
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
    exact = np.linalg.lstsq(features[support].T, target, rcond=None)[0]
    weights = np.zeros(len(features))
    weights[support] = exact
    if np.abs(features.T @ weights - target).max() > 1e-7:
        raise DesignFailed(
            "The direction is not a combination of the arms' features (residual "
            f"{np.abs(features.T @ weights - target).max():.1e} of its length). "
            "Use a difference of arms."
        )
    return weights


def _model(features: FloatArray) -> Any:
    import highspy

    count, d = features.shape
    cost = 1.0 + PREFERENCE * np.sqrt(np.arange(1, count + 1) / count)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 2 * count, d  # w = w⁺ - w⁻
    lp.col_cost_ = np.concatenate([cost, cost])
    lp.col_lower_, lp.col_upper_ = np.zeros(2 * count), np.full(2 * count, highspy.kHighsInf)
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
