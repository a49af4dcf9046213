"""Named instances: arms and a θ.

Each is a function that returns an Instance; to add one, add its line to INSTANCES.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..checks import as_float, checked_whole
from ..errors import InvalidEnvironment
from ..problem import Problem
from .binary import ZeroOne
from .gaussian import Gaussian
from .signed import Signed

MOST = 1_000_000  # arms or dimensions; more would not fit into memory
MOST_FACTORS = 16  # 2^16 arms
MOST_DEGREE = 50


@dataclass(frozen=True, eq=False)
class Instance:
    """Arms, and the θ that an explorer is not told.

    name: what to call it in tables.
    arms: one row of features per arm.
    theta: θ, a weight for each feature.
    pullable, answers: as for Problem.

    >>> from lingape import soare
    >>> instance = soare(3, angle=0.1)
    >>> instance.name, instance.problem(delta=0.01).delta
    ('soare(3, 0.1)', 0.01)
    >>> instance.gaussian(scale=2.0).means.round(2).tolist()
    [2.0, 0.0, 0.0, 1.99]
    """

    name: str
    arms: FloatArray
    theta: FloatArray
    pullable: tuple[int, ...] | None = None
    answers: tuple[int, ...] | None = None

    def problem(self, **settings: Any) -> Problem:
        """Return the problem as an explorer sees it; settings as for Problem.

        The noise is 1-sub-Gaussian unless given, as it is in simulated worlds unless they are told
        otherwise. S defaults to the length of θ, which only the paper's bounds look at.
        """
        settings.setdefault("noise", 1.0)
        settings.setdefault("norm_bound", float(np.linalg.norm(self.theta)) or None)
        return Problem(self.arms, pullable=self.pullable, answers=self.answers, **settings)

    def gaussian(self, *, scale: float = 1.0) -> Gaussian:
        """Return the world with Gaussian noise, of standard deviation `scale`."""
        return Gaussian(self.arms, self.theta, scale=scale)

    def signed(self) -> Signed:
        """Return the world that pays ±1."""
        return Signed(self.arms, self.theta)

    def zero_one(self) -> ZeroOne:
        """Return the world that pays 0 or 1."""
        return ZeroOne(self.arms, self.theta)


def soare(d: int = 5, angle: float = 0.01) -> Instance:
    """d unit vectors and one at a small angle to the first, which is best (Section 7.1.1).

    Arm 0 is best and arm d barely worse; pulling arm 1 tells them apart fastest.

    d: how many dimensions.
    angle: between arms 0 and d.

    >>> from lingape import soare
    >>> instance = soare(2, angle=0.1)
    >>> instance.arms.round(3).tolist(), instance.theta.tolist()
    ([[1.0, 0.0], [0.0, 1.0], [0.995, 0.1]], [2.0, 0.0])
    """
    _check(d=(d, 2))
    angle = _finite("angle", angle)
    arms = np.vstack([np.eye(d), _at_angle(d, angle)])
    return Instance(f"soare({d}, {angle:g})", arms, 2.0 * np.eye(d)[0])


def soare_tied(d: int = 5, angle: float = 0.01) -> Instance:
    """The arms of `soare` with θ halfway between arms 0 and d: two exactly equal best arms.

    With ε = 0 every answer is wrong: it claims a difference that does not exist.

    d, angle: as for `soare`: how many dimensions, and between arms 0 and d.

    >>> from lingape import soare_tied
    >>> means = soare_tied(2, angle=0.1).gaussian().means
    >>> means.round(3).tolist()
    [1.998, 0.1, 1.998]
    """
    arms = soare(d, angle).arms
    return Instance(f"soare_tied({d}, {angle:g})", arms, 2.0 * _at_angle(d, angle / 2))


def _at_angle(d: int, angle: float) -> FloatArray:
    """Return the unit vector at an angle to the first axis, towards the second."""
    return np.concatenate([[math.cos(angle), math.sin(angle)], np.zeros(d - 2)])


def canonical(d: int = 5, gap: float = 0.5) -> Instance:
    """d unit vectors, the first better than all others by `gap` (Section 7.1.2).

    d: how many arms, and dimensions.
    gap: by how much the first arm is better.

    >>> from lingape import canonical
    >>> canonical(3, gap=0.5).gaussian().means.tolist()
    [0.5, 0.0, 0.0]
    """
    _check(d=(d, 2))
    gap = _finite("gap", gap)
    return Instance(f"canonical({d}, {gap:g})", np.eye(d), np.append(gap, np.zeros(d - 1)))


def sphere(arms: int = 50, d: int = 10, seed: int = 0) -> Instance:
    """Arms and θ drawn uniformly from the unit sphere.

    arms: how many.
    d: how many dimensions.
    seed: of the draws.

    >>> import numpy as np
    >>> from lingape import sphere
    >>> instance = sphere(50, d=10, seed=1)
    >>> instance.arms.shape, round(float(np.linalg.norm(instance.theta)), 6)
    ((50, 10), 1.0)
    """
    _check(arms=(arms, 2), d=(d, 1), seed=(seed, 0))
    points = _on_sphere(arms + 1, d, seed)
    return Instance(f"sphere({arms}, {d}, {seed})", points[:-1], points[-1])


def outsider() -> Instance:
    """Three arms of which the worst is the most useful to pull (Section 1).

    Arms 0 and 1 differ by 0.01 in the second feature alone, which arm 2 measures.

    >>> from lingape import outsider
    >>> outsider().gaussian().means.round(4).tolist()
    [2.0, 2.0001, 0.01]
    """
    arms = np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]])
    return Instance("outsider", arms, np.array([2.0, 0.01]))


def shared_doubt() -> Instance:
    """Three arms of which two share what is uncertain (Section 5.2).

    While the second feature's weight is uncertain, arms 0 and 1 rise and fall together: the open
    question is about arm 2, although arm 1 looks better and has the longer interval.

    >>> from lingape import shared_doubt
    >>> instance = shared_doubt()
    >>> instance.arms.tolist(), instance.gaussian().means.tolist()
    ([[-10.0, 10.0], [-9.0, 10.0], [-1.0, 0.0]], [10.0, 9.0, 1.0])
    """
    arms = np.array([[-10.0, 10.0], [-9.0, 10.0], [-1.0, 0.0]])
    return Instance("shared_doubt", arms, np.array([-1.0, 0.0]))


def sparse(arms: int = 60, d: int = 20, support: int = 2, seed: int = 0) -> Instance:
    """Arms of length √support with few features each, out of many, and a Gaussian θ.

    arms: how many.
    d: how many features there are.
    support: how many of them an arm has.
    seed: of the draws.

    >>> import numpy as np
    >>> from lingape import sparse
    >>> instance = sparse(60, d=20, support=2)
    >>> np.abs(instance.arms).sum(axis=1)[:4].tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    _check(arms=(arms, 2), d=(d, 1), seed=(seed, 0))
    checked_whole("support", support, least=1, most=d, error=InvalidEnvironment)
    rng = np.random.default_rng(seed)
    x = np.zeros((arms, d))
    for k in range(arms):
        x[k, rng.choice(d, size=support, replace=False)] = rng.choice([-1.0, 1.0], size=support)
    theta = rng.standard_normal(d) / math.sqrt(support)
    return Instance(f"sparse({arms}, {d}, {support}, {seed})", x, theta)


