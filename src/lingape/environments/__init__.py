"""Simulated worlds, one kind per file; to add one, add its line to ENVIRONMENTS."""

from .base import Environment
from .binary import ZeroOne
from .gaussian import Gaussian
from .instances import (
    INSTANCES,
    Instance,
    canonical,
    factorial,
    hypercube,
    items,
    outsider,
    polynomial,
    shared_doubt,
    soare,
    soare_tied,
    sparse,
    sphere,
)
from .signed import Signed

#: Simulated worlds by name.
ENVIRONMENTS: dict[str, type[Environment]] = {
    "gaussian": Gaussian,
    "signed": Signed,
    "zero_one": ZeroOne,
}

__all__ = [
    "ENVIRONMENTS",
    "INSTANCES",
    "Environment",
    "Gaussian",
    "Instance",
    "Signed",
    "ZeroOne",
    "canonical",
    "factorial",
    "hypercube",
    "items",
    "outsider",
    "polynomial",
    "shared_doubt",
    "soare",
    "soare_tied",
    "sparse",
    "sphere",
]
