"""Two explorers on the same instances: how many times the pulls of the other does one need?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from .results import Cell, Results

WIDTH = 1.96  # standard errors on each side of a 95 % interval
FAR = 0.99  # the quantile that says how long unlucky runs are


class Ratio(NamedTuple):
    """A ratio with its 95 % interval.

    >>> print(Ratio(0.505, low=0.439, high=0.581))
    0.505 (0.439 – 0.581)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} – {self.high:.3f})"


@dataclass(frozen=True, eq=False)
class Duel:
    """The runs of a challenger and of a champion on one instance, seed by seed.

    world: what pays, as in the study.
    delta: the error rate of their problem.
    challenger, champion: their runs, summarised.
    challenger_pulls, champion_pulls: of each run; those with the same seed met the same noise.

    >>> from lingape import Results, Row, Study
    >>> from lingape.study import Duel
    >>> study = Study(["race", "lingape"], ["soare(5, 0.1)"], seeds=3)
    >>> rows = [
    ...     Row(name, "soare(5, 0.1)", seed, 0, True, n, (n, 0), "settled", 0.01)
    ...     for name, pulls in [("race", [31, 27, 40]), ("lingape", [65, 59, 70])]
    ...     for seed, n in enumerate(pulls)
    ... ]
    >>> duel = Duel.of(Results(study, rows))
    >>> duel.challenger.explorer, duel.champion_pulls.tolist()
    ('race', [65.0, 59.0, 70.0])
    """

    world: str
    delta: float
    challenger: Cell
    champion: Cell
    challenger_pulls: FloatArray
    champion_pulls: FloatArray

    @classmethod
    def of(cls, results: Results) -> "Duel":
        """Return the results of a study with two explorers, challenger first, and one instance."""
        (instance,), (first, second) = results.study.instances.values(), results.summary()
        pulls = np.array([row.pulls for row in results.rows], dtype=np.float64).reshape(2, -1)
        delta = results.study.posed(instance).delta
        return cls(results.study.world, delta, first, second, *pulls)

    @property
    def cut(self) -> bool:
        """Whether the limit ended some runs, so that pulls are too few."""
        return bool(self.challenger.unfinished or self.champion.unfinished)


def mean_ratio(duels: Sequence[Duel]) -> Ratio:
    """Return challenger's mean pulls / champion's, as a geometric mean over instances.

    The interval is the delta method's, for ratios of means of runs that are paired by seed. It
    covers the chance in these runs; it says nothing about other instances.

    duels: one for each instance.

    >>> from lingape import Results, Row, Study
    >>> from lingape.study import Duel, mean_ratio
    >>> study = Study(["race", "lingape"], ["soare(5, 0.1)"], seeds=3)
    >>> rows = [
    ...     Row(name, "soare(5, 0.1)", seed, 0, True, n, (n, 0), "settled", 0.01)
    ...     for name, pulls in [("race", [31, 27, 40]), ("lingape", [65, 59, 70])]
    ...     for seed, n in enumerate(pulls)
    ... ]
    >>> duel = Duel.of(Results(study, rows))
    >>> print(mean_ratio([duel]))
    0.505 (0.439 – 0.581)
    """
    logs, variances = [], []
    for duel in duels:
        a, b = duel.challenger_pulls, duel.champion_pulls
        logs.append(math.log(a.mean() / b.mean()))
        variances.append(float((a / a.mean() - b / b.mean()).var(ddof=1)) / len(a))
    middle, error = float(np.mean(logs)), math.sqrt(sum(variances)) / len(duels)
    low, high = middle - WIDTH * error, middle + WIDTH * error
    return Ratio(math.exp(middle), math.exp(low), math.exp(high))


def tail_ratio(pulls: Sequence[FloatArray]) -> float:
    """Return the 99 % quantile of runs / their median, of all instances together.

    pulls: of one explorer, for each instance, whose runs are measured by its median.

    >>> import numpy as np
    >>> from lingape.study import tail_ratio
    >>> tail_ratio([np.arange(101.0), 10 * np.arange(101.0)])
    1.98
    """
    return float(np.quantile(np.concatenate([some / np.median(some) for some in pulls]), FAR))
