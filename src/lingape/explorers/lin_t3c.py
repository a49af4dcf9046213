"""LinT3C: draw a leader from what the data leave possible, and pull against its closest rival.

The linear version of top-two sampling with the "transportation cost" challenger of Shang, de
Heide, Ménard, Kaufmann and Valko (AISTATS 2020), as in Shang's LinBAI.jl, where it is called
L-T3C. The leader is the best arm under a draw θ̃ ~ N(θ̂, R²V⁻¹). Its challenger is the arm that
takes least evidence to overtake it, least by the generalised likelihood ratio
((x_i - x_j)ᵀθ̂ + ε)²/(2R²‖x_i - x_j‖²). The pull is the one that shrinks their gap's variance
most (LinGapE's greedy rule), not one of the two at random.

Where this departs from the paper:

- θ̃ is the estimate from rewards with noise added: the rewards of an arm that was pulled T times
  gain R√T times a standard normal number in sum. That has exactly the covariance R²V⁻¹, and
  does not depend on the basis of the features, as a root of V⁻¹ would. (Around a ridge estimate
  the covariance is R²A⁻¹VA⁻¹, a little less than R²A⁻¹.)
- A drawn leader is often not the best-looking arm, and all arms that look better have ratio 0. The
  paper draws one of these; here it is the one furthest ahead, in standard deviations.
"""

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound, Mixture
from ..draws import normal
from ..kernels.memory import LIN_T3C, new_memory
from ..least_squares import LeastSquares
from ..problem import Problem
from ..pulls import greedy
from ..ties import LEADER, RIVAL, first_max
from .sampler import SamplerExplorer
from .skeleton import Contest, Elimination
from .starting import Start


class LinT3C(SamplerExplorer):
    """Pull for the contest between a drawn leader and the arm that overtakes it most easily.

    bound: decides when to stop.
    ridge: λ of the estimate, for bounds around a ridge estimate.
    start: "each" pulls every arm once first; "spanning" only as many as there are dimensions.
    elimination: as for LinGapE; draws do not heed it, so that "sample" is the same as "stop".
    seed: of the draws.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        bound: Bound = Mixture(),
        ridge: float | None = None,
        start: Start = "each",
        elimination: Elimination = "none",
        seed: int = 0,
    ) -> None:
        super().__init__(
            problem, bound=bound, ridge=ridge, start=start, elimination=elimination, seed=seed
        )
        self.memory = new_memory(LIN_T3C, seed=self.seed)  # nothing is kept beside the estimate

    def _choose(self, estimate: LeastSquares, contest: Contest) -> int:
        drawn = self._drawn(estimate)
        top = float(drawn.max())
        leader = first_max(drawn, LEADER * (self.problem.noise_scale + abs(top)))
        return greedy(estimate, leader, self._challenger(estimate, leader))

    def _drawn(self, estimate: LeastSquares) -> FloatArray:
        """Return the means under θ̃ ~ N(θ̂, R²V⁻¹)."""
        counts, x = estimate.counts, estimate.features
        numbers = [
            normal(self.seed, estimate.pulls, k) if counts[k] else 0.0 for k in range(len(x))
        ]
        noise = self.problem.noise_scale * np.sqrt(counts) * numbers
        drawn: FloatArray = estimate.means + x @ (estimate.inverse @ (x.T @ noise))
        return drawn

    def _challenger(self, estimate: LeastSquares, leader: int) -> int:
        """Return the arm that is least far behind the leader, in standard deviations."""
        problem, x = self.problem, estimate.features
        rivals = np.flatnonzero(estimate.twins != estimate.twins[leader])
        # Not by estimate.contrasts, which remembers what it was asked: asking changes nothing.
        y = x[rivals] - x[leader]
        lengths = np.sqrt(np.einsum("kd,de,ke->k", y, estimate.inverse, y, optimize=True))
        deviations = np.full(len(x), np.inf)
        ahead = estimate.means[leader] - estimate.means[rivals] + problem.epsilon
        deviations[rivals] = ahead / lengths
        least = float(deviations.min())
        return first_max(-deviations, RIVAL * (problem.noise_scale + abs(least)))
