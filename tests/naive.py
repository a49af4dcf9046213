"""The paper word for word: an inverse a round, loops over arms, nothing remembered.

Slow and obvious on purpose; the library is tested against it. Only the order in which ties are
broken (the first of those within a hair of the best) is shared with the library.
"""

import itertools
import math

import numpy as np

HAIR = 1e-9


def first_best(values, scale):
    best = max(values)
    return next(k for k, value in enumerate(values) if value >= best - HAIR * scale)


def norm(y, matrix):
    return math.sqrt(max(y @ matrix @ y, 0.0))


def self_normalized(arms, pulled, *, delta, noise_scale, norm_bound, ridge, kappa=1):
    """C_t of (3), from the determinant, and the estimate it belongs to."""
    d = arms.shape[1]
    a = ridge * np.eye(d) + sum(np.outer(arms[k], arms[k]) for k in pulled)
    ratio = np.linalg.det(a) ** 0.5 * np.linalg.det(ridge * np.eye(d)) ** -0.5
    c = noise_scale * math.sqrt(2 * math.log(kappa * ratio / delta)) + ridge**0.5 * norm_bound
    inverse = np.linalg.inv(a)
    return inverse, lambda y: norm(y, inverse) * c


def worst_case(arms, pulled, *, delta, noise_scale, norm_bound, ridge, kappa=1):
    """The right-hand side of (4)."""
    d, n = arms.shape[1], len(pulled)
    longest = max(np.linalg.norm(x) for x in arms)
    a = ridge * np.eye(d) + sum(np.outer(arms[k], arms[k]) for k in pulled)
    c = noise_scale * math.sqrt(d * math.log(kappa * (1 + n * longest**2 / ridge) / delta))
    inverse = np.linalg.inv(a)
    return inverse, lambda y: norm(y, inverse) * (c + ridge**0.5 * norm_bound)


def mixture(arms, pulled, *, delta, noise_scale, design, scales=8, base=16.0, known=None):
    """The mixture over prior scales, in the features as given.

    known: how many of the pulls are in the determinants; the others enter through the growth of
    det V, which is larger.
    """
    v = sum(np.outer(arms[k], arms[k]) for k in pulled)
    v0 = sum(np.outer(arms[k], arms[k]) for k in pulled[:known])
    prior = sum(p * np.outer(x, x) for p, x in zip(design, arms, strict=True))
    inverse = np.linalg.inv(v)
    growth = math.log(np.linalg.det(v)) - math.log(np.linalg.det(v0))

    def width(y):
        best = math.inf
        for j in range(scales):
            scaled = base**j * prior
            det = np.linalg.det(np.eye(len(v)) + np.linalg.inv(scaled) @ v0)
            nats = math.log(scales / delta) + 0.5 * (math.log(det) + growth)
            z = inverse @ y
            best = min(best, 2 * nats * (y @ z + z @ scaled @ z))
        return noise_scale * math.sqrt(best)

    return inverse, width


def mixture_brute_force(error, v, *, delta, scales=8, base=16.0):
    """Whether an error θ̂ - θ is excluded by the supermartingale itself (Λ = I, R = 1)."""
    s = v @ error
    total = 0.0
    for j in range(scales):
        shifted = v + base**j * np.eye(len(v))
        exponent = 0.5 * s @ np.linalg.inv(shifted) @ s
        det = np.linalg.det(shifted) / base ** (j * len(v))
        total += math.exp(min(exponent, 600.0)) / math.sqrt(det) / scales
    return total >= 1 / delta


def greedy(arms, a, y):
    """(9)"""
    after = [y @ np.linalg.inv(a + np.outer(x, x)) @ y for x in arms]
    before = y @ np.linalg.inv(a) @ y
    gains = [before - value for value in after]
    return first_best(gains, max(gains))


def best_mix(arms, y):
    """min Σ|w| s.t. Σ w_k x_k = y (11), by trying every basis; all optimal ones."""
    count, d = arms.shape
    found = []
    for size in range(1, d + 1):
        for support in itertools.combinations(range(count), size):
            x = arms[list(support)]
            if np.linalg.matrix_rank(x) < size:
                continue
            w = np.linalg.lstsq(x.T, y, rcond=None)[0]
            if np.allclose(x.T @ w, y, atol=1e-9) and np.abs(w).min() > 1e-9:
                full = np.zeros(count)
                full[list(support)] = w
                found.append(full)
    least = min(np.abs(w).sum() for w in found)
    return [w for w in found if np.abs(w).sum() <= least + 1e-9]


def track(arms, counts, y):
    """(12), for directions whose best mix is unique."""
    (w,) = best_mix(arms, y)
    p = np.abs(w) / np.abs(w).sum()
    behind = [-counts[k] / p[k] if p[k] > 1e-12 else -math.inf for k in range(len(arms))]
    return first_best(behind, -max(behind))


