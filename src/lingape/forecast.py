"""Before any pull: what will it cost? Stopping times under plausible θ."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import FloatArray
from .checks import LARGEST, SMALLEST, as_float
from .environments import Instance
from .errors import InvalidArgument
from .factors import Factor
from .noise import Binary, Bounded
from .problem import Problem
from .study import Builder, Row, Study

LEVELS = (0.1, 0.5, 0.9)
TRIES = 1_000  # draws of θ for each that is used
MOST_FEATURES = 64  # of a model that is compared; runs with more take a second or more each
INSIDE = 1e-9  # of a range: how far means stay from its ends, for rounding
FITTED = 1e-6  # of the largest mean: what a model may miss, for rounding


@dataclass(frozen=True)
class Cost:
    """How many pulls an explorer will take, if θ is as assumed.

    explorer: which one it is.
    quantiles: pulls by probability: so many are enough in 10, 50 and 90 % of cases; infinite
        beyond the limit.
    mean: of the pulls; None if some run was stopped at the limit.
    settled: the share of runs that ended within the limit.
    wrong: the share that ended on a wrong arm.

    >>> from lingape.forecast import Cost
    >>> cost = Cost("race", {0.1: 100, 0.5: 200, 0.9: 400}, mean=230.0, settled=1.0, wrong=0.0)
    >>> cost.quantiles[0.5]
    200
    """

    explorer: str
    quantiles: dict[float, float]
    mean: float | None
    settled: float
    wrong: float


@dataclass(frozen=True, eq=False)
class Forecast:
    """Stopping times of explorers under draws of θ.

    rows: the runs.
    max_pulls: where they were stopped.

    >>> from lingape import Row
    >>> from lingape.forecast import Forecast
    >>> row = Row("race", "draw 0", 0, 0, True, 120, (70, 50), "settled", 0.01)
    >>> (cost,) = Forecast([row], max_pulls=1000).costs()
    >>> cost.explorer, cost.mean, cost.settled
    ('race', 120.0, 1.0)
    """

    rows: list[Row]
    max_pulls: int

    def costs(self) -> list[Cost]:
        """Return what to expect of each explorer."""
        return [self._cost(explorer, pulls) for explorer, pulls in self.samples().items()]

    def samples(self) -> dict[str, list[float]]:
        """Return the pulls of every run by explorer, infinite where the limit ended it."""
        found: dict[str, list[float]] = {}
        for row in self.rows:
            found.setdefault(row.explorer, []).append(row.pulls if row.finished else math.inf)
        return found

    def _cost(self, explorer: str, pulls: list[float]) -> Cost:
        ordered = sorted(pulls)
        runs = [row for row in self.rows if row.explorer == explorer]
        return Cost(
            explorer=explorer,
            # The smallest number of pulls within which at least this share of the runs ended.
            quantiles={p: ordered[math.ceil(p * len(ordered)) - 1] for p in LEVELS},
            mean=sum(pulls) / len(pulls) if math.isfinite(ordered[-1]) else None,
            settled=sum(map(math.isfinite, pulls)) / len(pulls),
            wrong=sum(row.finished and not row.correct for row in runs) / len(runs),
        )


def from_prior(
    problem: Problem,
    *,
    prior_scale: float,
    draws: int,
    seed: int = 0,
    rate: float | None = None,
) -> list[Instance]:
    """Return instances whose θ are drawn from a Gaussian prior with this standard deviation.

    problem: the arms, and what rewards are like.
    draws: how many instances.
    seed: of the draws.
    prior_scale: of each weight; where arms are combinations of factors, of the effect of each
        level. A reasonable guess is half the size that would surprise you.
    rate: see from_gap.

    >>> from lingape import Problem
    >>> from lingape.forecast import from_prior
    >>> instances = from_prior(Problem([[1, 0], [0, 1]], noise=1.0), prior_scale=0.5, draws=3)
    >>> [instance.name for instance in instances]
    ['draw 0', 'draw 1', 'draw 2']
    """
    size, problem = _positive("prior_scale", prior_scale), problem.anew()
    space, rng = _space(problem), np.random.default_rng(seed)

    def draw() -> FloatArray:
        theta: FloatArray = size * rng.standard_normal((space.shape[1],))
        return theta

    return _drawn(problem, space, draw, draws, rate, f"prior_scale={size:g}")


def from_gap(
    problem: Problem, *, gap: float, draws: int, seed: int = 0, rate: float | None = None
) -> list[Instance]:
    """Return instances whose best arm leads by `gap`, the smallest lead that matters.

    θ has a random direction and the length that gives this gap: the hardest cases that
    matter. Duplicates of the best arm do not count as the next. Where arms are combinations of
    factors, their effects just add up, so that every model of the factors is right.

    problem: the arms, and what rewards are like.
    gap: by how much the best arm is better than the next.
    draws: how many instances.
    seed: of the draws.
    rate: for rewards in a range, the average of all arms' means, in the middle unless given, where
        rewards can scatter most. θ is moved accordingly, and drawn again where means lie outside
        of the range.

    >>> from lingape import Problem
    >>> from lingape.forecast import from_gap
    >>> problem = Problem([[1, 0], [0, 1]], noise="binary")
    >>> (instance,) = from_gap(problem, gap=0.1, draws=1, rate=0.3)
    >>> sorted((instance.arms @ instance.theta).round(6).tolist())
    [0.25, 0.35]
    """
    size, problem = _positive("gap", gap), problem.anew()
    answers = problem.can_answer
    if len(np.unique(problem.twins[answers])) < 2:
        raise InvalidArgument("There must be two different arms for a gap between them.")
    space, rng = _space(problem), np.random.default_rng(seed)

    def draw() -> FloatArray | None:
        theta: FloatArray = rng.standard_normal((space.shape[1],))
        gains = problem.gain(1.0) * (space @ theta)
        best = int(np.where(answers, gains, -np.inf).argmax())
        others = answers & (problem.twins != problem.twins[best])
        least = float(gains[best] - gains[others].max())
        return theta * (size / least) if least > 1e-12 * float(np.abs(gains).max()) else None

    return _drawn(problem, space, draw, draws, rate, f"gap={size:g}")


def models(problem: Problem) -> dict[str, Problem]:
    """Return the problem with each model that its factors allow, by what to call it.

    These are main effects, with interactions (those of the problem, or of all pairs if it has
    none), and one feature per arm. Models that come to the same are one; those with more than
    64 features are left out, as they take long to simulate.

    >>> from lingape import Factors, Problem
    >>> from lingape.forecast import models
    >>> factors = Factors(tone=["warm", "dry"], length=["short", "long"])
    >>> {name: other.rank for name, other in models(Problem(factors, noise=1.0)).items()}
    {'main effects': 3, 'with all pairs or one feature per arm': 4}
    """
    problem = problem.anew()
    factors = problem.factors
    if factors is None:
        return {}
    everything = factors.model(interactions="all").interactions
    pairs = factors.interactions or everything
    shown = "all pairs" if pairs == everything else ", ".join(":".join(pair) for pair in pairs)
    found: dict[int, tuple[str, Problem]] = {}
    for name, settings in (
        ("main effects", {}),
        (f"with {shown}", {"interactions": pairs}),
        ("one feature per arm", {"per_arm": True}),
    ):
        model = factors.model(**settings)
        if min(len(model), len(model.columns)) <= MOST_FEATURES:
            other = problem.replace(arms=model.features, factors=model)
            # Each can do what those before it can, so that equally many features are the same.
            before = found.get(other.rank)
            found[other.rank] = (f"{before[0]} or {name}", before[1]) if before else (name, other)
    return dict(found.values())


def forecast(
    problem: Problem,
    explorers: Mapping[str, Builder] | Iterable[Builder],
    instances: list[Instance],
    *,
    max_pulls: int,
    noise_scale: float = 1.0,
    jobs: int = -1,
    progress: Any = None,
) -> Forecast:
    """Simulate the explorers once on each instance.

    Rewards in a range lie at its two ends, where they scatter most; others have Gaussian noise on
    the problem's scale.

    problem: the arms, and what rewards are like.
    explorers: as for Study.
    max_pulls: where runs are stopped.
    jobs, progress: as for `Study.run`.
    instances: of the problem's arms that are not retired, perhaps with other features that give
        the same means.
    noise_scale: that of the simulation, where the problem leaves it open.

    >>> from lingape import LinGapE, Problem
    >>> from lingape.forecast import forecast, from_gap
    >>> def less_pulled(estimate, leader, rival):
    ...     return leader if estimate.counts[leader] < estimate.counts[rival] else rival
    >>> explorers = {"less pulled": lambda problem: LinGapE(problem, pull=less_pulled)}
    >>> problem = Problem([[1, 0], [0, 1]], noise=1.0)
    >>> instances = from_gap(problem, gap=2.0, draws=3)
    >>> (cost,) = forecast(problem, explorers, instances, max_pulls=10_000, jobs=1).costs()
    >>> cost.explorer, cost.settled
    ('less pulled', 1.0)
    """
    problem = problem.anew()
    # An equivalent problem is played, in which more is better, and the unit is the standard
    # deviation if explorers are not told it, or the range.
    noise, low, unit = problem.gain_noise, 0.0, 1.0
    if isinstance(noise, Bounded):
        low, unit = noise.low, noise.high - noise.low
        noise = noise if isinstance(noise, Binary) else Bounded(0.0, 1.0)
    elif noise.scale is None:
        unit = _positive("noise_scale", noise_scale)
    settings = {"noise": noise, "epsilon": problem.epsilon / unit, "delta": problem.delta}
    if problem.norm_bound is not None and low == 0:
        settings["norm_bound"] = problem.norm_bound / unit
    study = Study(
        explorers,
        [_restated(problem, instance, low, unit) for instance in instances],
        seeds=1,
        max_pulls=max_pulls,
        world="zero_one" if isinstance(noise, Bounded) else "gaussian",
        problem=settings,
    )
    return Forecast(study.run(jobs=jobs, progress=progress).rows, max_pulls)


def _restated(problem: Problem, instance: Instance, low: float, unit: float) -> Instance:
    """Return an instance whose means are gains in other units, from `low`, with our features."""
    sign = problem.gain(1.0)
    theta: FloatArray | None
    if len(instance.arms) != len(problem):
        theta = None
    elif low == 0 and np.array_equal(instance.arms, problem.arms):
        theta = sign * instance.theta / unit
    else:
        theta = _fitted(problem.arms, (sign * (instance.arms @ instance.theta) - low) / unit)
    if theta is None:
        raise InvalidArgument(
            f"The means of {instance.name} must be weighted sums of the problem's features; they "
            "are not. Draw instances for this problem."
        )
    return Instance(instance.name, problem.arms, theta, problem.pullable, problem.answers)


def _space(problem: Problem) -> FloatArray:
    """Return the features whose weights are drawn: without factors the problem's own.

    For factors they are a constant and one for each level, so that it does not matter how these
    are coded; the values of numbers are standardised, so that all factors matter alike.
    """
    factors = problem.factors
    if factors is None:
        return problem.arms
    parts = [_levels(factor)[factors.rows[:, i]] for i, factor in enumerate(factors.factors)]
    return np.hstack([np.ones((len(factors), 1)), *parts])


def _levels(factor: Factor) -> FloatArray:
    """Return a feature for each level, or one of mean 0 and variance 1 for a number."""
    if not factor.number:
        return np.eye(len(factor.levels))
    values = np.array(factor.levels, dtype=np.float64)[:, None]
    return np.asarray((values - values.mean()) / (values.std() or 1.0))


def _drawn(
    problem: Problem,
    space: FloatArray,
    draw: Callable[[], FloatArray | None],
    draws: int,
    rate: float | None,
    wanted: str,
) -> list[Instance]:
    """Return instances with the θ that are drawn, less those that are None or cannot be.

    space: (K, n), what θ is drawn for.
    """
    found: list[Instance] = []
    moved = _mover(problem, space, rate)
    for _ in range(TRIES * draws):
        theta = draw()
        if theta is not None and moved is not None:
            theta = moved(theta)
        if theta is not None and space is not problem.arms:
            theta = _fitted(problem.arms, space @ theta)
        if theta is not None:
            found.append(
                Instance(
                    f"draw {len(found)}", problem.arms, theta, problem.pullable, problem.answers
                )
            )
        if len(found) == draws:
            return found
    if isinstance(problem.noise, Bounded):
        low, high = problem.noise.low, problem.noise.high
        raise InvalidArgument(
            f"With {wanted} and rate={_middle(problem.noise, rate):g}, hardly any θ has the "
            f"averages of all arms between {low:g} and {high:g}. Assume smaller differences, or a "
            f"rate further from {low:g} and {high:g}."
        )
    raise InvalidArgument(
        f"The arms are too similar for {wanted} between the best two. Drop arms that nearly "
        "repeat others."
    )


def _mover(
    problem: Problem, space: FloatArray, rate: float | None
) -> Callable[[FloatArray], FloatArray | None] | None:
    """Return what moves θ so that arms pay `rate` on average; None if some mean cannot be.

    None as well if there is no range that means have to be in.
    """
    noise = problem.noise
    if not isinstance(noise, Bounded):
        if rate is not None:
            raise InvalidArgument(
                f"rate is for rewards in a range; got {rate!r} with noise={noise!r}. Leave it "
                "out: without a range the level of rewards does not matter."
            )
        return None
    level, slack = _middle(noise, rate), INSIDE * (noise.high - noise.low)
    up = _fitted(space, np.ones(len(space)))
    if up is None:
        raise InvalidArgument(
            "A rate needs features that can raise the averages of all arms alike. Add a feature "
            "that is 1 for every arm."
        )

    def moved(theta: FloatArray) -> FloatArray | None:
        theta = theta + (level - float((space @ theta).mean())) * up
        means = space @ theta
        inside = noise.low + slack <= means.min() and means.max() <= noise.high - slack
        return theta if inside else None

    return moved


def _middle(noise: Bounded, rate: float | None) -> float:
    """Return the average of all arms' means: `rate`, or the middle of the range."""
    if rate is None:
        return (noise.low + noise.high) / 2
    number = as_float(rate)
    if not noise.low < number < noise.high:
        raise InvalidArgument(
            f"rate must be a number between {noise.low:g} and {noise.high:g}; got {rate!r}."
        )
    return number


def _fitted(features: FloatArray, means: FloatArray) -> FloatArray | None:
    """Return θ for which arms have these means, or None if there is none."""
    theta = np.asarray(np.linalg.lstsq(features, means, rcond=None)[0], dtype=np.float64)
    missed = float(np.abs(features @ theta - means).max())
    return theta if missed <= FITTED * float(np.abs(means).max()) else None


def _positive(name: str, value: float) -> float:
    number = as_float(value)
    if not SMALLEST <= number <= LARGEST:
        raise InvalidArgument(
            f"{name} must be a number above 0, from {SMALLEST:g} to {LARGEST:g}; got {value!r}."
        )
    return number
