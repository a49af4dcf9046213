"""What simulated worlds have in common. θ is known here and nowhere else."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..arrays import FloatArray
from ..errors import InvalidEnvironment


class Environment(Protocol):
    """Pays a random reward for a pull.

    It may also have a `reward_range`, the least and the most that it pays, so that a problem which
    rules out such rewards is refused before the first pull.

    >>> import numpy as np
    >>> from lingape import Problem, Race, play
    >>> class Coins:
    ...     means = np.array([0.4, 0.6])
    ...     reward_range = 0.0, 1.0
    ...     def pull(self, arm, rng):
    ...         return float(rng.random() < self.means[arm])
    >>> problem = Problem([[1, 0], [0, 1]], noise="binary", epsilon=0.1)
    >>> steps = list(play(Race(problem), Coins(), max_pulls=50))
    >>> len(steps), {step.reward for step in steps} <= {0.0, 1.0}
    (50, True)
    """

    @property
    def means(self) -> FloatArray:
        """The mean reward of each arm."""
        ...

    def pull(self, arm: int, rng: np.random.Generator) -> float:
        """Return one reward of `arm`; all randomness comes from `rng`."""
        ...


class World:
    """Arms, θ and the means that follow from them; subclasses add the noise."""

    def __init__(self, arms: npt.ArrayLike, theta: npt.ArrayLike) -> None:
        try:
            self.arms: FloatArray = np.array(arms, dtype=np.float64)
            self.theta: FloatArray = np.array(theta, dtype=np.float64)
        except (TypeError, ValueError) as reason:
            raise InvalidEnvironment(f"arms and θ must be numbers: {reason}.") from reason
        if self.arms.ndim != 2:
            raise InvalidEnvironment(f"arms must have shape (K, d); got {self.arms.shape}.")
        if self.theta.shape != self.arms.shape[1:]:
            raise InvalidEnvironment(
                f"theta (θ) must be {self.arms.shape[1]} numbers, one per feature; got "
                f"{self.theta.tolist()}."
            )
        if not (np.isfinite(self.arms).all() and np.isfinite(self.theta).all()):
            raise InvalidEnvironment(
                f"arms and θ must be finite; θ is {self.theta.tolist()}. Drop missing values."
            )
        self.means: FloatArray = self.arms @ self.theta
