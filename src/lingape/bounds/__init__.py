"""How wrong can the estimate be? One bound per file; to add one, add its line to BOUNDS."""

from .base import Bound, Comparisons, Refining
from .fixed_design import FixedDesign
from .jedra_proutiere import JedraProutiere
from .mixture import Mixture
from .self_normalized import SelfNormalized
from .stylised import Stylised
from .unstructured import Unstructured
from .worst_case import WorstCase

#: Bounds by name, as in `lingape(bound=mixture)`.
BOUNDS: dict[str, type[Bound]] = {
    "mixture": Mixture,
    "self_normalized": SelfNormalized,
    "worst_case": WorstCase,
    "fixed_design": FixedDesign,
    "unstructured": Unstructured,
    "jedra_proutiere": JedraProutiere,
    "stylised": Stylised,
}

__all__ = [
    "BOUNDS",
    "Bound",
    "Comparisons",
    "FixedDesign",
    "JedraProutiere",
    "Mixture",
    "Refining",
    "SelfNormalized",
    "Stylised",
    "Unstructured",
    "WorstCase",
]