def items(d: int = 5, count: int = 30, seed: int = 0) -> Instance:
    """d unit vectors to pull, and random items of length 1 to choose among (Fiez et al. 2019).

    d: how many dimensions.
    count: how many items.
    seed: of the draws.

    >>> from lingape import items
    >>> problem = items(d=5, count=30).problem()
    >>> len(problem), problem.pullable, len(problem.answers)
    (35, (0, 1, 2, 3, 4), 30)
    """
    _check(d=(d, 2), count=(count, 2), seed=(seed, 0))
    points = _on_sphere(count + 1, d, seed)
    return Instance(
        f"items({d}, {count}, {seed})",
        np.vstack([np.eye(d), points[:-1]]),
        points[-1],
        pullable=tuple(range(d)),
        answers=tuple(range(d, d + count)),
    )


def factorial(base: float = 0.04, *effects: Sequence[float]) -> Instance:
    """All combinations of the levels of several factors, whose effects add up.

    An arm is a constant and an indicator for each level but the first of each factor.

    base: the mean where every factor is at its first level.
    effects: a list for each factor: how much each further level adds. Without any, those of
        an experiment with three factors of three levels, whose means run from 4 % to 10.5 %
        and whose best arm leads by 1 %.

    >>> from lingape import factorial
    >>> factorial(0.02, [0.01], [0.01]).gaussian().means
    array([0.02, 0.03, 0.03, 0.04])
    """
    base = _finite("base", base)
    factors = effects or ((0.01, 0.02), (0.01, 0.02), (0.01, 0.025))
    added = [_effects(levels) for levels in factors]
    count = math.prod(1 + len(levels) for levels in added)
    checked_whole("The number of arms", count, least=2, most=MOST, error=InvalidEnvironment)
    # A level's row of indicators: none for the first.
    coded = [np.vstack([np.zeros(len(levels)), np.eye(len(levels))]) for levels in added]
    arms = np.array([np.concatenate([[1.0], *rows]) for rows in product(*coded)])
    told = ", ".join(f"[{', '.join(f'{effect:g}' for effect in levels)}]" for levels in added)
    return Instance(f"factorial({base:g}, {told})", arms, np.concatenate([[base], *added]))


