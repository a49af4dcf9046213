"""What is known so far, in plain words, for people who do not read bounds."""

from collections.abc import Sequence
from math import ceil, floor, inf, isfinite, log10

import numpy as np

from ..certificate import share
from ..noise import Binary
from ..printable import printable
from ..remaining import Remaining, two_digits
from ..scaffold.budget import BudgetExplorer
from .replay import LogCertificate, Replay
from .summary import Summary
from .texts import shortened

MOST_NAMES = 5  # in a sentence
FEW = 10  # pulls, or a third of what arms have on average
INFLUENCE = 1e-9  # of the largest: what an arm's rewards say about another, at least
TIED = "the best arms may be tied"


def verdict_of(replay: Replay, summary: Summary, certificate: LogCertificate) -> tuple[str, ...]:
    """Return the verdict, or what is missing for one, in sentences.

    summary, certificate: how the experiment stands, and what is proven.
    """
    found = _settled if summary.settled else _so_far
    return _begun(replay, found(replay, summary, certificate))


def _settled(replay: Replay, summary: Summary, certificate: LogCertificate) -> list[str]:
    names = _listed([_name(replay, arm) for arm in certificate.arms])
    several, sentences = len(certificate.arms) > 1, list[str]()
    worth = _worth(replay, summary, alone=not several)
    if summary.warnings:
        sentences.append(
            "The data contradict what the answer assumes: do not rely on it before that is "
            "explained."
        )
    if certificate.settled and certificate.proven:
        are, them = ("are", "them") if several else ("is", "it")
        best = f"the {len(certificate.arms)} best" if several else "the best"
        if certificate.noun != "arm":
            best += f" {certificate.noun}{'s' if several else ''}"
        if certificate.gap_bound > 0:
            best = "best" if best == "the best" else best
            best += f" or within {_up_to(certificate.gap_bound)} of {them}"
        return [*sentences, f"{names} {are} {best}, {_sure(summary)}.", *worth]
    sentences += [f"{names} {'look' if several else 'looks'} best.", *worth]
    sentences.append("What is proven is less than what was asked for.")
    if not certificate.proven:
        sentences.append(f"There is no guarantee: {certificate.caveat}")
    elif isfinite(certificate.gap_bound):
        better = f"at most {_up_to(certificate.gap_bound)} better, {_sure(summary)}"
        sentences.append(f"The best {certificate.noun} is {better}.")
    return sentences


def _so_far(replay: Replay, summary: Summary, certificate: LogCertificate) -> list[str]:
    sentences = []
    if summary.warnings:
        sentences.append(
            "The data contradict what an answer would assume: have that explained before going on."
        )
    if summary.leader is None and certificate.value is not None and summary.pulls:
        names = _listed([_name(replay, arm) for arm in certificate.arms])
        sentences += [f"{names} {'look' if len(certificate.arms) > 1 else 'looks'} best so far."]
        sentences.append("Nothing is proven yet.")
    elif summary.leader is None:
        sentences.append("Too early to say: there are too few rewards to compare arms.")
    else:
        several = replay.explorer.m > 1
        leaders = certificate.arms if several else [summary.leader]
        names = _listed([_name(replay, arm) for arm in leaders])
        sentences.append(f"{names} {'lead' if several else 'leads'}.")
        sentences += _worth(replay, summary, alone=not several)
        sentences.append(
            _missing(replay, summary)
            if certificate.proven
            else f"There is no guarantee: {certificate.caveat}"
        )
    return sentences + _forecast(summary.remaining, summary.per_hour)


