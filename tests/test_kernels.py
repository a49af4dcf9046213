"""Each part's kernel, as plain Python, does what its NumPy form does, at some moments of a run."""

import numpy as np
import pytest

from lingape import BOUNDS, BUDGET_EXPLORERS, EXPLORERS, LinGapE, Mixture, Tracking, UGapEBudget
from lingape.environments.instances import canonical, soare, sphere
from lingape.kernels.book import PULLS, TICK, Model, absorb, rebuild, row_for
from lingape.kernels.parts import GO_ON, NEEDS_HELP, choose, closest, decide, write_ends
from lingape.lanes.compiled import ContestLane
from lingape.pulls.base import Learner
from lingape.scaffold import ContestExplorer
from lingape.testing import Tape

INSTANCES = [sphere(7, 3, seed=5), sphere(20, 3, seed=2), soare(3, 0.2), canonical(3, 0.5)]
TIMES = (25, 26, 60, 200)  # after this many pulls; after the 25th, rows move without a rebuild


def builders():
    for name, kind in EXPLORERS.items():
        if issubclass(kind, ContestExplorer) and name != "xy_oracle":
            yield name, kind
    for name, kind in BUDGET_EXPLORERS.items():
        if issubclass(kind, ContestExplorer):
            yield name, lambda problem, kind=kind: kind(problem, budget=1_000)
    for name, bound in BOUNDS.items():
        if bound().adaptive:
            yield (
                f"lingape by {name}",
                lambda problem, bound=bound: LinGapE(problem, bound=bound(), pull=Tracking()),
            )
    for elimination in ("stop", "sample"):
        yield (
            f"elimination {elimination}",
            lambda problem, how=elimination: LinGapE(
                problem, bound=Mixture(refined=True), elimination=how
            ),
        )
    yield "exploring", lambda problem: UGapEBudget(problem, budget=1_000, exploration=3.0)


BUILDERS = dict(builders())


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.name)
@pytest.mark.parametrize("name", BUILDERS)
def test_part_by_part(name, instance):
    problem = instance.problem(norm_bound=2.0, delta=1e-9)
    explorer, tape = BUILDERS[name](problem), Tape(instance.gaussian().means)
    with np.errstate(over="ignore"):  # kernels draw numbers from whole ones that wrap around
        play_and_compare(explorer, tape)


def play_and_compare(explorer, tape):
    for pulls in range(1, max(TIMES) + 1):
        arm = explorer.ask()
        lane = None
        if pulls in TIMES and explorer.contest is not None:
            lane = ContestLane.of(explorer)
            if lane is None:
                pytest.skip("a part has no kernel")
            bound, contest, pull, stopping = lane._kernels
            model = Model(lane._arena, lane._book, bound)
            rebuild(model, pull)
            explorer.estimate.rebuild()
            compare(explorer, model, contest, stopping, pull, arm)
        reward = tape.pay(arm)
        explorer.tell(arm, reward)
        if explorer.done:
            return
        if lane is not None:
            compare_after(explorer, model, contest, stopping, pull, arm, reward)


def compare(explorer, model, contest, stopping, pull, arm):
    _, contests, rule, plain = explorer.parts
    problem, estimate, book = explorer.problem, explorer.estimate, model.book
    leader, rival, margin, factor = closest(contest, model, stopping)
    expected = contests.closest(estimate, plain.unasked)
    assert (leader, rival) == expected[:2]
    assert margin == pytest.approx(expected.margin, rel=1e-9)
    assert decide(stopping, leader, margin, estimate.pulls, problem.noise_scale) == GO_ON
    if hasattr(contests.bound, "widths"):
        for other in range(len(problem)):
            row = row_for(model, other)
            write_ends(model.bound, book, book.means, factor, other, row)
            widths = contests.bound.widths(problem, estimate, other)
            apart = estimate.twins != estimate.twins[other]
            assert (book.scores - book.means)[apart] == pytest.approx(widths[apart], rel=1e-7)
    if hasattr(contests.bound, "radius"):
        assert factor == pytest.approx(contests.bound.radius(problem, estimate))
    book.clock[TICK] += 1  # as each round does
    chosen = choose(pull, model, leader, rival)
    if chosen == NEEDS_HELP:
        pull = rule.help(pull, model.arena.features, book.means, leader, rival)
        chosen = choose(pull, model, leader, rival)
    assert chosen == rule(estimate, leader, rival)


def compare_after(explorer, model, contest, stopping, pull, arm, reward):
    """A pull moves caches and memories as a tell does."""
    rule, estimate, book = explorer.parts.pull, explorer.estimate, model.book
    book.counts[arm] += 1
    book.sums[arm] += reward
    book.clock[PULLS] += 1
    book.clock[TICK] += 1
    assert absorb(model, pull, arm, reward)
    assert book.means == pytest.approx(estimate.means, rel=1e-9, abs=1e-9)
    assert book.variances == pytest.approx(estimate.variances, rel=1e-9)
    leader, rival, margin, _ = closest(contest, model, stopping)
    assert (leader, rival) == explorer.contest[:2]
    assert margin == pytest.approx(explorer.contest.margin, rel=1e-6)
    if isinstance(rule, Learner) and choose(pull, model, leader, rival) != NEEDS_HELP:
        for mine, kernels in zip(rule.memory, pull.memory, strict=True):
            assert np.allclose(mine, kernels, rtol=1e-6, atol=1e-9)