def _effects(levels: Sequence[float]) -> FloatArray:
    if not isinstance(levels, Sequence | np.ndarray) or isinstance(levels, str):
        raise InvalidEnvironment(
            f"The effects of a factor must be a list such as [0.01, 0.02]; got {levels!r}."
        )
    if not len(levels):
        raise InvalidEnvironment("A factor must have an effect, of its second level; got none.")
    return np.array([_finite("An effect", effect) for effect in levels])


def polynomial(points: int = 9, degree: int = 3, seed: int = 0) -> Instance:
    """Evenly spaced points from -1 to 1, and a random polynomial that pays at them.

    Features are Legendre polynomials of mean square 1, and θ is drawn uniformly from the unit
    sphere. Near the top neighbours are nearly as good.

    points: how many.
    degree: of the polynomial.
    seed: of the draw of θ.

    >>> from lingape import polynomial
    >>> instance = polynomial(points=5, degree=1)
    >>> instance.arms.round(3).tolist()
    [[1.0, -1.732], [1.0, -0.866], [1.0, 0.0], [1.0, 0.866], [1.0, 1.732]]
    """
    checked_whole("degree", degree, least=1, most=MOST_DEGREE, error=InvalidEnvironment)
    _check(points=(points, degree + 1), seed=(seed, 0))
    x = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, points), degree)
    arms = x * np.sqrt(2.0 * np.arange(degree + 1) + 1.0)
    theta = _on_sphere(1, degree + 1, seed)[0]
    return Instance(f"polynomial({points}, {degree}, {seed})", arms, theta)


def hypercube(d: int = 5, seed: int = 0) -> Instance:
    """A constant and all 2^d choices of d signs, with θ drawn uniformly from the unit sphere.

    d: how many signs.
    seed: of the draw of θ.

    >>> from lingape import hypercube
    >>> hypercube(2).arms.tolist()
    [[1.0, -1.0, -1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0]]
    """
    checked_whole("d", d, least=1, most=MOST_FACTORS, error=InvalidEnvironment)
    _check(seed=(seed, 0))
    arms = np.array([(1.0, *signs) for signs in product((-1.0, 1.0), repeat=d)])
    return Instance(f"hypercube({d}, {seed})", arms, _on_sphere(1, d + 1, seed)[0])


#: Functions that make instances by name, as in `soare(5, 0.01)`.
INSTANCES: dict[str, Callable[..., Instance]] = {
    "soare": soare,
    "soare_tied": soare_tied,
    "canonical": canonical,
    "sphere": sphere,
    "sparse": sparse,
    "items": items,
    "factorial": factorial,
    "polynomial": polynomial,
    "hypercube": hypercube,
    "outsider": outsider,
    "shared_doubt": shared_doubt,
}


def _check(**values: tuple[int, int]) -> None:
    """Raise unless each is a whole number, not below the one beside it."""
    for name, (value, least) in values.items():
        checked_whole(name, value, least=least, most=MOST - 1, error=InvalidEnvironment)


def _on_sphere(count: int, d: int, seed: int) -> FloatArray:
    """Return points drawn uniformly from the unit sphere."""
    points = np.random.default_rng(seed).standard_normal((count, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points


def _finite(name: str, value: float) -> float:
    number = as_float(value)
    if not math.isfinite(number):
        raise InvalidEnvironment(f"{name} must be a finite number; got {value!r}.")
    return number
