"""What every explorer with a fixed budget obeys."""

import json
import math
import re
from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..environments import canonical, soare, sphere
from ..errors import InvalidArgument, InvalidState
from ..explorers import Explorer
from ..lanes import compiled_lane
from ..problem import Problem
from ..runs import Ending, run
from . import explorers as laws
from .explorers import BuildExplorer, Tape, generic, pulls_of
from .judging import errors_allowed, refusal, require

#: Makes a new explorer for a problem and a number of pulls.
BuildBudgetExplorer: TypeAlias = Callable[[Problem, int], Explorer]


def _with(budget: int, build: BuildBudgetExplorer) -> BuildExplorer:
    """Return a builder for the laws of explorers without a budget."""
    return lambda problem, means: build(problem, budget)


def unasked_arms_are_welcome(build: BuildBudgetExplorer) -> None:
    """Arms told without being asked count like others, and are paid from the same budget."""
    laws.unasked_arms_are_welcome(_with(150, build))
    problem, means = _easy()
    explorer, tape = build(problem, 60), Tape(means)
    for _ in range(60):  # nothing but one arm, which tells nothing about the others
        require(not explorer.done, "done before the budget was spent")
        explorer.tell(1, tape.pay(1))
    require(explorer.done, "pulls that were not asked for are not paid for")
    require(not explorer.certificate().settled, "one arm's rewards proved it best")


def compiled_lane_plays_the_same(build: BuildBudgetExplorer) -> None:
    """The compiled lane, if there is one, plays the pulls of ask and tell, to the same answer."""
    laws.compiled_lane_plays_the_same(_with(700, build))
    for instance in (soare(4, 0.2), sphere(60, 3, seed=2)):
        problem, world = instance.problem(norm_bound=2.0), instance.gaussian()
        if compiled_lane(build(problem, 500)) is None:
            continue
        for seed in range(5):
            plain, fast = (
                run(build(problem, 500), world, seed=seed, lane=lane)
                for lane in ("plain", "compiled")
            )
            require(
                plain.arm == fast.arm,
                f"on {instance.name} the plain lane answers {plain.arm}, the compiled {fast.arm}",
            )
            proven, proven_fast = plain.certificate.gap_bound, fast.certificate.gap_bound
            require(
                math.isclose(proven, proven_fast, rel_tol=1e-6),
                f"on {instance.name} the lanes prove different things",
            )
            # A run in pieces is the same run.
            pieces, rng = build(problem, 500), np.random.default_rng(seed)
            for part in (3, 100, 200, 500):
                run(pieces, world, seed=rng, max_pulls=part, lane="compiled")
            require(pieces.counts.tolist() == fast.counts.tolist(), "a run in pieces differs")


def spends_exactly_its_budget(build: BuildBudgetExplorer) -> None:
    """It is done when the budget is spent, no sooner and no later."""
    problem, means = generic()
    for budget in (100, 101, 102, 107):
        explorer, tape = build(problem, budget), Tape(means)
        pulled = pulls_of(explorer, tape, 10 * budget)
        require(len(pulled) == budget, f"{len(pulled)} pulls, with a budget of {budget}")
        explorer = build(problem, budget)
        pulls_of(explorer, Tape(means), budget - 3)
        require(not explorer.done, "done before the budget was spent")
        require(len(explorer.ask_many(2)) == 2, "ask_many held back")
        require(len(explorer.ask_many(10)) == 3, "ask_many went over the budget")
        require(len(explorer.ask_many(10, pending=[0])) == 2, "ask_many forgot what is pending")
        require(explorer.ask_many(10, pending=[0, 1, 2]) == [], "ask_many forgot what is pending")
        for _ in range(3):
            require(not explorer.done, "done before the budget was spent")
            explorer.tell(0, 0.0)
        require(explorer.done, "not done although the budget is spent")


def too_small_a_budget_is_refused(build: BuildBudgetExplorer) -> None:
    """A budget that cannot work is refused with one that can, and that is the least."""
    for problem, means in (generic(), _easy()):
        refused = {
            budget: refusal(InvalidArgument, f"a budget of {budget!r}", build, problem, budget)
            for budget in (None, "many", 10.0, True, 0)
        }
        least = int(re.findall(r"at least (\d+)", refused[0])[0])
        require(least > 0, "a budget of 0 is refused, and 0 recommended")
        reason = refusal(InvalidArgument, f"a budget of {least - 1}", build, problem, least - 1)
        require(f"got {least - 1}" in reason, "the value is not named")
        explorer = build(problem, least)
        pulls_of(explorer, Tape(means))
        require(explorer.done, f"not done after {least} pulls, the least budget")


