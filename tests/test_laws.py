"""Run every law on every registered explorer and bound, and on LinGapE with each of its parts."""

import functools

import numpy as np
import pytest

from lingape import (
    BOUNDS,
    EXPLORERS,
    PULLS,
    FixedDesign,
    LinGapE,
    Mixture,
    Race,
    SelfNormalized,
    XYOracle,
    XYStatic,
)
from lingape.testing import BOUND_LAWS, EXPLORER_LAWS


def _pull(name):
    return PULLS[name]() if isinstance(PULLS[name], type) else PULLS[name]


def _lingape(bound, pull, problem, means):
    return LinGapE(problem, bound=bound, pull=_pull(pull))


def _plain(kind, problem, means, **settings):
    return kind(problem, **settings)


def _race(noise, problem, means):
    return Race(problem.replace(noise=noise))


def _race_in_a_range(problem, means):
    """Return a race that promises only what every law keeps to: rewards near their means."""
    reach = float(np.abs(means).max()) + 40 * problem.noise_scale
    return Race(problem.replace(noise=(-reach, reach)))


def _oracle(problem, means, **settings):
    theta = np.linalg.lstsq(problem.arms, means, rcond=None)[0]
    return XYOracle(problem, theta=theta, **settings)


BUILDERS = {
    name: _oracle if kind is XYOracle else functools.partial(_plain, kind)
    for name, kind in EXPLORERS.items()
} | {
    f"lingape-{name}-{pull}": functools.partial(_lingape, bound(), pull)
    for name, bound in BOUNDS.items()
    if bound.adaptive
    for pull in PULLS
}
BUILDERS["lingape-refined"] = functools.partial(_lingape, Mixture(refined=True), "greedy")
BUILDERS["lingape-spanning"] = functools.partial(_plain, LinGapE, start="spanning")
BUILDERS["lingape-spanning-ridge"] = functools.partial(
    _plain, LinGapE, start="spanning", bound=SelfNormalized()
)
BUILDERS["lingape-eliminating-to-stop"] = functools.partial(_plain, LinGapE, elimination="stop")
BUILDERS["lingape-eliminating"] = functools.partial(_plain, LinGapE, elimination="sample")
BUILDERS["lingape-K^2"] = functools.partial(_lingape, SelfNormalized("K^2"), "greedy")
BUILDERS["race-normal"] = functools.partial(_race, "normal")
BUILDERS["race-bounded"] = _race_in_a_range
BUILDERS["xy_static_greedy"] = functools.partial(_plain, XYStatic, design="greedy")
BUILDERS["xy_static_printed"] = functools.partial(
    _plain, XYStatic, bound=FixedDesign("printed"), ridge=0.01
)
BUILDERS["xy_static_fixed_design"] = functools.partial(_plain, XYStatic, bound=FixedDesign())
BUILDERS["xy_oracle_estimated"] = functools.partial(_oracle, test="estimated")

BOUND_BUILDERS = dict(BOUNDS) | {
    "mixture-refined": functools.partial(Mixture, refined=True),
    "self_normalized_K^2": functools.partial(SelfNormalized, "K^2"),
}


# These play in worlds with Gaussian noise, which keeps to no range.
UNBOUNDED = {"stops_and_is_right", "compiled_lane_plays_the_same", "play_yields_what_run_reports"}


@pytest.mark.parametrize(
    ("law", "explorer"),
    [
        (law, explorer)
        for law in EXPLORER_LAWS
        for explorer in BUILDERS
        if explorer != "race-bounded" or law not in UNBOUNDED
    ],
)
def test_explorer(law, explorer):
    EXPLORER_LAWS[law](BUILDERS[explorer])


@pytest.mark.parametrize("bound", BOUND_BUILDERS)
@pytest.mark.parametrize("law", BOUND_LAWS)
def test_bound(law, bound):
    BOUND_LAWS[law](BOUND_BUILDERS[bound])
