"""The closest contest among very many arms, from shortlists of those that can matter.

All arms are looked at once in a while: then θ̂, A, and for a leader i, each arm's gap to i, the
width w of its interval and the norm g = ‖x_k - x_i‖ in A⁻¹ are known. Pulls since then have only
made A larger. So now, with D = ‖θ̂ now - θ̂ then‖ in the norm of A then, by Cauchy-Schwarz

    the gap is at most        gap + D g,
    its upper end at most     gap + c w + (D + e) g,

where c and e say how much widths may have grown (`Foreseeable`). The arms that come out on top
when D + e is an allowance form the shortlist. What the others can reach now is a convex function
of D + e, known at 0 and at the allowance, and so at most the line between these two. As long as
some arm on the list has an exact end above that, no arm but those on the list has to be looked
at; and of these only the ones need exact ends that their gap now, c and e do not rule out.

Who leads is found in the same way, from gaps alone. Where rounds change little, a short list is
drawn from the long one in turn. All inequalities leave room for rounding, and for ties: those
that ties.py counts as equal are listed, or the list does not do.
"""

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..bounds.base import Foreseeable
from ..least_squares import Contrasts
from ..many_arms import ManyArms
from ..problem import Problem
from ..tall import blocks
from ..ties import LEADER, RIVAL, first_max
from .base import Contest

LONG, SHORT, LEADERS = 70_000, 15_000, 30_000  # how many arms are listed, about
# How much drift lists allow for, as a share of widths.
LONG_ALLOWANCE, SHORT_ALLOWANCE = 0.15, 0.03
# A short list is drawn from a long one that is this many pulls old, and another one if it lived
# for so many; or else only after a while.
SHORT_LIFE, PATIENCE = 8, 64
MANY_NEAR = 8_000  # if so many rivals on a list cannot be ruled out, its widths are too old
KEPT = 2  # leaders whose lists are kept
SAMPLE = 16_384  # arms that tell how high the others reach, so that a list gets its length
TIED = 8  # rivals that tie, of which the largest margin is computed
ROUNDING = 1e-9  # ends are off by no more than this share of their terms
SAFE = 1.0 + 1e-6  # nor norms by more than this factor


class Standpoint(NamedTuple):
    """The estimate at one time."""

    theta: FloatArray
    inverse: FloatArray
    matrix: FloatArray
    factors: FloatArray  # of the bound

    def drift(self, now: "Standpoint") -> float:
        """Return D, how far θ̂ has moved since."""
        moved = now.theta - self.theta
        return SAFE * math.sqrt(max(0.0, float(moved @ self.matrix @ moved)))

    def shift(self, now: "Standpoint") -> float:
        """Return how far A⁻¹ has moved since, as `Foreseeable.lengthening` wants to know it."""
        moved = now.inverse - self.inverse
        largest = np.linalg.eigvalsh(moved @ self.matrix @ moved)[-1]
        return SAFE * math.sqrt(max(0.0, float(largest)))


class Listed(NamedTuple):
    """The arms that come out on top if ends drift, and what the others can reach."""

    arms: IntArray  # ascending
    features: FloatArray
    widths: FloatArray
    norms: FloatArray
    allowance: float  # of the drift, with which they were chosen
    floor: float  # the highest end of the others without drift
    ceiling: float  # the same with the allowance
    longest: float  # the largest norm, of listed and others
    widest: float  # the largest width

    def others(self, drift: float) -> float:
        """Return what those not listed can reach at most after some drift."""
        if self.ceiling == -math.inf:  # there are none
            return -math.inf
        share = min(1.0, drift / self.allowance)
        beyond = max(0.0, drift - self.allowance) + ROUNDING * drift
        return self.floor + share * (self.ceiling - self.floor) + beyond * self.longest


class Leaders(NamedTuple):
    """The arms that can lead, by their gaps to one of them."""

    then: Standpoint
    arm: int
    listed: Listed


class RivalList(NamedTuple):
    """The rivals that can matter to a leader."""

    pulls: int  # when it was drawn up
    then: Standpoint  # when what the others can reach was computed
    since: Standpoint  # when the widths were
    rivals: Listed


class Lists(NamedTuple):
    """The shortlists for one leader."""

    long: RivalList  # drawn from all arms
    short: RivalList | None  # drawn from the long one
    again: int  # the number of pulls from which on to try a short one


def are_worth_while(count: int) -> bool:
    """Return whether lists are much shorter than so many arms."""
    return count >= 3 * LONG


