"""How many pulls are still needed, if the estimate is about right.

θ is drawn many times from what is known of it. For each draw, good shares for the pulls to come
are worked out, and the rest of the run is simulated on a coarse grid of times: how estimates move,
and with them the evidence against each rival of the best arm (Race), or the gap to it beside the
width of its interval (LinGapE and others). It is a forecast and proves nothing; how often it is
right, `python -m benchmarks.remaining` tells.

Symbols are those of a linear Gaussian model in which rewards so far have the precision V = LLᵀ and
each further pull adds A: in coordinates where V = I and A is diagonal, everything is independent.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .arrays import FloatArray, IntArray
from .contests import ByGap
from .errors import LingapeError
from .evidence.base import placed_bets
from .explorers import Race
from .explorers.race import FIRST, GROWTH
from .scaffold import ContestExplorer
from .scaffold.budget import BudgetExplorer
from .scaffold.planned import PlannedExplorer
from .stopping import Eliminating

DRAWS, FEWER = 96, 32  # the latter in many dimensions,
MANY, MOST = 30, 100  # which are more than these, and at most these: beyond, it takes too long
LEVELS = (0.1, 0.5, 0.9)
FAR = (1_000, 1_000, 100)  # times the pulls so far: at these levels no end is in sight beyond
TIMES = 56  # on the grid
CANDIDATES = 30  # arms that may be best: the likeliest ones are looked at,
RIVALS = 8  # and of these, for each draw, the ones that take longest
ARMS = 48  # that pulls are shared among, the most pulled ones, and as many as there are dimensions
STEPS = 12  # towards good shares
FLAT = 1e-10  # of the largest: how little a direction is learnt at least
CROSSED = (
    0.58  # standard deviations of a step: what a walk is beyond a level when first seen there
)


class Remaining(NamedTuple):
    """How many more pulls are needed, at most, in 10, 50 and 90 % of cases.

    Arms that tie are never told apart, so that no end is ever in sight.

    low: 10 % of cases take at most so many; None for no end in sight, which is more than a
        thousand times the pulls so far.
    median: likewise half of the cases.
    high: likewise 90 %; None for more than a hundred times the pulls so far.

    >>> from lingape.remaining import Remaining
    >>> print(Remaining(512.3, 1234.5, 3100.0))
    about 1,200 more pulls (510 to 3,100 in 80 % of cases)
    """

    low: float | None
    median: float | None
    high: float | None

    def __str__(self) -> str:
        tied = "the best arms may be tied; epsilon above 0 accepts any that close"
        if self.median is None or self.low is None:
            return f"no end in sight: {tied}"
        if self.high is None:
            return f"about {two_digits(self.median)} more pulls, or no end in sight: {tied}"
        between = f"{two_digits(self.low)} to {two_digits(self.high)}"
        return f"about {two_digits(self.median)} more pulls ({between} in 80 % of cases)"


def two_digits(pulls: float) -> str:
    """Return a number with the two digits that a forecast has.

    >>> two_digits(1234.5)
    '1,200'
    """
    return f"{float(f'{pulls:.2g}'):,.0f}"


def remaining(explorer: Any) -> Remaining | None:
    """Return how many more pulls an explorer needs, or None where that cannot be told.

    It can for Race, for LinGapE with m = 1 and others that compare gaps with their intervals, and
    for those that have a budget, while they are not done and once arms can be compared, in up to
    100 dimensions. The same state has the same forecast.

    >>> from lingape import LinGapE, Problem
    >>> from lingape.remaining import remaining
    >>> explorer = LinGapE(Problem([[1, 0], [0, 1]], noise=1.0))
    >>> remaining(explorer) is None
    True
    >>> explorer.tell_many([0, 1] * 20, [0.6, 0.0] * 20)
    >>> remaining(explorer).median > 1
    True
    """
    if isinstance(explorer, BudgetExplorer):
        left = float(explorer.left)
        return None if explorer.done else Remaining(left, left, left)
    known = isinstance(explorer, Race) or (
        isinstance(explorer, ContestExplorer) and isinstance(explorer.parts.contests, ByGap)
    )
    if not known or explorer.done or explorer.contest is None or not explorer.estimate.ready:
        return None
    if explorer.estimate.features.shape[1] > MOST:
        return None
    try:
        with np.errstate(all="ignore"):
            needed = _needed(explorer)
    except (LingapeError, np.linalg.LinAlgError):  # too little is known for numbers to make sense
        return None
    if needed is None or np.isnan(needed).any():
        return None
    pulls = float(explorer.counts.sum())
    # Flat draws of gaps have most runs hardly begun. A look at a run may as well fall anywhere
    # between its beginning and its end, so that these count less.
    weights = np.sqrt(pulls / (pulls + np.minimum(needed, max(FAR) * pulls)))
    order = np.argsort(needed)
    shares = np.cumsum(weights[order]) / weights.sum()
    levels = needed[order][np.searchsorted(shares, LEVELS)]
    return Remaining(
        *(
            float(max(1.0, level)) if level <= far * pulls else None
            for level, far in zip(levels, FAR, strict=True)
        )
    )


class _Belief(NamedTuple):
    """What is known of θ: it is N(theta, rootᵀ root)."""

    x: FloatArray  # (K, d)
    counts: IntArray  # (K,)
    variances: FloatArray  # (K,) of rewards
    theta: FloatArray  # (d,)
    root: FloatArray  # (d, d) L⁻¹
    candidates: IntArray  # arms that may be best, beginning with the one that looks best


class _Future(NamedTuple):
    """The rest of D runs, for H rivals each of the best arm, at T times."""

    best: IntArray  # (D,) arms
    rivals: IntArray  # (D, H) arms
    lengths: FloatArray  # (D, H) of x_i - x_j
    gaps: FloatArray  # (D, H) true ones
    rates: FloatArray  # (D, H) information about the gap per pull
    times: FloatArray  # (T,) pulls from now
    seen: FloatArray  # (D, H, T) estimated gaps
    errors: FloatArray  # (D, H, T) their standard errors
    surprises: FloatArray  # (D, H, T) noise in the scores of the pulls of a step
    shares: FloatArray  # (K,) of pulls, on average


def _needed(explorer: Any) -> FloatArray | None:
    """Return the pulls that are still needed in each draw, or None if there is no rival."""
    belief = _belief(explorer)
    if len(belief.candidates) < 2:
        return None
    future = _future(explorer, belief)
    if not isinstance(explorer, Race):
        return _first_time(_margins(explorer, future).min(axis=1), future.times)
    needed = _first_time(_evidence(explorer, belief, future).min(axis=1), future.times)
    # Evidence counts when a block is full; what has filled slots so far does not yet.
    pulls, blocks = int(belief.counts.sum()), [b for b in explorer.blocks if len(b.rivals)]
    size = np.maximum(FIRST * belief.x.shape[1], (pulls + needed) / GROWTH)
    needed += 0.5 * size - sum(int(block.told.counts.sum()) for block in blocks)
    return needed


def _belief(explorer: Any) -> _Belief:
    problem, estimate = explorer.problem, explorer.estimate
    x, d = estimate.features, estimate.features.shape[1]
    if isinstance(explorer, Race):
        counts, sums, _ = explorer.told
        guess = explorer.evidence.guess(estimate.means, estimate.variances, explorer.told, d)
        variances, candidates = guess.variances, np.flatnonzero(explorer.in_play)
    else:
        counts, sums = estimate.counts, estimate.sums
        variances = np.full(len(x), problem.noise_scale**2)
        candidates = np.unique(estimate.twins[problem.can_answer])
    precision = (x.T * (counts / variances)) @ x
    precision[np.diag_indices(d)] += estimate.ridge / variances[0]
    root = np.linalg.inv(np.linalg.cholesky(precision))
    theta = root.T @ (root @ (x.T @ (sums / variances)))
    means = x[candidates] @ theta
    leader = int(candidates[means.argmax()])
    errors = np.sqrt(np.square((x[leader] - x[candidates]) @ root.T).sum(axis=1))
    behind = (means.max() - means) / np.where(errors > 0, errors, 1.0)
    candidates = candidates[np.argsort(behind, kind="stable")[:CANDIDATES]]
    return _Belief(x, counts, variances, theta, root, candidates)


def _future(explorer: Any, belief: _Belief) -> _Future:
    """Draw θ, and simulate how estimates of gaps will move."""
    x, counts, variances, theta, root, candidates = belief
    epsilon, d, rng = explorer.problem.epsilon, x.shape[1], np.random.default_rng(0)
    count = DRAWS if d <= MANY else FEWER
    noise = rng.standard_normal((count, d))
    drawn = (theta + noise @ root) @ x[candidates].T
    draws, best = np.arange(count), drawn.argmax(axis=1)
    if isinstance(explorer, Race) and epsilon > 0:  # who leads stays if that is good enough
        best = np.where(drawn[:, 0] >= drawn[draws, best] - 0.5 * epsilon, 0, best)
    gaps = drawn[draws, best][:, None] - drawn
    y = x[candidates[best]][:, None, :] - x[candidates]

    # A contest takes as long as its direction is long, squared, times this.
    hardness = 1.0 / np.square(gaps + epsilon)
    if isinstance(explorer, Race):
        missing = explorer.thresholds()[0] - explorer.log_evidence[candidates]
        hardness = hardness * np.maximum(missing, 0.5)
    arms = _arms(explorer, counts)
    scaled = x[arms] / np.sqrt(variances[arms])[:, None]
    usual = counts[arms] / counts[arms].sum()
    start = 0.5 * usual + 0.5 / len(arms)
    spread = np.linalg.inv(np.linalg.cholesky((scaled.T * start) @ scaled))
    takes = np.square(y @ spread.T).sum(axis=2) * hardness
    takes[draws, best] = -1.0
    rivals = np.argsort(-takes, axis=1)[:, : min(RIVALS, len(candidates) - 1)]
    gaps, hardness = (np.take_along_axis(part, rivals, axis=1) for part in (gaps, hardness))
    y = np.take_along_axis(y, rivals[:, :, None], axis=1)
    shares = np.broadcast_to(usual, (count, len(arms)))
    if not isinstance(explorer, PlannedExplorer):
        relative = hardness / hardness.max(axis=1, keepdims=True)
        shares = _shares(scaled, y * np.sqrt(relative)[:, :, None], start)

    # In coordinates where V is I, and A diagonal with `values`.
    values, basis = np.linalg.eigh(root @ _moments(scaled, shares) @ root.T)
    values = np.maximum(values, FLAT * values[:, -1:])
    z, wrong = y @ root.T @ basis, (noise[:, None, :] @ basis)[:, 0]
    pulls = float(counts.sum())
    first = max(1.0, 0.01 * pulls)
    times = first * (max(FAR) * pulls / first) ** np.linspace(0.0, 1.0, TIMES)
    jumps = rng.standard_normal((count, d, TIMES)) * np.sqrt(np.diff(times, prepend=0.0))
    left = 1.0 / (1.0 + values[:, :, None] * times)  # variances of estimates
    off = np.sqrt(values)[:, :, None] * np.cumsum(jumps, axis=2) - wrong[:, :, None]
    rates = 1.0 / (np.square(z) / values[:, None, :]).sum(axis=2)
    average = np.zeros(len(x))
    average[arms] = shares.mean(axis=0)
    return _Future(
        best=candidates[best],
        rivals=candidates[rivals],
        lengths=np.sqrt(np.square(y).sum(axis=2)),
        gaps=gaps,
        rates=rates,
        times=times,
        seen=gaps[:, :, None] + z @ (off * left),
        errors=np.sqrt(np.square(z) @ left),
        surprises=rates[:, :, None] * ((z / np.sqrt(values)[:, None, :]) @ jumps),
        shares=average,
    )


def _arms(explorer: Any, counts: IntArray) -> IntArray:
    """Return the arms that pulls to come are shared among."""
    pullable = np.flatnonzero(explorer.problem.can_pull)
    if len(pullable) <= ARMS:
        return pullable
    most = pullable[np.argsort(-counts[pullable], kind="stable")[:ARMS]]
    return np.union1d(most, explorer.problem.spanning)


def _shares(x: FloatArray, y: FloatArray, start: FloatArray) -> FloatArray:
    """Return shares of pulls that make the longest of some directions short, for each draw.

    As evidence/shares.py does for one.
    x: (A, d). y: (D, H, d). start: (A,).
    """
    p = np.broadcast_to(start, (len(y), len(x)))
    best, shortest, q = p, np.full((len(y), 1), np.inf), np.ones(y.shape[:2])
    for step in range(STEPS):
        products = y @ np.linalg.inv(_moments(x, p))
        lengths = (products * y).sum(axis=2)
        longest = lengths.max(axis=1, keepdims=True)
        best, shortest = np.where(longest < shortest, p, best), np.minimum(longest, shortest)
        q = q * np.sqrt(lengths / longest) if step else (lengths / longest) ** 4
        q = q / q.sum(axis=1, keepdims=True)
        scores = (q[:, None, :] @ np.square(products @ x.T))[:, 0]
        p = p * np.sqrt(scores / scores.max(axis=1, keepdims=True))
        p = p / p.sum(axis=1, keepdims=True)
    return best


def _moments(x: FloatArray, p: FloatArray) -> FloatArray:
    """Return A(p) = Σ p_k x_k x_kᵀ for each row of p, slightly raised."""
    a: FloatArray = (x.T * p[:, None, :]) @ x
    a += FLAT * np.trace(a, axis1=1, axis2=2)[:, None, None] * np.eye(x.shape[1])
    return a


def _evidence(explorer: Race, belief: _Belief, future: _Future) -> FloatArray:
    """Return by how much the evidence against each rival exceeds what is needed, (D, H, T)."""
    (x, counts, variances, *_), (out, close) = belief, explorer.thresholds()
    variance = float(counts @ variances) / float(counts.sum())
    largest = future.lengths * math.sqrt(variance / (FIRST * x.shape[1]))
    information = future.rates[:, :, None] * np.diff(future.times, prepend=0.0)
    scores = future.gaps[:, :, None] * information + future.surprises
    # The race itself looks at evidence after blocks only.
    block = future.rates[:, :, None] * max(FIRST * x.shape[1], float(counts.sum()) / GROWTH)
    finer = np.sqrt(information) - np.sqrt(np.minimum(information, block))
    # Bets by estimates, both in standard errors, as they will be placed after half as many pulls.
    soon = int(np.searchsorted(future.times, 0.5 * float(counts.sum())))
    usual = float(np.median(largest / future.errors[:, :, soon]))
    estimates = np.linspace(-5.0, 6.0, 45)
    bets, log_weights = placed_bets(estimates, np.ones(45), np.full(45, usual))
    placed = np.append((np.exp(log_weights) * bets).sum(axis=1), 1e9)
    estimates = np.append(estimates, 1e9)

    def excess(shift: float, begun: FloatArray, needed: FloatArray) -> FloatArray:
        bet = future.errors * np.interp((future.seen + shift) / future.errors, estimates, placed)
        bet = np.concatenate([bet[:, :, :1], bet[:, :, :-1]], axis=2)  # placed a step before
        bet = np.minimum(bet, largest[:, :, None])
        gains = bet * (scores + shift * information) - 0.5 * bet**2 * information
        unseen = CROSSED * bet * finer
        total = (begun - needed)[:, :, None] + np.cumsum(gains, axis=2) + unseen
        return np.asarray(np.maximum.accumulate(total, axis=2))

    found = excess(0.0, explorer.log_evidence[future.rivals], np.full((1, 1), out))
    if (epsilon := explorer.problem.epsilon) > 0:
        leaders = explorer.leaders
        n = np.array([leaders.index(i) if i in leaders else len(leaders) for i in future.best])
        logs = np.array([*(logs for logs, _ in explorer.within), np.zeros(len(x))])
        enough = close + np.log((n + 1.0) * (n + 2.0))
        within = excess(epsilon, logs[n[:, None], future.rivals], enough[:, None])
        found = np.maximum(found, within)
    return found


def _margins(explorer: ContestExplorer, future: _Future) -> FloatArray:
    """Return by how much gaps exceed the widths of their intervals less ε, (D, H, T)."""
    problem, stopping = explorer.problem, explorer.parts.stopping
    pulls, times = float(explorer.counts.sum()), future.times
    before = pulls + np.append(0.0, times[:-1])
    unseen = CROSSED * np.sqrt(1.0 - before / (pulls + times))
    widths = _widths(explorer, future) - unseen
    lead = np.minimum(future.seen.min(axis=1, keepdims=True), 0.0)  # below 0 if a rival leads
    ahead = np.where(future.seen == lead, -lead, future.seen - lead)
    found: FloatArray = ahead + problem.epsilon - widths * future.errors
    if isinstance(stopping, Eliminating):
        found = np.maximum.accumulate(found, axis=2)
    return found


def _widths(explorer: ContestExplorer, future: _Future) -> FloatArray:
    """Return the width of the closest contest's interval in standard errors, at each time.

    Its square grows about as the logarithm of the pulls; how fast follows from two times.
    """
    assert explorer.contest is not None
    (leader, rival, _), estimate = explorer.contest, explorer.estimate
    pulls, squares, ahead = int(estimate.pulls), [], (0, 10)
    for times in ahead:
        more = np.round(times * pulls * future.shares).astype(np.int64)
        later = estimate.copy()
        later.load(estimate.counts + more, estimate.sums + more * estimate.means)
        widths = explorer.parts.contests.half_widths(later, leader) / explorer.problem.noise_scale
        squares.append(np.square(widths[rival]) / later.contrasts(leader).variance[rival])
    slope = (squares[1] - squares[0]) / math.log1p(ahead[1])
    found: FloatArray = squares[0] + slope * np.log1p(future.times / pulls)
    return np.sqrt(np.maximum(found, 1.0))


def _first_time(excess: FloatArray, times: FloatArray) -> FloatArray:
    """Return for each row when it first is 0 or more, between times; infinite if never."""
    over, rows = excess >= 0.0, np.arange(len(excess))
    place = over.argmax(axis=1)
    last = np.maximum(place - 1, 0)
    before, after = excess[rows, last], excess[rows, place]
    began = np.where(place > 0, times[last], 0.0)
    part = np.where(place > 0, -before / (after - before), 0.5)
    return np.where(over[rows, place], began + part * (times[place] - began), np.inf)
