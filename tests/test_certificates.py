"""A certificate claims what is proven, and no more."""

import json
import math
import re

import numpy as np
import pytest

from lingape import (
    ALBA,
    EXPLORERS,
    RAGE,
    FixedDesign,
    LinGapE,
    LinGIFA,
    Mixture,
    Problem,
    Race,
    SequentialHalving,
    UGapE,
    Uniform,
    XYAdaptive,
    XYOracle,
    XYStatic,
    canonical,
    run,
    soare,
)
from lingape.certificate import Certificate, share, upward
from lingape.environments import Gaussian
from lingape.errors import InvalidState
from lingape.ties import RIVAL


class TestFixedDesign:
    def test_a_ridge_has_a_bias_that_it_ignores(self):
        problem = Problem([[1.0, 0.0], [0.0, 0.2]], noise=0.01)
        world = Gaussian(problem.arms, [1.0, 5.25], scale=0.01)
        for constants in ("printed", "halved"):
            explorer = XYStatic(problem, bound=FixedDesign(constants), ridge=5.0)
            certificate = run(explorer, world).certificate
            assert certificate.arm == 0  # although arm 1 is better
            assert not certificate.proven
            assert "NO GUARANTEE" in str(certificate) and "bias" in str(certificate)
            plain = XYStatic(problem, bound=FixedDesign(constants, comparisons="K^2"))
            assert run(plain, world).certificate.proven

    @pytest.mark.parametrize(
        ("constants", "comparisons", "proven"),
        [
            ("corrected", "K^2", True),
            ("corrected", "K", True),
            ("corrected", "K-1", True),  # one side of each gap to the best arm
            ("corrected", 5, True),
            ("corrected", 4, False),
            ("halved", "K^2", True),
            ("halved", 14, True),
            ("halved", 13, False),  # the inverted constant costs (π²/6)²
            ("halved", "K-1", False),
            ("halved", "K", False),
            ("printed", 1, True),  # its factor 2 pays for more than it promises
        ],
    )
    def test_comparisons(self, constants, comparisons, proven):
        instance = soare(5, 0.5)
        bound = FixedDesign(constants, comparisons=comparisons)
        certificate = run(
            XYStatic(instance.problem(), bound=bound), instance.gaussian()
        ).certificate
        assert certificate.proven == proven
        assert ("comparisons" in certificate.caveat) != proven

    def test_the_error_it_allows_is_the_sum_over_all_times(self):
        """What `caveat` judges by, against the tail of each width, added up."""
        problem = Problem(np.eye(4), delta=0.3, noise=1.0)
        for constants in ("corrected", "halved", "printed"):
            bound = FixedDesign(constants, comparisons="K")
            estimate, total = bound.estimate(problem), 0.0
            for estimate.pulls in range(1, 20_000):
                radius = bound.radius(problem, estimate)
                total += 3 * math.exp(-(radius**2) / 2)
            assert total <= bound._error(problem) * (1 + 1e-9)
            if constants != "printed":  # there the first width is 0, and errs with 1 at most
                assert total == pytest.approx(bound._error(problem), rel=1e-3)

    def test_phases_that_all_spend_delta(self):
        instance = soare(2, 0.5)
        for constants, proven in (("printed", False), ("halved", False), ("corrected", True)):
            explorer = XYAdaptive(instance.problem(), bound=FixedDesign(constants))
            assert run(explorer, instance.gaussian()).certificate.proven == proven
        ridged = XYAdaptive(instance.problem(), bound=FixedDesign("printed"), ridge=1.0)
        assert "bias" in ridged.certificate().caveat


