"""What is known so far, in plain words."""

import re

import numpy as np
import pytest
from crew import ARMS

from lingape import Experiment, Factors, Problem
from lingape.live.verdicts import _forecast, _lifted
from lingape.remaining import Remaining

NAMES = ["a", "b", "c"]
MEANS = (0.1, 0.3, 0.8)
ENDS = r"\(-?[\d.]+ to -?[\d.]+\)"


def told(experiment, rounds, means=MEANS):
    for i in range(rounds):
        for arm, mean in enumerate(means):
            experiment.add(arm, mean + 0.01 * (-1) ** i)
    return experiment.status()


def begin(url, *, explorer="lingape", **settings):
    problem = Problem(np.eye(3), **{"noise": 0.2, "names": NAMES} | settings)
    return Experiment.open(url, "ads", create=problem, explorer=explorer)


def test_before_there_is_anything_to_say(url):
    with begin(url, explorer="race") as experiment:
        said = ("Too early to say: there are too few rewards to compare arms.",)
        assert experiment.status().verdict == said and experiment.status().remarks == ()


def test_a_leader_and_what_is_missing(url):
    with begin(url, epsilon=0.05, noise=1.0, control="a") as experiment:
        first, worth, missing, *rest = told(experiment, 3).verdict
        assert first == "c leads."
        assert re.fullmatch(
            rf"It averages 0.8 {ENDS}, 0.7 above the control, but not told apart from the "
            rf"control yet {ENDS}\.",
            worth,
        )
        words = r"b may still be better by up to [\d.]+; to stop, that has to fall to 0.05\."
        assert re.fullmatch(words, missing)
        assert all("more pulls" in said or "No end in sight" in said for said in rest)


def test_rivals_that_are_ruled_out(url):
    rng, sentences = np.random.default_rng(0), set()
    problem = Problem(ARMS, noise=0.3, delta=0.1)
    with Experiment.open(url, "ads", create=problem) as experiment:
        while not (status := experiment.status()).settled:
            sentences.update(status.verdict)
            if status.ruled_out:
                count = f"{status.ruled_out} of 6 arms {'is' if status.ruled_out == 1 else 'are'}"
                rival = f"{status.rival_name} is the closest rival."
                assert f"{count} ruled out as best; {rival}" in status.verdict
            for ticket in experiment.ask(4):
                reward = ARMS[ticket.arm] @ [0.5, 0.3, 0.1] + 0.3 * rng.normal()
                experiment.tell(ticket, float(reward))
        assert any(said.startswith("No arm is ruled out as best yet; arm") for said in sentences)
        assert status.verdict[0] == f"Arm {status.answer} is the best, 90 % sure."
        assert str(status).startswith(" ".join(status.verdict))


def test_an_answer(url):
    with begin(url, control="a") as experiment:
        status = told(experiment, 20)
        best, worth = status.verdict
        assert best == "c is the best, 95 % sure."
        assert re.fullmatch(rf"It averages 0.80 {ENDS}, 0.70 above the control {ENDS}\.", worth)
        assert status.value_low < 0.8 < status.value_high and status.lift_low > 0
        at = status.settled_pulls
        assert status.remarks == (
            f"It was settled at reward {at}; {60 - at} more came later. The certificate rests on "
            f"the first {at}; averages and intervals here count all 60.",
        )


def test_the_lowest_may_be_the_best(url):
    with begin(url, control="c", minimize=True, epsilon=0.1) as experiment:
        best, worth = told(experiment, 60).verdict
        assert re.fullmatch(r"a is (the best|best or within [\d.]+ of it), 95 % sure\.", best)
        words = rf"It averages 0.10 {ENDS}, 0.70 below the control {ENDS}; lower is better\."
        assert re.fullmatch(words, worth)


def test_the_control_itself(url):
    with begin(url, control="c", noise="binary") as experiment:
        status = experiment.status()
        for i in range(600):
            if not status.settled:
                experiment.add(i % 3, int(i % 3 == 2))
                status = experiment.status() if i % 50 == 49 else status
        assert status.verdict[0] == "c is the best, 95 % sure."
        assert re.fullmatch(rf"Its rate is 1.00 {ENDS}\.", status.verdict[1])
        assert status.verdict[2] == "It is the control."
        (row,) = (line for line in status.table().splitlines() if line.startswith("  c "))
        assert "the control" in row and "the same" not in status.table()


def test_what_is_within_epsilon(url):
    with begin(url, epsilon=1.5, noise=1.0) as experiment:
        status = told(experiment, 30)
        bound = status.certificate.gap_bound
        assert 0 < bound <= 1.5
        assert re.fullmatch(r"c is best or within [\d.]+ of it, 95 % sure\.", status.verdict[0])


def test_several_arms_to_be_found(url):
    with begin(url, explorer="lin_gifa(m=2)") as experiment:
        status = told(experiment, 2)
        assert status.verdict[0] in ("c and b lead.", "b and c lead.")
        assert re.fullmatch(rf"[bc] averages [\d.]+ {ENDS}\.", status.verdict[1])
        found = told(experiment, 40).verdict
        assert found[0].startswith("c and b are the 2 best") and found[0].endswith(", 95 % sure.")


def test_a_budget_may_prove_too_little(url):
    with begin(url, explorer="lingape_budget(budget=12)", noise=1.0) as experiment:
        assert "12 more pulls." in experiment.status().verdict
        for _ in range(12):
            (ticket,) = experiment.ask()
            experiment.tell(ticket, MEANS[ticket.arm])
        first, _, less, bound = experiment.status().verdict
        assert first == "c looks best."
        assert less == "What is proven is less than what was asked for."
        assert re.fullmatch(r"The best arm is at most [\d.]+ better, 95 % sure\.", bound)