def closest_of_many(problem: Problem, bound: Foreseeable, estimate: ManyArms) -> Contest | None:
    """Return the closest contest; None if shortlists cannot tell, as where too many arms tie."""
    notes, this = estimate.notes, _Round(problem, bound, estimate)
    others: dict[int, Lists] = dict(notes.get("shortlists", {}))
    leader, lists, contest = this.leader(), None, None
    if leader is None:  # the list of leaders has to be drawn up, and the others with it
        means = np.where(problem.can_answer, estimate.means, -np.inf)
        leader = first_max(means, this.leader_slack(float(means.max())))
        others.pop(leader, None)
    else:
        lists = others.pop(leader, None)
    if lists is not None:
        contest, lists = this.by_lists(leader, lists)
    others = dict(list(others.items())[1 - KEPT :])
    if contest is None:
        notes["shortlists"], lists = others, None  # to have the memory for more
        lists = Lists(this.long_list(leader), None, estimate.pulls + SHORT_LIFE)
        contest, lists = this.by_lists(leader, lists)
    notes["shortlists"] = others | {leader: lists}
    return contest


@dataclass(frozen=True)
class _Round:
    """The search for the closest contest at one time."""

    problem: Problem
    bound: Foreseeable
    estimate: ManyArms

    @cached_property
    def now(self) -> Standpoint:
        """The estimate as it is."""
        estimate, factors = self.estimate, self.bound.factors(self.problem, self.estimate)
        return Standpoint(
            estimate.theta.copy(), estimate.inverse.copy(), estimate.matrix.copy(), factors
        )

    def leader_slack(self, top: float) -> float:
        """Return by how much the means of leaders that tie may differ."""
        return LEADER * (self.problem.noise_scale + abs(top))

    def leader(self) -> int | None:
        """Return the arm with the largest mean, if the list of leaders tells."""
        leaders: Leaders | None = self.estimate.notes.get("leaders")
        if leaders is None or not len(leaders.listed.arms):
            return None
        listed, theta = leaders.listed, self.now.theta
        means = listed.features @ theta
        top = float(means.max())
        slack = self.leader_slack(top)
        own = float(self.estimate.features[leaders.arm] @ theta)
        if not own + listed.others(leaders.then.drift(self.now)) < top - 2.0 * slack:
            return None
        return int(listed.arms[first_max(means, slack)])

    def by_lists(self, leader: int, lists: Lists) -> tuple[Contest | None, Lists]:
        """Return the closest contest, or None if lists do not do, and those to go on with."""
        (long, short, again), pulls = lists, self.estimate.pulls
        reach = self._others(long)
        if short is not None:
            contest, _ = self._rival(leader, short, max(reach, self._others(short)))
            if contest is not None:
                return contest, lists
            again = pulls if pulls - short.pulls >= SHORT_LIFE else pulls + PATIENCE
        contest, near = self._rival(leader, long, reach)
        if near > MANY_NEAR or pulls >= again:
            long = self._refreshed(leader, long)
        short = None
        if pulls >= again:
            short, again = self._short_list(leader, long), pulls + PATIENCE
        return contest, Lists(long, short, again)

    def _lengthening(self, before: Standpoint) -> tuple[float, float]:
        """Return c and e since some time."""
        shift = before.shift(self.now)
        return self.bound.lengthening(self.problem, before.factors, self.now.factors, shift)

    def _others(self, shortlist: RivalList) -> float:
        """Return what those not listed can reach now at most."""
        then, rivals = shortlist.then, shortlist.rivals
        c, e = self._lengthening(then)
        # Widths that shrink, as bounds may at a rebuild, shrink least where they are short.
        longer = max(c - 1.0, 0.0) + ROUNDING * max(c, 1.0)
        return rivals.others(then.drift(self.now) + e) + longer * rivals.widest

    def _rival(
        self, leader: int, shortlist: RivalList, others: float
    ) -> tuple[Contest | None, int]:
        """Return the closest contest by a list, and how many exact ends that took.

        others: what those not listed can reach; if that is too high, there is no contest.
        """
        rivals, origin, theta = shortlist.rivals, self.estimate.features[leader], self.now.theta
        if not len(rivals.arms):  # so many tie that nobody stands out
            return None, 0
        own = float(origin @ theta)

        def ends_of(some: IntArray) -> tuple[FloatArray, FloatArray]:
            rows = rivals.features[some]
            contrasts = self.estimate.contrasts_of(rows, origin)
            widths = self.bound.widths_of(self.problem, self.estimate, contrasts)
            return rows @ theta - own + widths, widths

        c, e = self._lengthening(shortlist.since)
        slack = (ROUNDING + 2.0 * RIVAL) * c * rivals.widest
        most = rivals.features @ theta
        most -= own
        most += c * rivals.widths
        if e > 0.0:
            most += e * rivals.norms
        best = ends_of(np.array([most.argmax()]))[0][0]
        near = np.flatnonzero(most >= best - slack)
        ends, widths = ends_of(near)
        top = int(ends.argmax())
        if not others < ends[top] - slack:
            return None, len(near)
        arms = rivals.arms[near[ends >= ends[top] - RIVAL * float(widths[top])]]
        return Contest(leader, int(arms[0]), self._margin(leader, arms)), len(near)

    def _margin(self, leader: int, arms: IntArray) -> float:
        """Return the highest end of some arms that tie, to the same bit whoever else is listed."""
        estimate, ends = self.estimate, []
        for arm in np.unique(estimate.twins[arms])[:TIED]:
            y = estimate.features[arm] - estimate.features[leader]
            z = estimate.inverse @ y
            contrasts = Contrasts(np.array([z @ y]), np.array([z @ z]))
            width = self.bound.widths_of(self.problem, estimate, contrasts)[0]
            ends.append(float(y @ estimate.theta + width))
        return max(ends)

    def long_list(self, leader: int) -> RivalList:
        """Return a list drawn from all arms, and note the list of leaders too."""
        estimate, features = self.estimate, self.estimate.features
        gaps, widths, norms = self._looked_at(leader, features)
        gaps -= float(features[leader] @ estimate.theta)
        if not self.problem.plain:
            gaps[~self.problem.can_answer] = -np.inf
        allowance = LONG_ALLOWANCE * _radius(widths, norms)
        leaders = _listed(features, gaps, widths, norms, allowance, LEADERS)
        estimate.notes["leaders"] = Leaders(self.now, leader, leaders)
        gaps += widths
        gaps[estimate.twins == estimate.twins[leader]] = -np.inf
        rivals = _listed(features, gaps, widths, norms, allowance, LONG)
        return RivalList(estimate.pulls, self.now, self.now, rivals)

    def _short_list(self, leader: int, long: RivalList) -> RivalList:
        """Return a list drawn from a long one that is refreshed."""
        rivals, theta = long.rivals, self.now.theta
        ends = rivals.features @ theta
        ends -= float(self.estimate.features[leader] @ theta)
        ends += rivals.widths
        allowance = SHORT_ALLOWANCE * _radius(rivals.widths, rivals.norms)
        short = _listed(rivals.features, ends, rivals.widths, rivals.norms, allowance, SHORT)
        short = short._replace(arms=rivals.arms[short.arms])
        return RivalList(self.estimate.pulls, self.now, self.now, short)

    def _refreshed(self, leader: int, shortlist: RivalList) -> RivalList:
        """Return a list with the widths that the rivals on it have now."""
        _, widths, norms = self._looked_at(leader, shortlist.rivals.features)
        rivals = shortlist.rivals._replace(widths=widths, norms=norms)
        return shortlist._replace(since=self.now, rivals=rivals)

    def _looked_at(self, leader: int, features: FloatArray) -> FloatArray:
        """Return the mean, and to the leader, the width and the norm of each of many arms."""
        found, origin = np.empty((3, len(features))), self.estimate.features[leader]
        for some in blocks(len(features)):
            contrasts = self.estimate.contrasts_of(features[some], origin)
            found[0, some] = features[some] @ self.now.theta
            found[1, some] = self.bound.widths_of(self.problem, self.estimate, contrasts)
            found[2, some] = np.sqrt(contrasts.variance)
        return found


