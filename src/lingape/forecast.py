"""Before any pull: what will it cost? Stopping times under plausible θ."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .arrays import FloatArray
from .checks import LARGEST, SMALLEST, as_float
from .environments import Instance
from .errors import InvalidArgument
from .noise import Binary
from .problem import Problem
from .study import Builder, Row, Study

LEVELS = (0.1, 0.5, 0.9)
TRIES = 1_000  # draws of θ for each that is used


@dataclass(frozen=True)
class Cost:
    """How many pulls an explorer will take, if θ is as assumed."""

    explorer: str
    quantiles: dict[float, float]  # by probability; infinite beyond the limit
    mean: float | None  # None if some run was stopped at the limit
    settled: float  # the share of runs that ended within the limit
    wrong: float  # the share that ended on a wrong arm


@dataclass(frozen=True, eq=False)
class Forecast:
    """Stopping times of explorers under draws of θ."""

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

    prior_scale: of each weight. A reasonable guess is half the size that would surprise you.
    rate: see from_gap.
    """
    size = _positive("prior_scale", prior_scale)
    rng = np.random.default_rng(seed)

    def draw() -> FloatArray:
        theta: FloatArray = size * rng.standard_normal((problem.arms.shape[1],))
        return theta

    return _drawn(problem, draw, draws, rate, f"prior_scale={size:g}")


def from_gap(
    problem: Problem, *, gap: float, draws: int, seed: int = 0, rate: float | None = None
) -> list[Instance]:
    """Return instances whose best arm leads by `gap`, the smallest lead that matters.

    θ has a random direction and the length that gives this gap: the hardest cases that
    matter. Duplicates of the best arm do not count as the next.
    rate: for rewards of 0 or 1, the average of all arms' means. θ is moved accordingly, and drawn
        again where means lie outside of 0 to 1.
    """
    size = _positive("gap", gap)
    if len(np.unique(problem.twins)) < 2:
        raise InvalidArgument("There must be two different arms for a gap between them.")
    rng = np.random.default_rng(seed)

    def draw() -> FloatArray | None:
        theta: FloatArray = rng.standard_normal((problem.arms.shape[1],))
        means = problem.arms @ theta
        best = int(means.argmax())
        least = float(means[best] - means[problem.twins != problem.twins[best]].max())
        return theta * (size / least) if least > 1e-12 * float(np.abs(means).max()) else None

    return _drawn(problem, draw, draws, rate, f"gap={size:g}")


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

    Rewards are 0 or 1 where the problem says so, and otherwise have Gaussian noise on its scale.
    noise_scale: that of the simulation, where the problem leaves it open.
    """
    settings = {
        name: getattr(problem, name)
        for name in ("epsilon", "delta", "norm_bound")
        if getattr(problem, name) is not None
    }
    settings["noise"] = problem.noise
    if problem.noise.scale is None:  # a study simulates a scale of 1: that is the unit then
        scale = _positive("noise_scale", noise_scale)
        settings["epsilon"] = problem.epsilon / scale
        instances = [replace(instance, theta=instance.theta / scale) for instance in instances]
    world = "zero_one" if isinstance(problem.noise, Binary) else "gaussian"
    study = Study(
        explorers, instances, seeds=1, max_pulls=max_pulls, world=world, problem=settings
    )
    return Forecast(study.run(jobs=jobs, progress=progress).rows, max_pulls)


def _drawn(
    problem: Problem,
    draw: Callable[[], FloatArray | None],
    draws: int,
    rate: float | None,
    wanted: str,
) -> list[Instance]:
    """Return instances with the θ that are drawn, less those that are None or cannot be."""
    found: list[Instance] = []
    moved = None if rate is None else _mover(problem, rate)
    for _ in range(TRIES * draws):
        theta = draw()
        if theta is not None and moved is not None:
            theta = moved(theta)
        if theta is not None:
            found.append(Instance(f"draw {len(found)}", np.array(problem.arms), theta))
        if len(found) == draws:
            return found
    if rate is not None:
        raise InvalidArgument(
            f"With {wanted} and rate={rate:g}, hardly any θ has the averages of all arms "
            "between 0 and 1. Assume smaller differences, or a rate further from 0 and 1."
        )
    raise InvalidArgument(
        f"The arms are too similar for {wanted} between the best two. Drop arms that nearly "
        "repeat others."
    )


def _mover(problem: Problem, rate: float) -> Callable[[FloatArray], FloatArray | None]:
    """Return what moves θ so that arms pay `rate` on average; None if some mean cannot be."""
    level, ones = _between("rate", rate), np.ones(len(problem))
    up = np.asarray(np.linalg.lstsq(problem.arms, ones, rcond=None)[0], dtype=np.float64)
    if not np.allclose(problem.arms @ up, ones):
        raise InvalidArgument(
            "A rate needs features that can raise the averages of all arms alike. Add a feature "
            "that is 1 for every arm."
        )

    def moved(theta: FloatArray) -> FloatArray | None:
        theta = theta + (level - float((problem.arms @ theta).mean())) * up
        means = problem.arms @ theta
        return theta if means.min() >= 0 and means.max() <= 1 else None

    return moved


def _between(name: str, value: float) -> float:
    number = as_float(value)
    if not 0 < number < 1:
        raise InvalidArgument(f"{name} must be a number between 0 and 1; got {value!r}.")
    return number


def _positive(name: str, value: float) -> float:
    number = as_float(value)
    if not SMALLEST <= number <= LARGEST:
        raise InvalidArgument(
            f"{name} must be a number above 0, from {SMALLEST:g} to {LARGEST:g}; got {value!r}."
        )
    return number
