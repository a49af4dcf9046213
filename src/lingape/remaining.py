"""How many pulls are still needed, if the estimate is about right.

θ is drawn many times from what is known of it. For each draw, each contest that is still open has
to gain so much evidence (Race), or to be measured so precisely (LinGapE), at the rate that good
shares of pulls give it; the longest of these is what is left. It is a forecast and proves nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from .arrays import FloatArray
from .evidence.shares import racing
from .explorers import Race
from .scaffold import ContestExplorer

DRAWS = 400
LEVELS = (0.1, 0.5, 0.9)
MOST_RIVALS = 60  # the closest ones are looked at
EFFICIENCY = 1.0  # evidence that a race gains, relative to what a test with known gaps would
MOST = 1e15  # pulls; more is never


class Remaining(NamedTuple):
    """How many more pulls are needed, in 10, 50 and 90 % of cases; None for no end in sight."""

    low: float | None
    median: float | None
    high: float | None

    def __str__(self) -> str:
        """Return it in words, roughly.

        >>> str(Remaining(111.1, 1307.9, None))
        'about 1,300 pulls (110 to no end in sight)'
        """
        low, median, high = (
            "no end in sight" if n is None else f"{float(f'{n:.2g}'):,.0f}" for n in self
        )
        return median if self.median is None else f"about {median} pulls ({low} to {high})"


def remaining(explorer: Any) -> Remaining | None:
    """Return how many more pulls an explorer needs, or None where that cannot be told yet."""
    known = isinstance(explorer, Race | ContestExplorer) and explorer.m == 1
    if not known or explorer.done or explorer.contest is None or not explorer.estimate.ready:
        return None
    problem, estimate, pulls = explorer.problem, explorer.estimate, int(explorer.counts.sum())
    x, answers = estimate.features, np.flatnonzero(problem.can_answer)
    answers = np.unique(estimate.twins[answers])
    variances = _variances(explorer)
    precision = (x.T * (explorer.counts / variances)) @ x
    try:
        root = np.linalg.cholesky(np.linalg.inv(precision))
    except np.linalg.LinAlgError:
        return None
    if isinstance(explorer, Race):
        answers = np.flatnonzero(explorer.in_play)
    if len(answers) < 2:
        return None
    means = x @ np.linalg.solve(precision, x.T @ (_sums(explorer) / variances))
    answers = answers[np.argsort(-means[answers], kind="stable")[:MOST_RIVALS]]
    rho = _rates(explorer, x, variances, means, answers)
    rng = np.random.default_rng(0)
    drawn = means[answers] + rng.standard_normal((DRAWS, x.shape[1])) @ (x[answers] @ root).T
    best = drawn.argmax(axis=1)
    gaps = drawn[np.arange(DRAWS), best][:, None] - drawn + problem.epsilon
    gaps[np.arange(DRAWS), best] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(explorer, Race):
            missing = np.maximum(0.0, _threshold(explorer) - explorer.log_evidence[answers])
            times = missing * rho / (0.5 * EFFICIENCY * gaps**2)
            last = times.argmax(axis=1)
            # Evidence walks at random around its drift: the end is that of a Brownian motion.
            level = np.maximum(missing[last], 1e-9)
            needed = rng.wald(
                times[np.arange(DRAWS), last], level / 2.0 * times[np.arange(DRAWS), last]
            )
        else:
            total = (_nats(explorer) * 2.0 * rho / gaps**2).max(axis=1)
            needed = np.maximum(0.0, total - pulls)
    levels = np.quantile(needed, LEVELS, method="higher")
    return Remaining(*(float(max(1.0, n)) if n < MOST else None for n in levels))


def _sums(explorer: Any) -> FloatArray:
    return explorer.told.sums if isinstance(explorer, Race) else explorer.estimate.sums


def _variances(explorer: Any) -> FloatArray:
    """Return the variance of each arm's rewards, as far as it is known."""
    estimate = explorer.estimate
    if isinstance(explorer, Race):
        guess = explorer.evidence.guess(
            estimate.means, estimate.variances, explorer.told, estimate.features.shape[1]
        )
        return guess.variances
    return np.full(len(explorer.problem), explorer.problem.noise_scale**2)


def _rates(
    explorer: Any, x: FloatArray, variances: FloatArray, means: FloatArray, answers: Any
) -> FloatArray:
    """Return ‖x_i - x_j‖² per pull, in the norm of the shares to come, for each answer."""
    problem, leader = explorer.problem, int(answers[0])
    others = answers[1:]
    y = x[leader] - x[others]
    gaps = np.maximum(means[leader] - means[others] + problem.epsilon, 0.0)
    errors = np.sqrt(np.einsum("jd,dk,jk->j", y, explorer.estimate.inverse, y) * variances.max())
    close = np.maximum(gaps, 0.5 * errors)
    pullable = np.flatnonzero(problem.can_pull)
    scaled = x[pullable] / np.sqrt(variances[pullable])[:, None]
    start = np.full(len(pullable), 1.0 / len(pullable))
    basis = np.flatnonzero(np.isin(pullable, problem.spanning))
    shares = racing(scaled, y / close[:, None], start, basis)
    inverse = np.linalg.pinv((scaled.T * shares) @ scaled)
    rho = np.einsum("jd,dk,jk->j", y, inverse, y)
    return np.append(rho[:1] if len(rho) else [0.0], rho)  # the leader's: as of the closest rival


def _threshold(explorer: Race) -> float:
    return explorer.thresholds()[0]


def _nats(explorer: Any) -> float:
    """Return half the squared width of the closest contest in standard errors."""
    leader, rival, _ = explorer.contest
    variance, _ = explorer.estimate.contrasts(leader)
    widths = explorer.parts.contests.half_widths(explorer.estimate, leader)
    scale = explorer.problem.noise_scale
    return float(widths[rival] ** 2 / (2.0 * scale**2 * max(float(variance[rival]), 1e-300)))
