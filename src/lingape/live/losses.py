"""Do tickets get lost in some arms more than in others?

The certificate assumes that whether a ticket is voided, or its reward never comes, does not depend
on that reward. Missing rewards cannot be seen, but one thing can: if bad rewards get lost, arms
that pay badly lose more. So arms are compared.

The null hypothesis is that each closed ticket was lost with the same probability p, whatever its
arm and whatever came before. Then v lost among n have the likelihood p^v (1-p)^(n-v), however arms
were chosen. There are two alternatives, which average over all probabilities with Jeffreys' prior
Beta(1/2, 1/2): one arm, any of the K, has a probability of its own; or every arm has. Half the sum
of their likelihoods, divided by the largest that any p gives, is an e-process: over all times
together it exceeds 1/α with probability at most α (Ville's inequality), so looking at it often
does no harm (Ramdas et al., Game-theoretic statistics and safe anytime-valid inference,
Statistical Science 2023).

Machines fail too, and then many tickets of the arm that is being asked for are lost at once. So
that one outage counts once, a ticket closed right after a void is not counted, and of the tickets
that stay open too long, only one in the time that tickets usually take. The null hypothesis leaves
out more than that: if one of several machines fails for a while, p changes with time, and if
tickets are voided later than others are told, the next one closed is more likely to be told than p
says. Then there may be a warning although no arm is to blame.
"""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import IntArray
from .replay import Replay, asked_by

RARE = 1e-3
LONG = 10  # times the usual number of events for which a ticket is open,
LEAST = 100  # and events, after which it is open for too long


class Loss(NamedTuple):
    """How unevenly arms lose tickets."""

    p: float  # an upper bound on the probability that it ever happens by chance
    arm: int  # one that loses more than others


def voided(replay: Replay) -> Loss | None:
    """Compare how often the arms' tickets are voided; None if none was."""
    closings = replay.closings
    waiting = _per_arm(replay, [ticket.arm for ticket in replay.open.values()])
    return compared(closings.counted_voids, closings.counted, waiting)


def overdue(replay: Replay, now: float) -> Loss | None:
    """Compare how often the arms' tickets stay open for too long; None if none does.

    Too long is past the deadline, or far longer than others, by the number of events. Tickets that
    were in time when the question was answered are left out: they may have been abandoned since.
    """
    seq, closings = replay.head.seq, replay.closings
    if replay.settled is not None:
        seq, now = replay.settled.seq, min(now, replay.settled.time)
    usual = closings.usual_wait
    waiting, late = [], set()
    for name, ticket in replay.open.items():
        asked = asked_by(name)
        if not ticket.awaited(now) or seq - asked > max(LEAST, LONG * usual):
            late.add((ticket.arm, asked // (1 + int(2 * usual))))
        else:
            waiting.append(ticket.arm)
    lost = _per_arm(replay, [arm for arm, _ in late])
    return compared(lost, closings.closed + lost, _per_arm(replay, waiting))


def _per_arm(replay: Replay, arms: list[int]) -> IntArray:
    """Return how often each arm is in a list."""
    return np.bincount(np.array(arms, dtype=np.int64), minlength=len(replay.problem))


def compared(lost: IntArray, tickets: IntArray, waiting: IntArray) -> Loss | None:
    """Compare arms by tickets lost, of those that were lost or told; others are still open.

    Open tickets may go either way, so the smaller evidence counts: without them, or as if none of
    them will be lost. Otherwise arms whose trials only take longer would look different.
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
    """Return the log likelihood of v lost among n, averaged over Beta(1/2, 1/2)."""
    return (
        math.lgamma(v + 0.5) + math.lgamma(n - v + 0.5) - math.lgamma(n + 1.0) - math.log(math.pi)
    )


def _entropy(v: int, n: int) -> float:
    return v * math.log(v / n) if v else 0.0
