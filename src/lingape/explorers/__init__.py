"""Algorithms, one per file; to add one, add its line to EXPLORERS or BUDGET_EXPLORERS."""

from ..contests import Contest
from ..scaffold.budget import BudgetCertificate
from .alba import ALBA
from .base import Explorer
from .bayes_gap import BayesGap
from .frank_wolfe_sampling import FrankWolfeSampling
from .gse import GSE
from .lazy_track_and_stop import LazyTrackAndStop
from .lin_game import LinGame, LinGameC
from .lin_gifa import LinGIFA
from .lin_t3c import LinT3C
from .lin_ugape import LinUGapE
from .lingape import LinGapE
from .lingape_budget import LinGapEBudget
from .od_lin_bai import ODLinBAI
from .rage import RAGE
from .sequential_halving import SequentialHalving
from .ugape import UGapE
from .ugape_budget import UGapEBudget
from .uniform import Uniform
from .xy_adaptive import XYAdaptive
from .xy_oracle import XYOracle
from .xy_static import XYStatic

EXPLORERS: dict[str, type[Explorer]] = {
    "lingape": LinGapE,
    "xy-static": XYStatic,
    "xy-adaptive": XYAdaptive,
    "xy-oracle": XYOracle,
    "uniform": Uniform,
    "ugape": UGapE,
    "lin-ugape": LinUGapE,
    "rage": RAGE,
    "alba": ALBA,
    "lazy-track-and-stop": LazyTrackAndStop,
    "lin-t3c": LinT3C,
    "lin-gifa": LinGIFA,
    "lin-game": LinGame,
    "lin-game-c": LinGameC,
    "frank-wolfe-sampling": FrankWolfeSampling,
}

# For a fixed number of pulls instead of a fixed confidence.
BUDGET_EXPLORERS: dict[str, type[Explorer]] = {
    "lingape-budget": LinGapEBudget,
    "bayes-gap": BayesGap,
    "od-lin-bai": ODLinBAI,
    "gse": GSE,
    "sequential-halving": SequentialHalving,
    "ugape-budget": UGapEBudget,
}

__all__ = [
    "ALBA",
    "BUDGET_EXPLORERS",
    "EXPLORERS",
    "GSE",
    "RAGE",
    "BayesGap",
    "BudgetCertificate",
    "Contest",
    "Explorer",
    "FrankWolfeSampling",
    "LazyTrackAndStop",
    "LinGIFA",
    "LinGame",
    "LinGameC",
    "LinGapE",
    "LinGapEBudget",
    "LinT3C",
    "LinUGapE",
    "ODLinBAI",
    "SequentialHalving",
    "UGapE",
    "UGapEBudget",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
]
