"""Straightforward implementations that the library's speed is measured against."""

import math

import numpy as np
from numba import njit

from lingape.arrays import FloatArray

# Seconds that one round of LinGapE takes in three other public implementations, the fastest and
# the slowest, on a machine where this library took 79 ns. They are not run again here.
PEERS = 70e-6, 170e-6


def transcription(
    arms: FloatArray, theta: FloatArray, rounds: int, rng: np.random.Generator, *, mixture: bool
) -> int:
    """LinGapE in plain NumPy, each line a formula; return its leader."""
    count, d = arms.shape
    delta, noise_scale, norm_bound, ridge = 0.05, 1.0, 2.0, 0.0 if mixture else 1.0
    prior = arms.T @ arms / count
    a, b = ridge * np.eye(d), np.zeros(d)
    for k in range(count):
        a += np.outer(arms[k], arms[k])
        b += arms[k] * (arms[k] @ theta + rng.standard_normal())
    leader = 0
    for _ in range(rounds):
        inverse = np.linalg.inv(a)
        estimate = inverse @ b
        leader = int(np.argmax(arms @ estimate))
        gaps = arms - arms[leader]
        if mixture:
            widths = np.full(count, np.inf)
            for scale in 16.0 ** np.arange(8):
                det = np.linalg.det(np.eye(d) + np.linalg.inv(scale * prior) @ a)
                nats = math.log(8 / delta) + 0.5 * math.log(det)
                z = gaps @ inverse
                squares = np.sum(z * gaps, axis=1) + scale * np.sum(z @ prior * z, axis=1)
                widths = np.minimum(widths, noise_scale * np.sqrt(2 * nats * squares))
        else:
            nats = math.log(count**2 * math.sqrt(np.linalg.det(a) / ridge**d) / delta)
            radius = noise_scale * math.sqrt(2 * nats) + math.sqrt(ridge) * norm_bound
            widths = radius * np.sqrt(np.sum(gaps @ inverse * gaps, axis=1))
        margins = gaps @ estimate + widths
        margins[leader] = -np.inf
        rival = int(np.argmax(margins))
        y = arms[leader] - arms[rival]
        after = [y @ np.linalg.inv(a + np.outer(x, x)) @ y for x in arms]
        pulled = int(np.argmin(after))
        a += np.outer(arms[pulled], arms[pulled])
        b += arms[pulled] * (arms[pulled] @ theta + rng.standard_normal())
    return leader


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def quadratic_loop(
    arms: FloatArray, theta: FloatArray, rounds: int, rng: np.random.Generator
) -> int:
    """The same in compiled loops, with rank-one updates and O(Kd²) per round."""
    count, d = arms.shape
    delta, norm_bound = 0.05, 2.0
    inverse, b, log_det = np.eye(d), np.zeros(d), 0.0
    h, estimate, y, z = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    leader = 0
    for t in range(count + rounds):
        pulled = t
        if t >= count:
            for p in range(d):
                estimate[p] = 0.0
                for q in range(d):
                    estimate[p] += inverse[p, q] * b[q]
            best = -math.inf
            for k in range(count):
                mean = 0.0
                for p in range(d):
                    mean += arms[k, p] * estimate[p]
                if mean > best:
                    best, leader = mean, k
            radius = math.sqrt(2 * (math.log(count * count / delta) + 0.5 * log_det)) + norm_bound
            top, rival = -math.inf, 0
            for k in range(count):
                if k != leader:
                    gap, square = 0.0, 0.0
                    for p in range(d):
                        y[p] = arms[k, p] - arms[leader, p]
                        gap += y[p] * estimate[p]
                    for p in range(d):
                        for q in range(d):
                            square += y[p] * inverse[p, q] * y[q]
                    if gap + radius * math.sqrt(square) > top:
                        top, rival = gap + radius * math.sqrt(square), k
            for p in range(d):
                z[p] = 0.0
                for q in range(d):
                    z[p] += inverse[p, q] * (arms[leader, q] - arms[rival, q])
            gain = -1.0
            for k in range(count):
                u, own = 0.0, 1.0
                for p in range(d):
                    u += arms[k, p] * z[p]
                    for q in range(d):
                        own += arms[k, p] * inverse[p, q] * arms[k, q]
                if u * u / own > gain:
                    gain, pulled = u * u / own, k
        s, reward = 1.0, rng.standard_normal()
        for p in range(d):
            reward += arms[pulled, p] * theta[p]
            h[p] = 0.0
            for q in range(d):
                h[p] += inverse[p, q] * arms[pulled, q]
            s += h[p] * arms[pulled, p]
        for p in range(d):
            b[p] += reward * arms[pulled, p]
            for q in range(d):
                inverse[p, q] -= h[p] * h[q] / s
        log_det += math.log(s)
    return leader


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def noise_alone(rounds: int, rng: np.random.Generator) -> float:
    """Draw the noise of a run and do nothing with it."""
    total = 0.0
    for _ in range(rounds):
        total += rng.standard_normal()
    return total