def test_rules_of_thumb_guarantee_nothing(url):
    with begin(url, explorer="lingape(bound=stylised)", noise=1.0) as experiment:
        for rounds in (2, 60):
            assert "There is no guarantee: " in " ".join(told(experiment, rounds).verdict)


def test_doubts_come_first(url):
    with begin(url) as experiment:
        for i in range(30):
            experiment.add(i % 3, 0.6 * (-1) ** (i // 3))
        before = experiment.status()
        assert before.warnings and before.verdict[0].startswith("The data contradict what an ")
        for i in range(900):
            if not experiment.add(i % 3, 10 * MEANS[i % 3]).settled:
                continue
            status = experiment.status()
            assert status.verdict[0] == (
                "The data contradict what the answer assumes: do not rely on it before that is "
                "explained."
            )
            assert status.verdict[1] == "c is the best, 95 % sure."
            return
        pytest.fail("it was not settled")


def test_few_pulls_may_be_enough(url):
    factors = Factors(one=["a", "b"], two=["x", "y"])
    problem = Problem(factors, noise=0.2)
    with Experiment.open(
        url, "ads", create=problem, explorer="lingape(start=spanning)"
    ) as experiment:
        for i in range(60):
            arm = i % 3
            experiment.add(arm, [0.0, 0.3, 0.3][arm])
        status = experiment.status()
        assert (status.foremost, status.answer_pulls) == (3, 0)
        said = "Its value" if not status.settled else "That is enough: its value"
        assert status.remarks[0] == (
            f"one=b, two=y was never pulled. {said} follows from the rewards of arms that share "
            "its features, so 60 other pulls speak of it too."
        )


def test_few_pulls_of_an_arm_on_its_own(url):
    with begin(url, noise=1.0) as experiment:
        status = told(experiment, 3)
        assert status.answer_pulls == 3 and status.remarks == ()


def test_what_happened_on_the_way(url):
    with begin(url, noise=1.0) as experiment:
        told(experiment, 2)
        experiment.retire(0, "out of stock")
        experiment.correct(2, 0.2, "typing error")
        experiment.archive()
        assert experiment.status().remarks == (
            "An arm was retired: the verdict does not speak of it.",
            "Rewards were corrected once: the log says which and why.",
            "It was taken off the list of experiments; nothing else has changed.",
        )


def test_a_correction_may_take_an_answer_back(url):
    with begin(url, noise=0.2) as experiment:
        status = told(experiment, 20)
        at, pulls = status.settled_pulls, status.pulls
        assert at < pulls
        experiment.correct(2, None, "no such trial")
        status = experiment.status()
        assert status.pulls == pulls - 1
        if status.settled:  # judged anew, with all that is there
            assert status.settled_pulls == status.pulls
        else:
            assert status.settled_pulls is None


def test_names_are_safe_to_print(url):
    with begin(url, names=["a", "b\n\x1b[2J", "c" * 500], noise=1.0) as experiment:
        said = " ".join(told(experiment, 3).verdict)
        assert "\x1b" not in said and "\\n" in said and "c" * 197 + "... leads" in said


@pytest.mark.parametrize(
    ("lift", "words"),
    [
        ((0.1, 0.05123456, 0.2), ", 0.10 above the control (0.05 to 0.20)"),
        ((-0.1, -0.2, -0.05), ", 0.10 below the control (0.05 to 0.20)"),
        ((0.1, None, None), ", 0.1 above the control, but not told apart from the control yet"),
        ((0.0, 0.0, 0.0), ", the same as the control"),
    ],
)
def test_against_the_control(lift, words):
    assert _lifted(*lift) == words


@pytest.mark.parametrize(
    ("left", "per_hour", "words"),
    [
        (None, 3.0, []),
        ((120.0, 300.0, 900.0), None, ["About 300 more pulls (120 to 900)."]),
        (
            (120.0, 300.0, 900.0),
            3.0,
            ["About 300 more pulls (120 to 900), 4.2 days at the pace of the last ones."],
        ),
        ((1.0, 1.0, 2.0), None, ["About 1 more pull (1 to 2)."]),
        ((20.0, 20.0, 20.0), None, ["20 more pulls."]),
        (
            (120.0, 300.0, None),
            None,
            ["About 300 more pulls, or no end in sight, as the best arms may be tied."],
        ),
        ((120.0, None, None), 3.0, ["No end in sight: the best arms may be tied."]),
    ],
)
def test_how_long_it_takes(left, per_hour, words):
    assert _forecast(left and Remaining(*left), per_hour) == words


@pytest.mark.parametrize("explorer", ["lingape_budget(budget=60)", "ugape_budget(budget=60)"])
def test_what_guides_the_pulls_of_a_budget_is_no_proof(url, explorer):
    with begin(url, explorer=explorer, noise=0.5) as experiment:
        status = told(experiment, 19)
        assert not status.settled
        bound = status.certificate.gap_bound
        assert status.gap_bound == (max(0.0, bound) if np.isfinite(bound) else None)
        assert "No arm is better" not in " ".join(status.verdict) or bound <= 0
        for one in status.standings:
            (gap,) = experiment.values().gaps(status.leader, [one.arm])
            assert (one.low, one.high) == pytest.approx((gap.low, gap.high))


def test_an_arm_that_looks_best_without_a_contest_is_named(url):
    with begin(url, explorer="sequential_halving(budget=60)") as experiment:
        for _ in range(50):
            (ticket,) = experiment.ask()
            experiment.tell(ticket, MEANS[ticket.arm])
        status = experiment.status()
        assert status.leader is None
        assert status.verdict[0] == "c looks best so far."
        assert "Nothing is proven yet." in status.verdict
