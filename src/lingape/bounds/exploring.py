"""Radii to explore by that bound nothing: rules of thumb for a fixed budget of pulls."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import FloatArray, IntArray
from ..kernels.stage import Stage
from ..least_squares import LeastSquares
from ..problem import Problem
from .base import NormWidths


@dataclass(frozen=True)
class FixedRadius(NormWidths):
    """Intervals √a‖y‖, or √a‖x‖ for single arms."""

    length: float  # √a

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        return self.length

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.bounds.exploring import FixedRadiusKernel

        return FixedRadiusKernel(self.length)


@dataclass(frozen=True)
class BayesRadius:
    """Rβ of BayesGap, from gaps as large as three deviations allow (explorers/bayes_gap.py)."""

    strength: float  # R²β² H_ε

    def radius(self, problem: Problem, estimate: LeastSquares) -> float:
        twins, epsilon = estimate.twins, problem.epsilon
        deviations = 3.0 * problem.noise_scale * np.sqrt(estimate.variances)
        upper, lower = estimate.means + deviations, estimate.means - deviations
        gaps = np.maximum(
            best_of_others(upper, twins) - lower, upper - best_of_others(lower, twins)
        )
        h = float((np.maximum(0.5 * (gaps + epsilon), epsilon) ** -2).sum())  # H_ε
        return math.sqrt(self.strength / h)

    def kernel(self, stage: Stage) -> Any:
        from ..kernels.bounds.exploring import BayesRadiusKernel

        count = len(stage.problem)
        return BayesRadiusKernel(
            self.strength, stage.problem.epsilon, np.zeros(count), np.zeros(count)
        )


def best_of_others(values: FloatArray, twins: IntArray) -> FloatArray:
    """Return for each arm the largest value of an arm that is not the same arm."""
    first = int(values.argmax())
    same = twins == twins[first]
    others: FloatArray = np.where(same, values[~same].max(), values[first])
    return others