class TestWords:
    def test_answers_where_not_every_arm_is_one(self):
        arms = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]
        problem = Problem(arms, answers=[0, 1], noise=0.1)
        certificate = run(LinGapE(problem), Gaussian(arms, [1.0, 0.0], scale=0.1)).certificate
        assert str(certificate).startswith("Settled. No answer is better than arm 0, ")
        items = Problem.transductive(arms, items=arms, noise=0.1, epsilon=0.9)
        explorer = RAGE(items)
        run(explorer, Gaussian(items.arms, [1.0, 0.0], scale=0.1))
        assert "answer is" in str(explorer.certificate())
        several = LinGapE(Problem([*arms, [-1.0, 0.0]], answers=[0, 1, 3], noise=1.0), m=2)
        several.tell_many([0, 1, 2, 3], [1.0, 0.0, 2.0, -1.0])
        assert "no other answer is" in str(several.certificate())

    def test_plain_problems_speak_of_arms(self):
        instance = canonical(3, 1.0)
        assert "No arm is better" in str(run(LinGapE(instance.problem()), instance.gaussian()))

    @pytest.mark.parametrize(
        "build",
        [LinGapE, UGapE, Uniform, XYStatic, XYAdaptive, RAGE, ALBA],
        ids=lambda b: b.__name__,
    )
    def test_all_say_that_telling_must_not_depend_on_what_is_not_told(self, build):
        certificate = build(canonical(3, 1.0).problem()).certificate()
        assert any(
            "told, and when, does not depend on" in text for text in certificate.assumptions
        )
        assert "given all rewards told before it" in certificate.assumptions[0]

    def test_phases_fix_the_pulls_of_a_phase(self):
        problem = canonical(3, 1.0).problem()
        whole = "which arm is pulled at which time was fixed before any reward was seen."
        assert whole in str(XYStatic(problem, bound=FixedDesign()).certificate().assumptions)
        assumptions = str(XYAdaptive(problem).certificate().assumptions)
        assert whole not in assumptions and "of that phase" in assumptions

    @pytest.mark.parametrize("name", [name for name in EXPLORERS if name != "xy_oracle"])
    def test_a_plain_sentence_comes_first_and_the_exact_statement_after_it(self, name):
        for text in EXPLORERS[name](canonical(3, 1.0).problem()).certificate().assumptions:
            plain, exact = text.split(" Precisely: ")
            assert plain[0].isupper() and plain.endswith(".") and exact.endswith(".")
            assert not re.search(r"[θᵀ‖λ]|Gaussian|told", plain)

    def test_an_oracle_assumes_what_it_was_told(self):
        instance = canonical(3, 1.0)
        told = "The explorer was told the true weights θ of the features."
        for test, assumes in (("true", True), ("estimated", False)):
            explorer = XYOracle(instance.problem(), theta=instance.theta, test=test)
            assert (told in explorer.certificate().assumptions) == assumes

    def test_one_way_to_say_how_sure(self):
        problem = canonical(3, 1.0).problem(delta=1e-11)
        explorer = SequentialHalving(problem, budget=3_000)
        certificate = run(explorer, canonical(3, 1.0).gaussian()).certificate
        assert "with probability at least 1 - 1e-11" in str(certificate)


class TestNumbers:
    def test_bounds_are_rounded_up(self):
        rng = np.random.default_rng(0)
        for value in (10 ** rng.uniform(-12, 12, 500)).tolist():
            assert value <= float(upward(value)) <= value * 1.001
        assert upward(0.25) == "0.25" and upward(0.0) == "0"

    def test_confidence_is_rounded_down(self):
        rng = np.random.default_rng(1)
        for delta in rng.uniform(0, 1, 500).tolist():
            text = share(delta)
            assert text == f"1 - {delta!r}" or float(text.split()[0]) <= 100 * (1 - delta) + 1e-12
        assert [share(delta) for delta in (0.05, 0.001, 0.1)] == ["95 %", "99.9 %", "90 %"]
        assert [share(delta) for delta in (1 / 3, 1e-30)] == [f"1 - {1 / 3!r}", "1 - 1e-30"]

    @pytest.mark.parametrize("build", [LinGapE, LinGIFA])
    def test_the_margin_is_the_largest_of_all_pairs(self, build):
        """Of contests that agree to rounding the first is taken, with the largest margin."""
        problem = Problem(np.eye(4), delta=0.05, noise=1.0)
        explorer = build(problem, m=2)
        counts = np.array([40, 40, 40, 40])
        hair = 0.3 * RIVAL * problem.noise_scale
        explorer.estimate.load(counts, counts * np.array([1.0, 1.0 - hair, 0.0, 0.0]))
        contests = explorer.parts.contests
        contest = contests.closest(explorer.estimate, {})
        margins = [contests.margins(explorer.estimate, leader)[0][2:].max() for leader in (0, 1)]
        assert margins[1] > margins[0]
        assert contest.margin == max(margins)