def _missing(replay: Replay, summary: Summary) -> str:
    """Return what is proven of the rivals of a leader, and what is not."""
    rival = None if summary.rival is None else _name(replay, summary.rival)
    if summary.ruled_out is not None:
        count, out = summary.contenders, summary.ruled_out
        said = f"{out:,} of {count:,} arms {'is' if out == 1 else 'are'} ruled out as best"
        said = said if out else "No arm is ruled out as best yet"
        return f"{said}; {rival} is the closest rival." if rival else f"{said}."
    if summary.gap_bound is None:
        return "Nothing is proven yet."
    if summary.gap_bound == 0:
        return f"No arm is better, {_sure(summary)}."
    said = f"{rival} may still be better by up to {_up_to(summary.gap_bound)}"
    if isinstance(replay.explorer, BudgetExplorer):  # which stops whatever is proven
        return f"{said}."
    return f"{said}; to stop, that has to fall to {summary.epsilon:g}."


def _worth(replay: Replay, summary: Summary, *, alone: bool) -> list[str]:
    """Return how good the foremost arm is, also against the control."""
    arm, value, lift = summary.foremost, summary.value, summary.lift
    if arm is None or value is None:
        return []
    if isinstance(replay.problem.noise, Binary):
        said = "Its rate is" if alone else f"The rate of {_name(replay, arm)} is"
    else:
        said = "It averages" if alone else f"{_name(replay, arm)} averages"
    if summary.value_low is None or summary.value_high is None:
        said += f" about {value:.3g}"
    else:
        said += f" {_between(value, summary.value_low, summary.value_high)}"
    if lift is not None and arm != replay.problem.control:
        said += _lifted(lift, summary.lift_low, summary.lift_high)
    said += "; lower is better." if summary.minimize else "."
    return [said, "It is the control."] if arm == replay.problem.control else [said]


def _lifted(lift: float, low: float | None, high: float | None) -> str:
    """Return how a value compares with the control's, to go on with."""
    low, high = (-inf if low is None else low), (inf if high is None else high)
    if low == high == 0:
        return ", the same as the control"
    side = f"{'below' if lift < 0 else 'above'} the control"
    if not isfinite(high - low):
        return f", {abs(lift):.3g} {side}, but not told apart from the control yet"
    if low > 0 or high < 0:
        size, least, most = (lift, low, high) if low > 0 else (-lift, -high, -low)
        estimate, ends = _between(size, least, most).split(" ", 1)
        return f", {estimate} {side} {ends}"
    estimate, ends = _between(lift, low, high).split(" ", 1)
    return f", {estimate.lstrip('-')} {side}, but not told apart from the control yet {ends}"


def _between(value: float, low: float, high: float) -> str:
    """Return an estimate with its interval, to the digits that the interval's width gives sense.

    The interval is rounded outward, but for what is beyond the ninth digit.

    >>> _between(0.41234, 0.38, 0.44567), _between(512.3, 497.2, 528.1), _between(2.0, 2.0, 2.0)
    ('0.412 (0.380 to 0.446)', '512 (497 to 529)', '2 (2 to 2)')
    """
    width = high - low
    digits = min(max(ceil(1 - log10(width)), 0), 9) if width > 0 else 0
    size = 10.0**digits
    slack = 1e-9 * max(1.0, abs(low * size), abs(high * size))
    ends = floor(low * size + slack) / size, ceil(high * size - slack) / size
    shown = [f"{0.0 + round(number, digits):,.{digits}f}" for number in (value, *ends)]
    if width == 0:
        shown = [f"{value:.6g}"] * 3
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def _up_to(bound: float) -> str:
    """Return a bound in two digits, never less than it is but for rounding in the ninth.

    >>> _up_to(0.0487), _up_to(0.1 + 0.2), _up_to(0.0), _up_to(12345.6)
    ('0.049', '0.3', '0', '13,000')
    """
    if bound <= 0:
        return "0"
    size = 10.0 ** (1 - floor(log10(bound)))
    number = ceil(bound * size * (1 - 1e-9)) / size
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _forecast(left: Remaining | None, per_hour: float | None) -> list[str]:
    """Return how long it will take, if that can be told."""
    if left is None:
        return []
    if left.median is None or left.low is None:
        return [f"No end in sight: {TIED}."]
    about = two_digits(left.median)
    pulls = f"{about} more pull{'' if about == '1' else 's'}"
    if left.low == left.high:
        said = pulls
    elif left.high is None:
        said = f"About {pulls}, or no end in sight, as {TIED}"
    else:
        said = f"About {pulls} ({two_digits(left.low)} to {two_digits(left.high)})"
    if per_hour:
        said += f", {in_time(left.median / per_hour)} at the pace of the last ones"
    return [f"{said}."]