def _radius(widths: FloatArray, norms: FloatArray) -> float:
    """Return how much longer widths are than norms, about."""
    longest = float(norms.max())
    return float(widths.max()) / longest if longest > 0.0 else 1.0


@cache
def _sampled(count: int) -> IntArray:
    """Return some of so many arms, at random: every n-th may have the same levels of factors."""
    return np.random.default_rng(0).integers(count, size=min(count, SAMPLE))


def _listed(
    features: FloatArray,
    ends: FloatArray,
    widths: FloatArray,
    norms: FloatArray,
    allowance: float,
    length: int,
) -> Listed:
    """Return about `length` arms, those with the highest ends after drifting by the allowance."""
    drifted = norms * allowance
    drifted += ends
    sample = drifted[_sampled(len(ends))]
    place = len(sample) - 1 - int(len(sample) * length / len(ends))
    level = -math.inf if place < 0 else float(np.partition(sample, place)[place])
    chosen = drifted > level
    arms = np.flatnonzero(chosen)
    return Listed(
        arms,
        features[arms],
        widths[arms],
        norms[arms],
        allowance,
        floor=float(ends.max(where=~chosen, initial=-np.inf)),
        ceiling=float(drifted.max(where=~chosen, initial=-np.inf)),
        longest=float(norms.max()),
        widest=float(widths.max()),
    )