def raced(problem, theta, pulls=10**6, seed=0):
    """Return a race after so many pulls, or at its end."""
    explorer, rng = Race(problem), np.random.default_rng(seed)
    while not explorer.done and explorer.counts.sum() < pulls:
        arm = explorer.ask()
        explorer.tell(arm, float(problem.arms[arm] @ theta + 0.1 * rng.normal()))
    return explorer


class TestEvidence:
    ARMS = ((1.0, 0.0), (0.0, 1.0), (0.9, 0.1), (1.0, 0.0), (0.5, 0.5))
    THETA = (0.5, 0.2)

    def test_twins_share_a_p_value_and_arms_that_are_no_answer_have_none(self):
        problem = Problem(self.ARMS, answers=[0, 1, 2, 3], noise="normal")
        p_values = raced(problem, self.THETA).certificate().p_values
        assert p_values[0] == p_values[3] > 0.05
        assert max(p_values[1:3]) <= 0.05 and p_values[4] == 1.0

    def test_words_while_the_question_is_open(self):
        for noise in ("normal", 0.1):
            explorer = Race(Problem(np.eye(4), noise=noise))
            assert str(explorer.certificate()) == "Nothing is proven yet, after 0 pulls."
            pulls = 0
            while not explorer.certificate().ruled_out:
                pulls += 1
                explorer = raced(explorer.problem, (0.5, 0.45, 0.3, 0.1), pulls)
            certificate = explorer.certificate()
            count = sum(p <= 0.05 for p in certificate.p_values)
            assert 0 < count == certificate.ruled_out < 3
            first, second, *_ = str(certificate).split("\n")
            verb = "is" if count == 1 else "are"
            sentence = (
                f"{count} of 4 arms {verb} ruled out: a best arm is among the other {4 - count}, "
                "with probability at least 95 %."
            )
            assert first.startswith("Not settled after") and first.endswith(sentence)
            assert second.startswith("By the bound BlockEvidence()")

    def test_a_verdict_keeps_its_p_values(self):
        explorer = raced(Problem(self.ARMS, noise="normal"), self.THETA)
        before = explorer.certificate()
        explorer.tell(1, 9.0)
        saved = json.dumps(explorer.state())
        assert Race.from_state(json.loads(saved)).certificate() == before
        # Another machine may round otherwise, and what it wrote stays as it is.
        state = json.loads(saved)
        p_values = state["verdict"]["p_values"]
        p_values[1] = float(np.nextafter(p_values[1], 0))
        assert Race.from_state(state).certificate().p_values == tuple(p_values)
        for wrong in (None, [], p_values[:-1], [*p_values[:-1], 1.5], [*p_values[:-1], "0"], 1.0):
            state["verdict"]["p_values"] = wrong
            with pytest.raises(InvalidState, match="verdict"):
                Race.from_state(state)

    def test_other_explorers_have_none(self):
        certificate = LinGapE(canonical(2, 1.0).problem()).certificate()
        assert certificate.p_values is certificate.ruled_out is None
        assert certificate.to_dict()["p_values"] is None


def test_a_certificate_says_everything_as_data():
    certificate = LinGapE(canonical(2, 1.0).problem(), bound=Mixture()).certificate()
    data = certificate.to_dict()
    assert data["proven"] is True and data["caveat"] == "" and data["noun"] == "arm"
    assert data["gap_bound"] is None and data["statement"] == str(certificate)
    assert isinstance(certificate, Certificate)