def select_direction(arms, inverse, width, pulled, rewards):
    """Algorithm 2, without j = i."""
    b = sum(arms[k] * r for k, r in zip(pulled, rewards, strict=True))
    theta = inverse @ b
    means = [x @ theta for x in arms]
    i = first_best(means, 1e-3)
    widths = [width(arms[j] - arms[i]) for j in range(len(arms))]
    margins = [
        (arms[j] - arms[i]) @ theta + widths[j] if j != i else -math.inf for j in range(len(arms))
    ]
    j = first_best(margins, 1e-1)
    return i, j, margins[j]


def lingape(arms, pay, bound, *, ridge, epsilon=0.0, rounds=200, pull=None):
    """Algorithm 1. `bound(arms, pulled)` gives the inverse design matrix and the width."""
    pulled, rewards = [], []
    for k in range(len(arms)):
        pulled.append(k)
        rewards.append(pay(k))
    while True:
        inverse, width = bound(arms, pulled)
        i, j, margin = select_direction(arms, inverse, width, pulled, rewards)
        if margin <= epsilon:
            return pulled, i
        if len(pulled) >= rounds:
            return pulled, None
        y = arms[i] - arms[j]
        if pull == "tracking":
            arm = track(arms, np.bincount(pulled, minlength=len(arms)), y)
        else:
            arm = greedy(arms, np.linalg.inv(inverse), y)
        pulled.append(arm)
        rewards.append(pay(arm))


def evidence(x, block, rewards, i, j, *, gap, error, shift, noise):
    """The logarithm of what a block says against arm j, reward by reward.

    x: features in which the G-optimal design has the moments I. block: arms and their numbers of
    pulls, with guessed variances and means. rewards: (arm, reward) pairs.
    noise: "known", "normal", "binary", or the lowest and the highest reward.
    """
    d = x.shape[1]
    v = sum(n * np.outer(x[a], x[a]) / variance for a, n, variance, _ in block)
    y = x[i] - x[j]
    z = np.linalg.lstsq(v, y, rcond=1e-9)[0]
    information = 1 / (y @ z)
    weight = {a: x[a] @ z * information / variance for a, _, variance, _ in block}
    guess = {a: mean for a, _, _, mean in block}
    typical = sum(n * variance for _, n, variance, _ in block) / sum(n for _, n, _, _ in block)
    largest = math.sqrt(y @ y * typical / (2 * d))
    total = paid = 0.0
    for k in range(32):
        bet = largest / 2 ** (k / 2)
        prior = 0.93 / 14 if k < 14 else 0.07 * (1 - 2**-0.5) / 2 ** ((k - 14) / 2)
        belief = prior * math.exp(-((bet - gap) ** 2) / (4 * error**2))
        if noise == "known":
            score = sum(weight[a] * r for a, r in rewards) + shift * information
            log = bet * score - bet**2 * information / 2
        elif noise == "normal":
            log = _student(x, rewards, weight, information, bet, shift, block)
        else:
            log = _betting(rewards, weight, guess, information, bet, shift, noise)
        total += belief
        paid += belief * math.exp(log)
    return math.log(paid / total)


def _betting(rewards, weight, guess, information, bet, shift, noise):
    low, high = (0.0, 1.0) if noise == "binary" else noise

    def fall(a):
        """How far below 1 the factor of a reward can be, for a bet of 1."""
        return max(weight[a] * (guess[a] - low), weight[a] * (guess[a] - high))

    bet = min(bet, 0.5 / max(fall(a) for a in weight))
    log = bet * shift * information
    for a, r in rewards:
        u = bet * weight[a] * (r - guess[a])
        depth = max(bet * fall(a), 1e-4)
        c = (-math.log1p(-depth) - depth) / depth**2
        exact = math.log1p(u)
        assert exact >= u - c * u**2 - 1e-12
        log += (exact if noise == "binary" else u - c * u**2) + bet * weight[a] * guess[a]
    return log


def _student(x, rewards, weight, information, bet, shift, block):
    """By a sum over many values of χ."""
    variance = block[0][2]
    score = sum(weight[a] * r for a, r in rewards) + shift * information
    design = np.array([x[a] for a, _ in rewards])
    paid = np.array([r for _, r in rewards])
    fit = np.linalg.lstsq(design, paid, rcond=1e-6)
    residual = ((paid - design @ fit[0]) ** 2).sum() / variance
    freedom = len(paid) - fit[2]
    u = score / math.sqrt(score**2 + information * residual)
    chi = np.arange(1e-3, math.sqrt(freedom + 1) + 12, 1e-3)
    density = np.exp(freedom * np.log(chi) - chi**2 / 2)
    effect = bet * math.sqrt(information)
    mean = (density * np.exp(effect * u * chi)).sum() / density.sum()
    return math.log(mean) - effect**2 / 2
