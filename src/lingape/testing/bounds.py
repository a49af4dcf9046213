"""What every bound obeys."""

from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..bounds import Bound
from ..environments import soare_tied, sphere
from ..errors import LingapeError
from ..explorers import LinGapE
from ..pulls import greedy
from .judging import errors_allowed, require

#: Makes a new bound.
BuildBound: TypeAlias = Callable[[], Bound]


def wider_for_smaller_delta(build: BuildBound) -> None:
    """More confidence costs width."""
    widths = [_widths(build(), delta=delta) for delta in (0.2, 0.05, 1e-3, 1e-9)]
    for wide, wider in pairwise(widths):
        require((wide[1:] < wider[1:]).all(), "a smaller δ did not widen every interval")


def scales_with_the_noise(build: BuildBound) -> None:
    """R and S in other units change the widths by the same factor."""
    narrow, wide = _widths(build()), _widths(build(), noise=3.0, norm_bound=6.0)
    require(np.allclose(3.0 * narrow, wide, rtol=1e-9), "widths do not scale with R and S")


def shrinks_with_pulls(build: BuildBound) -> None:
    """A hundred times the pulls make every interval shorter; the leader's own has no width."""
    few, many = _widths(build()), _widths(build(), repeats=300)
    require((many[1:] < few[1:]).all(), "a hundred times the pulls did not narrow an interval")
    require(abs(few[0]) < 1e-6 * few[1], f"the gap of an arm to itself has width {few[0]}")


def covers_as_promised(build: BuildBound) -> None:
    """Intervals hold at all times, in all but a share δ of runs.

    Under adaptive sampling all of them, if the bound claims to be adaptive; else, under a fixed
    design, the upper ends of gaps to the best arm. A bound that says of itself that it is not
    proven promises nothing.
    """
    bound, rounds, runs = build(), 150, 60
    instance = soare_tied(2, 0.5)
    problem = instance.problem(norm_bound=2.0, delta=0.1)
    if bound.caveat(problem, bound.estimate(problem).ridge):
        return
    means = instance.gaussian().means
    best = int(means.argmax())
    missed = 0
    for seed in range(runs):
        estimate, rng = bound.estimate(problem), np.random.default_rng(seed)
        leader, rival, missed_now = 0, 1, False
        for t in range(rounds):
            if t < len(problem) or not bound.adaptive:
                arm = t % len(problem)
            else:
                arm = greedy(estimate, leader, rival)
            estimate.update(arm, float(means[arm] + rng.standard_normal()))
            if t < len(problem) - 1:
                continue
            leader = int(estimate.means.argmax()) if bound.adaptive else best
            widths = bound.widths(problem, estimate, leader)
            errors = (estimate.means - estimate.means[leader]) - (means - means[leader])
            errors = np.abs(errors) if bound.adaptive else errors
            missed_now |= bool((errors > widths + 1e-12).any())
            upper = estimate.means + widths
            upper[leader] = -np.inf
            rival = int(upper.argmax())
        missed += missed_now
    allowed = errors_allowed(runs, problem.delta)
    require(missed <= allowed, f"{missed} of {runs} runs missed; {allowed} allowed")


def explains_itself(build: BuildBound) -> None:
    """It states what it assumes, and an adaptive explorer refuses it if it has to."""
    bound = build()
    problem = sphere(4, 2).problem()
    texts = [*bound.assumptions(problem), bound.caveat(problem, 0.0) or "."]
    require(all(text.endswith(".") for text in texts), "not sentences")
    try:
        LinGapE(problem, bound=bound)
    except LingapeError as reason:
        require(not bound.adaptive, f"LinGapE refused an adaptive bound: {reason}")
    else:
        require(bound.adaptive, "LinGapE took a bound that does not hold for it")


def _widths(
    bound: Bound,
    *,
    delta: float = 0.05,
    noise: float = 1.0,
    norm_bound: float = 2.0,
    repeats: int = 3,
) -> FloatArray:
    """Return the widths after each of a few arms was pulled `repeats` times; the leader first."""
    instance = sphere(6, 3, seed=2)
    problem = instance.problem(noise=noise, norm_bound=norm_bound, delta=delta)
    estimate = bound.estimate(problem)
    for _ in range(repeats):
        for arm in range(len(problem)):
            estimate.update(arm, 0.0)
    return bound.widths(problem, estimate, 0)


#: What every bound obeys, by name; a law takes what makes a bound.
BOUND_LAWS: dict[str, Callable[[BuildBound], None]] = {
    law.__name__: law
    for law in (
        wider_for_smaller_delta,
        scales_with_the_noise,
        shrinks_with_pulls,
        covers_as_promised,
        explains_itself,
    )
}