def remarks_on(replay: Replay, summary: Summary, certificate: LogCertificate) -> tuple[str, ...]:
    """Return sentences on what may surprise those who read the verdict."""
    remarks = []
    if summary.foremost is not None and summary.value is not None:
        proven = summary.settled and certificate.settled and certificate.proven
        remarks += _few_pulls(replay, summary.foremost, proven)
    at, pulls = replay.settled_pulls, summary.pulls
    if summary.settled and pulls > at:
        remarks.append(
            f"It was settled at reward {at:,}; {pulls - at:,} more came later. The certificate "
            f"rests on the first {at:,}; averages and intervals here count all {pulls:,}."
        )
    if summary.retired:
        arms = "An arm was" if summary.retired == 1 else f"{summary.retired} arms were"
        them = "it" if summary.retired == 1 else "them"
        remarks.append(f"{arms} retired: the verdict does not speak of {them}.")
    if summary.corrections:
        times = _times(summary.corrections)
        remarks.append(f"Rewards were corrected {times}: the log says which and why.")
    if summary.archived:
        remarks.append("It was taken off the list of experiments; nothing else has changed.")
    return _begun(replay, remarks)


def _few_pulls(replay: Replay, arm: int, proven: bool) -> list[str]:
    """Return why few pulls of an arm say enough, if others speak of it."""
    problem, counts = replay.problem, replay.averages.counts
    pulls, pulled = int(counts[arm]), counts[counts > 0]
    if pulls >= FEW and pulls >= pulled.mean() / 3:
        return []
    x = problem.orthonormal
    influence = np.abs(x @ (np.linalg.pinv((x.T * counts) @ x, hermitian=True) @ x[arm]))
    speak = influence > INFLUENCE * influence.max()
    speak[arm] = False
    others = int(counts[speak].sum())
    if not others:
        return []
    often = "never pulled" if not pulls else f"pulled only {_times(pulls)}"
    enough = "That is enough: its value" if proven else "Its value"
    speaks = "1 other pull speaks" if others == 1 else f"{others:,} other pulls speak"
    return [
        f"{_name(replay, arm)} was {often}. {enough} follows from the rewards of arms that share "
        f"its features, so {speaks} of it too."
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _begun(replay: Replay, sentences: Sequence[str]) -> tuple[str, ...]:
    """Return sentences with a capital letter each, except where a given name comes first."""
    if replay.problem.names is not None:
        return tuple(sentences)
    return tuple(sentence[:1].upper() + sentence[1:] for sentence in sentences)


def _name(replay: Replay, arm: int) -> str:
    return shortened(printable(replay.problem.name(arm)))


def _listed(names: Sequence[str]) -> str:
    """Return names in a row, at most five.

    >>> _listed(["a", "b", "c"]), _listed(list("abcdefg"))
    ('a, b and c', 'a, b, c, d, e and 2 more')
    """
    shown = list(names[:MOST_NAMES])
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _sure(summary: Summary) -> str:
    said = share(summary.delta)
    return f"{said} sure" if said.endswith("%") else f"with probability at least {said}"


def in_time(hours: float) -> str:
    """Return a time in words, roughly.

    >>> in_time(0.2), in_time(30), in_time(100)
    ('12 minutes', '30 hours', '4.2 days')
    """
    for size, unit in ((72.0, "days"), (2.0, "hours"), (1 / 30, "minutes")):
        if hours >= size:
            value = hours / {"days": 24.0, "hours": 1.0, "minutes": 1 / 60}[unit]
            return f"{value:.2g} {unit}"
    return f"{3600 * hours:.2g} seconds"
