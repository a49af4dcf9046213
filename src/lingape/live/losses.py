"""Do tickets get lost in some arms more than in others?

The certificate supposes that whether a ticket is voided, or its reward never comes, does not
depend on that reward. Nobody sees rewards that are missing, but one thing can be seen: where bad
rewards get lost, arms that pay badly lose more. So arms are compared.

Suppose that a ticket that is closed was lost with the same chance p, whatever its arm and whatever
came before. Then v lost among n have the likelihood p^v (1-p)^(n-v), however arms were chosen.
Against it stand two rivals, which weigh all chances by Jeffreys' prior Beta(1/2, 1/2): one arm,
any of the K, has a chance of its own; or every arm has. Half the sum of their likelihoods, divided
by the largest that any p gives, is an e-process: over all times together it exceeds 1/α with
probability at most α (Ville's inequality), so looking at it again and again does no harm (Ramdas
et al., Game-theoretic statistics and safe anytime-valid inference, Statistical Science 2023).

Machines fail too, and many tickets at once are then lost in the arm that is asked for just now. So
that one outage counts once, a ticket closed right after a void is not counted, and of tickets that
stay open while they are usually closed, one in the time that tickets usually take. The supposition
leaves out more than that: one of several machines that fails for a while makes p change with time,
and where tickets are voided later than others are told, the next one closed is told more likely
than p says. Then there may be a warning without an arm to blame.
"""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from ..arrays import IntArray
from .replay import Replay, asked_by

RARE = 1e-3
LONG, LEAST = (
    10,
    100,
)  # open for so many times the usual number of events, and at least for so many


class Loss(NamedTuple):
    """How unevenly arms lose tickets."""

    p: float  # the chance that they ever would, if all lose as many, is at most this
    arm: int  # one that loses more than others


def voided(replay: Replay) -> Loss | None:
    """Compare how often tickets of the arms are voided; None if none is."""
    closings = replay.closings
    waiting = np.zeros_like(closings.counted)
    for ticket in replay.open.values():
        waiting[ticket.arm] += 1
    return compared(closings.counted_voids, closings.counted, waiting)


def overdue(replay: Replay, now: float) -> Loss | None:
    """Compare how often tickets of the arms stay open for too long; None if none does.

    What is too long is the deadline, or far longer than others, by the number of events. Tickets
    that were in time when the question was answered are left out: nobody may care about them now.
    """
    seq, closings = replay.head.seq, replay.closings
    if replay.settled is not None:
        seq, now = replay.settled.seq, min(now, replay.settled.time)
    usual = closings.usual_wait
    waiting = np.zeros_like(closings.closed)
    late = set()
    for name, ticket in replay.open.items():
        asked = asked_by(name)
        if not ticket.awaited(now) or seq - asked > max(LEAST, LONG * usual):
            late.add((ticket.arm, asked // (1 + int(2 * usual))))
        else:
            waiting[ticket.arm] += 1
    lost = np.zeros_like(closings.closed)
    for arm, count in Counter(arm for arm, _ in late).items():
        lost[arm] = count
    return compared(lost, closings.closed + lost, waiting)


def compared(lost: IntArray, tickets: IntArray, waiting: IntArray) -> Loss | None:
    """Compare arms by tickets lost, of those that were lost or told; others still wait.

    Those may go either way. The smaller evidence counts: as if they were not there, or as if none
    will be lost. Otherwise arms would differ that only take their time.
    """
    if not lost.any():
        return None
    found = [_evidence(lost, tickets), _evidence(lost, tickets + waiting)]
    evidence = min(log_e for log_e, _ in found)
    return Loss(math.exp(-max(0.0, evidence)), found[0][1])


def _evidence(lost: IntArray, tickets: IntArray) -> tuple[float, int]:
    """Return the logarithm of the e-value, and the arm that loses most beyond its share."""
    all_lost, all_tickets = int(lost.sum()), int(tickets.sum())
    # Thousands of arms have few different pairs of numbers.
    pairs, first, copies = np.unique(
        lost * (all_tickets + 1) + tickets, return_index=True, return_counts=True
    )
    worst, arm, alone, each = -math.inf, 0, [], 0.0
    for pair, k, times in zip(pairs.tolist(), first.tolist(), copies.tolist(), strict=True):
        v, n = divmod(pair, all_tickets + 1)
        own = _weighed(v, n)
        one = own + _weighed(all_lost - v, all_tickets - n)
        alone.append(one + math.log(times))
        each += times * own
        if one > worst and v * all_tickets > all_lost * n:
            worst, arm = one, k
    single = float(np.logaddexp.reduce(alone)) - math.log(len(lost))
    shared = _entropy(all_lost, all_tickets) + _entropy(all_tickets - all_lost, all_tickets)
    return float(np.logaddexp(single, each)) - math.log(2.0) - shared, arm


def _weighed(v: int, n: int) -> float:
    """Return the log likelihood of v lost among n, weighed by Beta(1/2, 1/2)."""
    return (
        math.lgamma(v + 0.5) + math.lgamma(n - v + 0.5) - math.lgamma(n + 1.0) - math.log(math.pi)
    )


def _entropy(v: int, n: int) -> float:
    return v * math.log(v / n) if v else 0.0
