"""Blocks of pulls, each planned before any of its rewards is known.

A block has slots, so many for each arm. A reward fills the oldest open slot of its arm; one for
which there is none informs the estimate and nothing else. Blocks are weighed in the order in which
they were planned, each when all its slots are filled.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..evidence.base import Guess, Sums

RIDGE, REFINEMENTS = 1e-9, 3  # to solve singular systems
SOLVED = 1e-8  # relative errors up to this are rounding
SLIGHT = 1e-3  # of a rank: what the ridge takes away at most
WHOLE = ("arms", "quotas", "counts", "rivals")  # whole numbers in a saved block


@dataclass(eq=False)
class Block:
    """Pulls planned together, what they have paid so far, and what they are to be weighed by."""

    arms: IntArray  # (A,) that have slots, in order
    quotas: IntArray  # (A,) how many
    told: Sums  # (A,) what filled them
    guess: Guess  # (A,) what rewards were expected to be like
    leader: int  # the challenger of all rivals but itself
    runner_up: int  # which challenges the leader
    rivals: IntArray  # (J,) the arms that were in play
    gaps: FloatArray  # (J,) estimated then, of the challenger over each rival
    errors: FloatArray  # (J,) their standard errors
    pulls: int  # told before
    among: int  # how many arms there were, of which some may have been retired

    @classmethod
    def of(cls, quotas: IntArray, guess: Guess, **contests: Any) -> Self:
        """Return an empty block with so many slots for each arm, given what all arms may pay."""
        arms = np.flatnonzero(quotas)
        guess = Guess(guess.variances[arms], guess.means[arms])
        return cls(arms, quotas[arms], Sums.nothing(len(arms)), guess, **contests)

    @property
    def begun(self) -> bool:
        return bool(self.told.counts.any())

    @property
    def full(self) -> bool:
        return bool((self.told.counts == self.quotas).all())

    def fill(self, arm: int, reward: float) -> bool:
        """Put a reward into a slot of its arm, if one is open."""
        place = int(self.arms.searchsorted(arm))
        if place == len(self.arms) or self.arms[place] != arm:
            return False
        if self.told.counts[place] == self.quotas[place]:
            return False
        self.told.add(place, reward)
        return True

    def state(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "arms": self.arms.tolist(),
            "quotas": self.quotas.tolist(),
            "counts": self.told.counts.tolist(),
            "sums": self.told.sums.tolist(),
            "squares": self.told.squares.tolist(),
            "variances": self.guess.variances.tolist(),
            "means": self.guess.means.tolist(),
            "leader": self.leader,
            "runner_up": self.runner_up,
            "rivals": self.rivals.tolist(),
            "gaps": self.gaps.tolist(),
            "errors": self.errors.tolist(),
            "pulls": self.pulls,
            "among": self.among,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], arms: int) -> Self:
        """Return the block that `state` was taken from; ValueError if that cannot be one."""
        slots, contests = len(state["arms"]), len(state["rivals"])

        def array(name: str, length: int) -> Any:
            values = np.array(state[name], dtype=np.int64 if name in WHOLE else np.float64)
            if values.shape != (length,) or not np.isfinite(values).all():
                raise ValueError(f"{name} of a block must be {length} finite numbers")
            return values

        block = cls(
            array("arms", slots),
            array("quotas", slots),
            Sums(array("counts", slots), array("sums", slots), array("squares", slots)),
            Guess(array("variances", slots), array("means", slots)),
            int(state["leader"]),
            int(state["runner_up"]),
            array("rivals", contests),
            array("gaps", contests),
            array("errors", contests),
            int(state["pulls"]),
            int(state["among"]),
        )
        named = [*block.arms, *block.rivals, block.leader, block.runner_up]
        counts, sums, squares = block.told
        if (
            min(named) < 0
            or max(named) >= arms
            or (np.diff(block.arms) <= 0).any()
            or (block.quotas < 1).any()
            or (counts < 0).any()
            or (counts > block.quotas).any()
            or (block.guess.variances <= 0).any()
            or (block.errors <= 0).any()
            # Cauchy and Schwarz, with room for rounding.
            or (sums**2 > counts * squares * (1 + 1e-9)).any()
        ):
            raise ValueError("a block does not hold together")
        return block


class Fit(NamedTuple):
    """Least squares for a block, whose matrix V may be singular."""

    x: FloatArray  # (A, d)
    v: FloatArray
    inverse: FloatArray  # of V with a slight ridge
    solver: FloatArray  # P, for which z = yP has Vz = y if there is such a z

    @classmethod
    def of(cls, block: Block, x: FloatArray) -> Self:
        """Return the fit of a block, given the features of its arms."""
        v = (x.T * (block.quotas / block.guess.variances)) @ x
        ridge = RIDGE * np.trace(v) / len(v)
        inverse = np.linalg.inv(v + ridge * np.eye(len(v)))
        solver = inverse @ v @ inverse  # 0 where V is 0
        for _ in range(REFINEMENTS):  # by Newton and Schulz
            solver = 2.0 * solver - solver @ v @ solver
        return cls(x, v, inverse, solver)

    def solves(self, y: FloatArray) -> BoolArray:
        """Return for which rows y there is a z with Vz = y."""
        errors = np.abs(y - y @ self.solver @ self.v).max(axis=1, initial=0.0)
        return np.asarray(errors <= SOLVED * np.abs(y).max(axis=1, initial=0.0))

    @property
    def rank(self) -> int:
        """The number of directions that the block says something about."""
        return math.ceil(float((self.inverse * self.v).sum()) - SLIGHT)

    def residual(self, block: Block) -> float:
        """Return the sum of squares that the fit leaves, standardised."""
        (_, sums, squares), variances, n = block.told, block.guess.variances, block.quotas
        averages = sums / n
        fitted = self.x @ ((self.x.T @ (sums / variances)) @ self.solver)
        within = np.maximum(squares - n * averages**2, 0.0)
        with np.errstate(over="ignore"):
            return float(((within + n * np.square(averages - fitted)) / variances).sum())


def open_slots(blocks: Sequence[Block], count: int) -> IntArray:
    """Return how many slots are open for each of `count` arms."""
    slots: IntArray = np.zeros(count, dtype=np.int64)
    for block in blocks:
        slots[block.arms] += block.quotas - block.told.counts
    return slots


def next_slots(blocks: Sequence[Block], pending: IntArray, n: int) -> list[int]:
    """Return up to `n` arms to pull, for slots of the oldest blocks that are not yet pulled for.

    pending: how many pulls of each arm are under way; they fill the oldest slots.
    """
    pending, chosen = pending.copy(), list[int]()
    for block in blocks:
        under_way = np.minimum(pending[block.arms], block.quotas - block.told.counts)
        pending[block.arms] -= under_way
        turns = (block.told.counts + under_way) / block.quotas
        while len(chosen) < n and turns[place := int(turns.argmin())] < 1.0:
            chosen.append(int(block.arms[place]))  # the arm that is most behind
            under_way[place] += 1
            turns[place] = (block.told.counts[place] + under_way[place]) / block.quotas[place]
        if len(chosen) == n:
            break
    return chosen
