"""Race: plan pulls in blocks, keep evidence against each arm, and discard arms one by one.

When a block is planned, its pulls are fixed, and for each arm j in play a challenger i, the
best-looking other arm. If j is best, what the block shows of the gap between i and j is noise
around something not above 0, so that the evidence E_j, a product over blocks (evidence/), rarely
becomes large: P(E_j ≥ 1/δ at some time) ≤ δ. An arm with that much evidence against it is out, and
the last one left is the answer. Only the best arm must not be discarded by mistake, so nothing is
paid for the number of arms; and each test is about one number, so nothing is paid for the
dimension either. docs/bounds.md has the theorem and its proof.

With ε > 0 it also stops when there is enough evidence that no arm is more than ε better than one
that has led; half of δ pays for that.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..bounds import Bound, Mixture
from ..certificate import TELLING_ASSUMPTION
from ..checks import checked_whole
from ..contests import Contest
from ..designs import g_optimal
from ..errors import InvalidState
from ..evidence import Finding, evidence_for
from ..evidence.base import Guess, Sums, placed_bets
from ..evidence.shares import FAINT, racing
from ..least_squares import LeastSquares
from ..printable import stated
from ..problem import LEAST_DELTA, Problem, once
from ..scaffold.blocks import SOLVED, Block, Fit, next_slots, open_slots
from ..scaffold.conversation import Conversation, several
from ..scaffold.phases import only_its_own
from ..ties import LEADER, first_max

FIRST = 2  # a block has at least this many pulls per dimension,
GROWTH = 60  # and at least one for this many pulls before it
FRESH = 1.1  # shares are planned again when pulls have grown by this factor
CAUTION = 2.5  # standard errors below which an estimated gap says little about where to pull
ASIDE = 0.02  # the share of δ behind the gap bound of certificates
ROUNDING = 1e-14  # relative to the sums behind a score, which is lowered by so much
PLANNED_ASSUMPTION = stated(
    "Rewards come in whatever order, but one trial's luck has nothing to do with another's.",
    "the noise of a pull is as stated also given the rewards of all pulls planned before it, "
    "whether these were told before or after.",
)
RETIRED_ASSUMPTION = (
    "Which arms are retired, and when, does not depend on rewards: arms that do badly are ruled "
    "out anyway."
)


@dataclass(frozen=True)
class BlockEvidence:
    """What proves a race's certificates: evidence against arms, and Mixture for gap bounds.

    Gap bounds while the question is open come from Mixture with a small share of δ; noise of
    unknown scale has none.

    >>> from lingape import Problem, Race
    >>> Race(Problem([[1, 0], [0, 1]], noise=1.0)).bound
    BlockEvidence()
    """

    adaptive: ClassVar[bool] = True

    def estimate(self, problem: Problem, ridge: float | None = None) -> LeastSquares:
        return Mixture().estimate(problem, ridge)

    def widths(self, problem: Problem, estimate: LeastSquares, leader: int) -> FloatArray:
        share = ASIDE * problem.delta
        if problem.noise.scale is None or share < LEAST_DELTA:
            return np.full(len(problem), np.inf)
        return Mixture().widths(problem.replace(delta=share), estimate, leader)

    def assumptions(self, problem: Problem) -> tuple[str, ...]:
        always = problem.noise.assumption(), PLANNED_ASSUMPTION, TELLING_ASSUMPTION
        return (*always, RETIRED_ASSUMPTION) if problem.retired else always

    def caveat(self, problem: Problem, ridge: float) -> str:
        return ""  # proven


class Race(Conversation):
    """Find an ε-best arm with probability 1 - δ, by evidence against each of the others.

    It follows no paper; docs/bounds.md has the theorem and its proof. Needs about half the samples
    of LinGapE with Mixture where ε = 0 and δ = 0.05 (docs/how-to-choose.md). For every kind of
    noise: a known scale, a range (the variance is learnt arm by arm), or Gaussian with nothing
    else known. Also for problems in which some arms cannot be pulled, or not be the answer.

    problem: the arms, and what rewards are like.
    bound: None; it goes by evidence of its own.
    ridge: None; its estimate has none.

    >>> import numpy as np
    >>> from lingape import Problem, Race
    >>> problem = Problem([[1, 0], [0, 1]], noise="normal")
    >>> explorer, rng = Race(problem), np.random.default_rng(0)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=rng.normal([1.0, 0.5][arm], scale=0.1))
    >>> explorer.recommend()
    0
    """

    transductive: ClassVar[bool] = True
    learns_scale: ClassVar[bool] = True

    def __init__(
        self, problem: Problem, *, bound: Bound | None = None, ridge: float | None = None
    ) -> None:
        only_its_own(bound, "Race")
        super().__init__(problem, bound=BlockEvidence(), ridge=ridge)
        count = len(problem)
        self.evidence = evidence_for(problem.gain_noise)
        self.told = Sums.nothing(count)
        self._first = _first_alike(problem)
        self.in_play: BoolArray = self._first == np.arange(count)
        self.log_evidence: FloatArray = np.zeros(count)  # log E_j
        self.peaks: FloatArray = np.zeros(count)  # the largest that it has been
        self.leaders: list[int] = []  # arms that have led, in order; with ε > 0 only
        # For each of them: log-evidence that j is at most ε better, and its peaks.
        self.within: list[tuple[FloatArray, FloatArray]] = []
        self._leader: int | None = None  # the best-looking arm when a block was last planned
        self._span, self.spread = _beginning(problem)
        self.shares = self.spread  # of the last plan
        self.planned = 0, -1, 0  # at how many pulls that was, for which leader, of how many arms
        quotas = _whole(np.where(self.spread >= FAINT, self.spread, 0.0), FIRST * problem.rank)
        basis = list(problem.spanning)
        quotas[basis] = np.maximum(quotas[basis], 1 if quotas.any() else FIRST)
        arms: IntArray = np.zeros(0, dtype=np.int64)
        self.blocks = [
            Block.of(
                quotas,
                Guess(np.ones(count), np.zeros(count)),
                leader=0,
                runner_up=0,
                rivals=arms,
                gaps=np.zeros(0),
                errors=np.zeros(0),
                pulls=0,
                among=count,
            )
        ]

    @property
    def counts(self) -> IntArray:
        """How often each arm has been told."""
        return self.told.counts.copy()

    @property
    def p_values(self) -> FloatArray:
        """For each arm a p-value of its being best, valid at all times at once.

        It includes the share of δ that is spent elsewhere: an arm is discarded when it is at most
        δ. 1 for arms that cannot be the answer. Duplicates share one.
        """
        elsewhere = max(0.0, self.thresholds()[0] + math.log(self.problem.delta))
        values = np.minimum(1.0, np.exp(elsewhere - self.peaks))
        return np.where(self._first < 0, 1.0, values[self._first])

    @property
    def contest(self) -> Contest | None:
        """The leader, the rival with the least evidence against it, and the gap bound."""
        if self._leader is None or not self.estimate.ready:
            return None
        rivals = self._compared() if self.done else np.flatnonzero(self.in_play)
        rivals = rivals[rivals != self._leader]
        if not len(rivals):  # all arms are the same arm
            return None
        margin = self.certificate().gap_bound if self.done else self._proven()
        return Contest(self._leader, int(rivals[self.peaks[rivals].argmin()]), margin)

    def _compared(self) -> IntArray:
        """Return the arms that were in play at first: of duplicates one."""
        return np.flatnonzero(self._first == np.arange(len(self._first)))

    def _pick(self, estimate: LeastSquares) -> int:
        return self.ask_many(1)[0]

    def ask_many(self, n: int, *, pending: Any = ()) -> list[int]:
        """Return `n` arms to pull side by side, for slots of open blocks first.

        pending: arms pulled but not told yet; they fill the oldest slots.
        """
        self._refuse_if_done()
        self._refuse_unknown()
        n = checked_whole("n", n, least=1)
        arms = [self.problem.check_pull(arm) for arm in several("pending", pending)]
        under_way: IntArray = np.bincount(arms, minlength=len(self.problem))
        chosen = next_slots(self.blocks, under_way, n)
        if len(chosen) < n:
            # More workers than slots: go on with the shares of the last plan, and pull once more
            # for slots whose rewards are awaited, as these may be lost.
            under_way += np.bincount(chosen, minlength=len(under_way))
            since = self.told.counts - self.estimate.counts + under_way + 0.5
            slots = open_slots(self.blocks, len(under_way))
            weights = self.shares + slots / slots.sum()
            used = np.flatnonzero(weights)
            while len(chosen) < n:
                arm = int(used[(since[used] / weights[used]).argmin()])
                chosen.append(arm)
                since[arm] += 1.0
        return chosen

    def _update(self, arm: int, reward: float) -> None:
        self.told.add(arm, reward)
        if self.done:
            return
        if not any(block.fill(arm, reward) for block in self.blocks):
            self._look_ahead()
            return
        before = len(self.blocks)
        while self.blocks and self.blocks[0].full and not self.done:
            self._weigh(self.blocks.pop(0))
        if len(self.blocks) < before and not self.done:
            if self.blocks and not self.blocks[-1].begun:
                self.blocks.pop()  # planned before it was known what the last one shows
            if not self.blocks:
                self.blocks.append(self._plan())

    def _look_ahead(self) -> None:
        """Plan another block for rewards that find no slot, unless one is waiting for them.

        A block of which rewards are late, or lost, then does not hold up the others.
        """
        if not self.blocks[-1].begun or np.count_nonzero(self.in_play) == 1:
            return  # also where all arms have the same features: the first block settles it
        if not self.estimate.ready:
            self.estimate.load(self.told.counts, self.told.sums)
        if self.estimate.ready:
            if not len(self.blocks[0].rivals):
                self.blocks.clear()  # the first block only serves to get an estimate
            self.blocks.append(self._plan())

    def _plan(self) -> Block:
        """Return the next block, from what is known now."""
        problem, estimate, told = self.problem, self.estimate, self.told
        estimate.load(told.counts, told.sums)
        x = estimate.features
        guess = self.evidence.guess(estimate.means, estimate.variances, told, x.shape[1])
        precision = (x.T * (told.counts / guess.variances)) @ x
        covariance = np.linalg.inv(precision)
        theta = covariance @ (x.T @ (told.sums / guess.variances))
        means, rivals = x @ theta, np.flatnonzero(self.in_play)
        slack = LEADER * (math.sqrt(float(guess.variances.max())) + float(np.abs(means).max()))
        leader = int(rivals[first_max(means[rivals], slack)])
        others = rivals[rivals != leader]
        runner_up = int(others[first_max(means[others], slack)])
        y = self._directions(leader, runner_up, rivals)
        gaps, errors = y @ theta, np.sqrt(np.einsum("jd,jd->j", y @ covariance, y))
        pulls = int(told.counts.sum())
        self._leader = leader
        if problem.epsilon > 0 and leader not in self.leaders:
            self.leaders.append(leader)
            self.within.append((np.zeros(len(problem)), np.zeros(len(problem))))
        at, whom, among = self.planned
        if pulls >= FRESH * at or leader != whom or len(rivals) != among:
            close = np.maximum(gaps + problem.epsilon, CAUTION * errors)[rivals != leader]
            pullable = np.flatnonzero(problem.can_pull)
            start = 0.5 * self.spread[pullable] + 0.5 / len(pullable)
            scaled = x[pullable] @ self._span / np.sqrt(guess.variances[pullable])[:, None]
            used = np.isin(pullable, problem.spanning) | (self.shares[pullable] >= FAINT)
            directions = y[rivals != leader] @ self._span / close[:, None]
            self.shares = np.zeros(len(problem))
            self.shares[pullable] = racing(scaled, directions, start, np.flatnonzero(used))
            self.planned = pulls, leader, len(rivals)
        return Block.of(
            _whole(self.shares, max(FIRST * x.shape[1], pulls // GROWTH)),
            guess,
            leader=leader,
            runner_up=runner_up,
            rivals=rivals,
            gaps=gaps,
            errors=errors,
            pulls=pulls,
            among=len(problem),
        )

    def _directions(self, leader: int, runner_up: int, rivals: IntArray) -> FloatArray:
        """Return x_i - x_j for each rival j and its challenger i."""
        x = self.estimate.features
        return x[np.where(rivals == leader, runner_up, leader)] - x[rivals]

    def _weigh(self, block: Block) -> None:
        """Add what a full block says to the evidence, and see what follows."""
        places = np.flatnonzero(self.in_play[block.rivals])
        rivals = block.rivals[places]
        if len(rivals):
            fit = Fit.of(block, self.estimate.features[block.arms])
            y = self._directions(block.leader, block.runner_up, rivals)
            shown = fit.solves(y)
            places, rivals = places[shown], rivals[shown]
            gaps, errors, y = block.gaps[places], block.errors[places], y[shown]
            self.log_evidence[rivals] += self._log_values(block, fit, y, gaps, errors, 0.0)
            np.maximum(self.peaks, self.log_evidence, out=self.peaks)
            if (epsilon := self.problem.epsilon) > 0:
                behind = rivals != block.leader
                gaps, errors, y = gaps[behind] + epsilon, errors[behind], y[behind]
                logs, peaks = self.within[self.leaders.index(block.leader)]
                logs[rivals[behind]] += self._log_values(block, fit, y, gaps, errors, epsilon)
                np.maximum(peaks, logs, out=peaks)
        if block.among < len(self.problem):
            # Arms that came after it was planned begin where older ones are once it is weighed.
            compared = self._compared()
            for logs in (self.log_evidence, *(logs for logs, _ in self.within)):
                least = logs[compared[compared < block.among]].min(initial=np.inf)
                logs[block.among :] = np.minimum(logs[block.among :], least)
        self._judge(block.leader)

    def _log_values(
        self,
        block: Block,
        fit: Fit,
        y: FloatArray,
        gaps: FloatArray,
        errors: FloatArray,
        shift: float,
    ) -> FloatArray:
        """Return log-evidence of a block for gaps, above -shift, in directions `y`."""
        x, told = self.estimate.features[block.arms], block.told
        z = y @ fit.solver
        information = 1.0 / np.einsum("jd,jd->j", z, y)
        weights = (z @ x.T) * information[:, None] / block.guess.variances
        variance = float(block.quotas @ block.guess.variances) / float(block.quotas.sum())
        largest = np.sqrt(np.square(y).sum(axis=1) * (variance / (FIRST * x.shape[1])))
        bets, log_weights = placed_bets(gaps, errors, largest)
        finding = Finding(
            weights=weights,
            scores=weights @ told.sums - ROUNDING * (np.abs(weights) @ np.abs(told.sums)),
            information=information,
            bets=bets,
            log_weights=log_weights,
            shift=shift,
            sums=told,
            guess=block.guess,
            residual=fit.residual(block),
            freedom=int(block.quotas.sum()) - fit.rank,
        )
        return self.evidence.log_values(finding)

    def thresholds(self) -> tuple[float, float]:
        """Return what log-evidence has to reach, that an arm is not best, and is ε-close at most.

        The latter grows by log(n(n + 1)) for the n-th arm that came to lead.
        """
        problem = self.problem
        share = problem.delta * (1.0 if problem.noise.scale is None else 1.0 - ASIDE)
        if problem.epsilon == 0:
            return -math.log(share), math.inf
        return -math.log(0.5 * share), -math.log(0.5 * share)

    def _discard(self) -> None:
        """Keep the arms in play that have too little evidence against them, or the least."""
        compared = self._compared()
        peaks = self.peaks[compared]
        self.in_play[:] = False
        self.in_play[compared[~(peaks >= self.thresholds()[0])]] = True  # NaN proves nothing
        self.in_play[compared[peaks.argmin()]] = True

    def _judge(self, leader: int) -> None:
        """Discard arms with enough evidence against them, and see whether that settles it."""
        self._discard()
        close = self.thresholds()[1]
        left = np.flatnonzero(self.in_play)
        if len(left) == 1:
            self._leader = int(left[0])
            self._verdict = self._certified(0.0, settled=True)
        elif leader in self.leaders:
            n = self.leaders.index(leader)
            enough = close + math.log((n + 1.0) * (n + 2.0))
            if (self.within[n][1][left[left != leader]] >= enough).all():
                self._leader = leader
                self._verdict = self._certified(self.problem.epsilon, settled=True)
        if self._leader is not None and not self.done and not self.in_play[self._leader]:
            self._leader = int(left[self.estimate.means[left].argmax()])  # until the next plan

    def _looks_best(self) -> list[int]:
        if self._leader is not None:
            return [self._leader]
        counts, sums, _ = self.told
        averages = np.where(counts > 0, sums / np.maximum(counts, 1), -1e300)
        return [int(np.where(self.in_play, averages, -np.inf).argmax())]

    def _proven(self) -> float:
        """Return the gap bound of an open question, which is above ε."""
        if self._leader is None or not self.estimate.ready:
            return math.inf
        leader, means = self._leader, self.estimate.means
        upper = means - means[leader] + self.bound.widths(self.problem, self.estimate, leader)
        rivals = np.flatnonzero(self.in_play)
        rivals = rivals[rivals != leader]
        return max(float(upper[rivals].max()), math.nextafter(self.problem.epsilon, math.inf))

    def continue_from(self, before: Conversation) -> None:
        """Go on where another race was before arms were added or retired (docs/bounds.md).

        The evidence against a new arm starts where that against the best arm may be. Without an
        arm that may have been the best, evidence counts for no more than there was against that.
        """
        assert isinstance(before, Race)
        old, new = len(before.problem), len(self.problem)
        rows = np.where(before._first < 0, np.arange(old), before._first)
        kept = rows[self._first[:old] >= 0]  # what is left, one of duplicates
        gone = np.setdiff1d(np.flatnonzero(before.in_play), kept)

        def carried(logs: FloatArray, least: float) -> FloatArray:
            capped = np.minimum(logs[rows], logs[gone].min(initial=np.inf))
            return np.append(capped, np.full(new - old, min(0.0, least)))

        compared = before._compared()
        self.told = Sums.nothing(new)
        for values, already in zip(self.told, before.told, strict=True):
            values[:old] = already
        self.log_evidence = carried(before.log_evidence, before.log_evidence[compared].min())
        self.peaks = carried(before.peaks, 0.0)
        self.leaders = list(before.leaders)
        self.within = [
            (carried(logs, logs[compared].min()), carried(peaks, 0.0))
            for logs, peaks in before.within
        ]
        self._discard()
        self.estimate.load(self.told.counts, self.told.sums)
        self._refuse_unknown()
        whole = [block for block in before.blocks if not self._lacks(block)]
        if not self.estimate.ready:
            self.blocks = whole or self.blocks
            return
        left = np.flatnonzero(self.in_play)
        self._leader = int(left[self.estimate.means[left].argmax()])
        self._judge(self._leader)
        self.blocks = whole
        while self.blocks and self.blocks[0].full and not self.done:
            self._weigh(self.blocks.pop(0))  # it waited for one that was given up
        if not self.done and not open_slots(self.blocks, new).any():
            self.blocks.append(self._plan())

    def _lacks(self, block: Block) -> bool:
        """Whether a block needs an arm that is retired."""
        gone = list(self.problem.retired)
        challengers = {block.leader, block.runner_up} if len(block.rivals) else set()
        needed = open_slots([block], len(self.problem))[gone]
        return bool(needed.any()) or not challengers.isdisjoint(gone)

    def adopt(self, lane: Any) -> None:
        """Take over what a compiled run, `lane` (lanes/blocks.py), was paid, as if told."""
        lane.hand_over(self)

    def take_over(self, block: Block, *, settled: bool, **state: Any) -> None:
        """Go on from the `state` of a compiled run, in which `block` is open.

        settled: or was the last.
        """
        self.__dict__.update(state)
        self._discard()
        self._leader = block.leader if len(block.rivals) else None
        if len(block.rivals):
            counts, sums = self.told.counts.copy(), self.told.sums.copy()
            counts[block.arms] -= block.told.counts
            sums[block.arms] -= block.told.sums
            self.estimate.load(counts, sums)
        self.blocks = [] if settled else [block]
        if settled:
            self._judge(block.leader)

    @classmethod
    def from_state(cls, state: dict[str, Any], **parts: Any) -> Self:
        """Return the explorer that `state` was taken from, to the last bit.

        parts: settings by name, if others than the saved ones are to be used.
        """
        return super().from_state(state, **{"bound": None} | parts)

    def _kept(self) -> dict[str, Any]:
        return {
            "told": [values.tolist() for values in self.told],
            "log_evidence": self.log_evidence.tolist(),
            "peaks": self.peaks.tolist(),
            "leaders": self.leaders,
            "within": [[values.tolist() for values in pair] for pair in self.within],
            "leader": self._leader,
            "shares": self.shares.tolist(),
            "planned": list(self.planned),
            "blocks": [block.state() for block in self.blocks],
        }

    def _restore(self, kept: dict[str, Any]) -> None:
        count = len(self.problem)

        def array(values: Any) -> Any:
            found = np.array(values, dtype=np.float64)
            if found.shape != (count,) or not np.isfinite(found).all():
                raise ValueError(f"{count} finite numbers are needed, one per arm")
            return found

        counts, sums, squares = (array(values) for values in kept["told"])
        self.told = Sums(counts.astype(np.int64), sums, squares)
        self.log_evidence, self.peaks = array(kept["log_evidence"]), array(kept["peaks"])
        self.leaders = [self.problem.check_arm(arm) for arm in kept["leaders"]]
        self.within = [(array(logs), array(peaks)) for logs, peaks in kept["within"]]
        self._leader = None if kept["leader"] is None else self.problem.check_arm(kept["leader"])
        self.shares = array(kept["shares"])
        at, whom, among = kept["planned"]
        self.planned = int(at), int(whom), int(among)
        self.blocks = [Block.from_state(block, count) for block in kept["blocks"]]
        self._discard()
        self._check_kept(counts)

    def _check_restored(self) -> None:
        if not self.blocks and not self.done:
            raise InvalidState(
                "The saved state has no block to go on with. Restore an undamaged copy."
            )

    def _check_kept(self, counts: FloatArray) -> None:
        """Raise ValueError if what was read does not hold together."""
        told, blocks = self.told, self.blocks
        filled = sum(block.told.counts.sum() for block in blocks)
        if (
            (told.counts != counts).any()
            or (told.counts < self.estimate.counts).any()
            or (told.sums**2 > told.counts * told.squares * (1 + SOLVED)).any()
            or filled > told.counts.sum()
            or (self.peaks < np.maximum(self.log_evidence, 0.0)).any()
            or any((peaks < np.maximum(logs, 0.0)).any() for logs, peaks in self.within)
            or len(self.within) != len(self.leaders)
            or (self.shares < 0).any()
            or not self.shares.any()
            or any(block.pulls > told.counts.sum() for block in blocks)
            or any(
                self.problem.epsilon > 0 and len(block.rivals) and block.leader not in self.leaders
                for block in blocks
            )
        ):
            raise ValueError("rewards, blocks and evidence do not hold together")


@once
def _beginning(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return where designs are made, and good shares before anything is known.

    Designs are made in the span of the arms that can be pulled, where differences of answers are;
    it is smaller than the space only if arms were retired.
    """
    pullable, x = np.flatnonzero(problem.can_pull), Mixture().estimate(problem).features
    span: FloatArray = np.eye(x.shape[1])
    if problem.reach < x.shape[1]:
        span = np.linalg.svd(x[pullable])[2][: problem.reach].T
    spread: FloatArray = np.zeros(len(problem))
    spread[pullable] = g_optimal(x[pullable] @ span, tolerance=0.05).proportions
    return span, spread


@once
def _first_alike(problem: Problem) -> IntArray:
    """Return for each answer the first answer with its features, and for other arms -1."""
    answers = np.flatnonzero(problem.can_answer)
    first = np.full(len(problem), -1, dtype=np.int64)
    first[problem.twins[answers[::-1]]] = answers[::-1]  # the first one is written last
    return np.where(problem.can_answer, first[problem.twins], -1)


def _whole(shares: FloatArray, pulls: int) -> IntArray:
    """Return whole pulls by shares, about `pulls`, at least one for each arm that has any."""
    # Shares that are equal but for rounding get the same.
    whole = np.maximum(1, np.floor(shares * pulls + 0.5 + 1e-9))
    return np.where(shares > 0, whole, 0).astype(np.int64)
