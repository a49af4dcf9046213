"""Find the best of many options in the fewest noisy trials, with a guarantee.

Each option (arm) has a feature vector x; a trial pays xᵀθ plus noise; θ is unknown. An explorer is
asked which arm to pull and told what it paid, until it knows which arm is best:

    problem = Problem(arms, noise_scale=1.0, delta=0.05)
    explorer = LinGapE(problem)
    while not explorer.done:
        arm = explorer.ask()
        explorer.tell(arm, measure(arm))
    print(explorer.certificate())
"""

from .bounds import (
    BOUNDS,
    Bound,
    FixedDesign,
    Mixture,
    SelfNormalized,
    Unstructured,
    WorstCase,
)
from .certificate import Certificate
from .environments import (
    ENVIRONMENTS,
    INSTANCES,
    Environment,
    Gaussian,
    Instance,
    Signed,
    canonical,
    outsider,
    shared_doubt,
    soare,
    soare_tied,
    sphere,
)
from .explorers import (
    EXPLORERS,
    Contest,
    Explorer,
    LinGapE,
    LinUGapE,
    UGapE,
    Uniform,
    XYAdaptive,
    XYOracle,
    XYStatic,
)
from .least_squares import LeastSquares
from .problem import Problem
from .pulls import PULLS, PullRule, Tracking, greedy
from .run import Ending, Result, Step, play, run

__version__ = "0.1.0"

__all__ = [
    "BOUNDS",
    "ENVIRONMENTS",
    "EXPLORERS",
    "INSTANCES",
    "PULLS",
    "Bound",
    "Certificate",
    "Contest",
    "Ending",
    "Environment",
    "Explorer",
    "FixedDesign",
    "Gaussian",
    "Instance",
    "LeastSquares",
    "LinGapE",
    "LinUGapE",
    "Mixture",
    "Problem",
    "PullRule",
    "Result",
    "SelfNormalized",
    "Signed",
    "Step",
    "Tracking",
    "UGapE",
    "Uniform",
    "Unstructured",
    "WorstCase",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "canonical",
    "greedy",
    "outsider",
    "play",
    "run",
    "shared_doubt",
    "soare",
    "soare_tied",
    "sphere",
]
