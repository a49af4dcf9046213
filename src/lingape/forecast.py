"""Before any pull: what will it cost? Stopping times under plausible θ."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import FloatArray
from .checks import LARGEST, SMALLEST, as_float
from .environments import Instance
from .errors import InvalidArgument
from .problem import Problem
from .study import Builder, Row, Study

LEVELS = (0.1, 0.5, 0.9)


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
    problem: Problem, *, prior_scale: float, draws: int, seed: int = 0
) -> list[Instance]:
    """Return instances whose θ are drawn from a Gaussian prior with this standard deviation.

    prior_scale: of each weight. A reasonable guess is half the size that would surprise you.
    """
    size = _positive("prior_scale", prior_scale)
    rng = np.random.default_rng(seed)
    thetas = size * rng.standard_normal((draws, problem.arms.shape[1]))
    return [_drawn(problem, theta, k) for k, theta in enumerate(thetas)]


def from_gap(problem: Problem, *, gap: float, draws: int, seed: int = 0) -> list[Instance]:
    """Return instances whose best arm leads by `gap`, the smallest lead that matters.

    θ has a random direction and the length that gives this gap: the hardest cases that
    matter. Duplicates of the best arm do not count as the next.
    """
    size = _positive("gap", gap)
    if len(np.unique(problem.twins)) < 2:
        raise InvalidArgument("There must be two different arms for a gap between them.")
    rng = np.random.default_rng(seed)
    found: list[Instance] = []
    for _ in range(1_000 * draws):
        if len(found) == draws:
            break
        theta: FloatArray = rng.standard_normal((problem.arms.shape[1],))
        means = problem.arms @ theta
        best = int(means.argmax())
        least = float(means[best] - means[problem.twins != problem.twins[best]].max())
        if least > 1e-12 * float(np.abs(means).max()):
            found.append(_drawn(problem, theta * (size / least), len(found)))
    if len(found) < draws:
        raise InvalidArgument(
            f"The arms are too similar for a gap of {size:g} between the best two. Drop arms "
            "that nearly repeat others."
        )
    return found


def forecast(
    problem: Problem,
    explorers: Mapping[str, Builder] | Iterable[Builder],
    instances: list[Instance],
    *,
    max_pulls: int,
    jobs: int = -1,
    progress: Any = None,
) -> Forecast:
    """Simulate the explorers once on each instance, with Gaussian noise on the problem's scale."""
    settings = {
        name: getattr(problem, name)
        for name in ("epsilon", "delta", "norm_bound")
        if getattr(problem, name) is not None
    }
    settings["noise"] = problem.noise_scale
    study = Study(explorers, instances, seeds=1, max_pulls=max_pulls, problem=settings)
    return Forecast(study.run(jobs=jobs, progress=progress).rows, max_pulls)


def _drawn(problem: Problem, theta: FloatArray, number: int) -> Instance:
    return Instance(f"draw {number}", np.array(problem.arms), theta)


def _positive(name: str, value: float) -> float:
    number = as_float(value)
    if not SMALLEST <= number <= LARGEST:
        raise InvalidArgument(
            f"{name} must be a number above 0, from {SMALLEST:g} to {LARGEST:g}; got {value!r}."
        )
    return number