def certificate_says_what_is_proven(build: BuildBudgetExplorer) -> None:
    """The certificate is there at any time, is about the answer, and says what is spent."""
    problem, means = generic()
    problem = problem.replace(epsilon=1.0)
    explorer, tape = build(problem, 300), Tape(means)
    require(not explorer.certificate().settled, "settled before the first pull")
    require("nothing is proven" in str(explorer.certificate()), "something is, without a pull")
    while not explorer.done:
        explorer.tell(arm := explorer.ask(), tape.pay(arm))
        certificate = laws.checked_certificate(explorer)
    require("300 pulls is spent" in str(certificate), f"no word of the budget: {certificate}")


def certificate_is_valid(build: BuildBudgetExplorer) -> None:
    """What it claims at the end holds with probability 1 - δ, and easy questions get answered."""
    instance = canonical(3, 1.5)
    problem, world = instance.problem(norm_bound=2.0, delta=0.1), instance.gaussian()
    results = [run(build(problem, 150), world, seed=seed) for seed in range(60)]
    allowed = errors_allowed(len(results), problem.delta)
    false = sum(r.true_gap > r.certificate.gap_bound for r in results)
    require(false <= allowed, f"{false} of {len(results)} certificates were false")
    wrong = sum(not r.correct for r in results)
    require(wrong <= allowed, f"{wrong} of {len(results)} answers to an easy question were wrong")
    endings = {r.ending for r in results}
    require(endings <= {Ending.SPENT, Ending.SETTLED}, f"runs ended as {endings}")


def damaged_states_are_refused(build: BuildBudgetExplorer) -> None:
    """A saved state whose budget, verdict or counts do not fit each other is refused."""
    problem, means = generic()
    explorer, tape = build(problem, 100), Tape(means)
    pulls_of(explorer, tape, 60)
    halfway = explorer.state()
    pulls_of(explorer, tape)
    over = explorer.state()
    for state, name, value in (
        (halfway, "verdict", over["verdict"]),
        (over, "verdict", None),
        (over, "verdict", over["verdict"] | {"gap_bound": -1.0}),
        (over, "verdict", over["verdict"] | {"settled": True}),
        (over, "settings", over["settings"] | {"budget": 1_000}),
        (halfway, "settings", halfway["settings"] | {"budget": 0}),
    ):
        damaged = json.loads(json.dumps(state | {name: value}))
        refusal(InvalidState, f"a state with another {name}", type(explorer).from_state, damaged)


def _easy() -> tuple[Problem, FloatArray]:
    instance = canonical(3, 1.5)
    return instance.problem(norm_bound=2.0), instance.gaussian().means


# Laws of explorers without a budget that hold as they are, and a budget that suits each.
_AS_THEY_ARE: dict[Callable[[BuildExplorer], None], int] = {
    laws.asking_changes_nothing: 400,
    laws.refused_rewards_leave_no_trace: 400,
    laws.copies_agree_to_the_end: 150,
    laws.rotation_changes_no_pull: 190,
    laws.units_change_no_pull: 190,
    laws.renaming_renames_the_answer: 2_000,
    laws.caches_agree_with_a_rebuild: 1_370,
    laws.done_is_for_good: 60,
    laws.odd_problems_are_answered: 300,
    laws.play_yields_what_run_reports: 1_000,
}


def _budgeted(
    law: Callable[[BuildExplorer], None], budget: int
) -> Callable[[BuildBudgetExplorer], None]:
    """Return a law of explorers without a budget for those with one."""

    @wraps(law)
    def obeyed(build: BuildBudgetExplorer) -> None:
        law(_with(budget, build))

    return obeyed


#: What every explorer with a fixed budget obeys, by name; a law takes what makes an explorer.
BUDGET_LAWS: dict[str, Callable[[BuildBudgetExplorer], None]] = {
    law.__name__: law
    for law in (
        *(_budgeted(law, budget) for law, budget in _AS_THEY_ARE.items()),
        unasked_arms_are_welcome,
        compiled_lane_plays_the_same,
        spends_exactly_its_budget,
        too_small_a_budget_is_refused,
        certificate_says_what_is_proven,
        certificate_is_valid,
        damaged_states_are_refused,
    )
}
