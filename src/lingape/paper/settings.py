"""The settings of the paper's experiments (Section 7.1), as its authors ran them."""

from ..bounds import SelfNormalized
from ..environments import Instance
from ..explorers import LinGapE
from ..problem import Problem
from ..pulls import PullRule, greedy

NORM_BOUND = 2.0  # S; not given in the text, hard-coded by the authors
RIDGE = 1.0  # λ
BOUND = SelfNormalized(comparisons="K^2")  # the appendix's and the authors' reading of (3)


def synthetic_problem(instance: Instance) -> Problem:
    """Return the problem as posed in the synthetic experiments: R = 1, S = 2, ε = 0, δ = 0.05."""
    return instance.problem(norm_bound=NORM_BOUND, noise_scale=1.0, epsilon=0.0, delta=0.05)


def paper_lingape(problem: Problem, *, pull: PullRule = greedy) -> LinGapE:
    """Return LinGapE as in the paper."""
    return LinGapE(problem, bound=BOUND, pull=pull, ridge=RIDGE)
