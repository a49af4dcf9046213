"""The settings of the paper's experiments (Section 7), as its authors ran them."""

from functools import partial
from typing import Any

from ..bounds import FixedDesign, Mixture, SelfNormalized
from ..environments import Instance
from ..explorers import LinGapE, XYAdaptive, XYOracle, XYStatic
from ..problem import Problem
from ..pulls import Tracking

NORM_BOUND = 2.0  # S; not given in the text, hard-coded by the authors
RIDGE = 1.0  # λ
BOUND = SelfNormalized(comparisons="K^2")  # the appendix's and the authors' reading of (3)
PRINTED = FixedDesign("printed", comparisons="K^2")  # Proposition 1 in the authors' code
ORACLE = FixedDesign("printed", comparisons="K")  # and in that of their oracle

SYNTHETIC: dict[str, Any] = {
    "noise": 1.0,
    "norm_bound": NORM_BOUND,
    "epsilon": 0.0,
    "delta": 0.05,
}

#: LinGapE with the bound and the ridge of the paper, for a problem.
lingape = partial(LinGapE, bound=BOUND, ridge=RIDGE)
#: LinGapE with the bound and the ridge of the paper and the rule that tracks proportions, (12).
lingape_tracking = partial(LinGapE, bound=BOUND, ridge=RIDGE, pull=Tracking())
#: XY-static with the bound of the authors' code.
xy_static = partial(XYStatic, bound=PRINTED)
#: XY-adaptive with the bound of the authors' code; discarded arms may come back.
xy_adaptive = partial(XYAdaptive, bound=PRINTED, monotone=False)
#: XY-oracle with the bound and the ridge of the authors' code.
xy_oracle = partial(XYOracle, bound=ORACLE, ridge=RIDGE)

# With bounds that are correct, for comparison.
#: LinGapE with a tight bound.
lingape_tight = partial(LinGapE, bound=Mixture())
#: XY-oracle with the right constants.
xy_oracle_corrected = partial(XYOracle, bound=FixedDesign(comparisons="K"))


def synthetic_problem(instance: Instance) -> Problem:
    """Return the problem as posed in the synthetic experiments: R = 1, S = 2, ε = 0, δ = 0.05.

    >>> from lingape import soare
    >>> from lingape.paper import synthetic_problem
    >>> problem = synthetic_problem(soare(5, 0.01))
    >>> problem.noise.scale, problem.norm_bound, problem.epsilon, problem.delta
    (1.0, 2.0, 0.0, 0.05)
    """
    return instance.problem(**SYNTHETIC)
