"""How strongly do rewards speak against an arm being best? One file per kind of noise.

A block is a set of pulls planned before any of its rewards is known. Its evidence against an arm
is a number whose mean is at most 1 if that arm is best; the product over blocks is an e-process,
and docs/bounds.md has the proofs.
"""

from ..noise import Bounded, Noise, Normal
from .base import Evidence, Finding, Guess, Sums
from .bounded import BoundedEvidence
from .normal import NormalEvidence
from .sub_gaussian import SubGaussianEvidence

__all__ = [
    "BoundedEvidence",
    "Evidence",
    "Finding",
    "Guess",
    "NormalEvidence",
    "SubGaussianEvidence",
    "Sums",
    "evidence_for",
]


def evidence_for(noise: Noise) -> Evidence:
    """Return how to weigh rewards with such noise.

    noise: of the gains of a problem, `problem.gain_noise`.

    >>> from lingape import Binary, Normal
    >>> from lingape.evidence import evidence_for
    >>> evidence_for(Binary()), evidence_for(Normal())
    (BoundedEvidence(noise=Binary()), NormalEvidence())
    """
    if isinstance(noise, Bounded):
        return BoundedEvidence(noise)
    return NormalEvidence() if isinstance(noise, Normal) else SubGaussianEvidence(noise.scale)
