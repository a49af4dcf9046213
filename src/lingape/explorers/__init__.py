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
from .race import Race
from .rage import RAGE
from .sequential_halving import SequentialHalving
from .ugape import UGapE
from .ugape_budget import UGapEBudget
from .uniform import Uniform
from .xy_adaptive import XYAdaptive
from .xy_oracle import XYOracle
from .xy_static import XYStatic

#: Explorers for a fixed confidence by name, as in `--explorer race`.
EXPLORERS: dict[str, type[Explorer]] = {
    "lingape": LinGapE,
    "race": Race,
    "xy_static": XYStatic,
    "xy_adaptive": XYAdaptive,
    "xy_oracle": XYOracle,
    "uniform": Uniform,
    "ugape": UGapE,
    "lin_ugape": LinUGapE,
    "rage": RAGE,
    "alba": ALBA,
    "lazy_track_and_stop": LazyTrackAndStop,
    "lin_t3c": LinT3C,
    "lin_gifa": LinGIFA,
    "lin_game": LinGame,
    "lin_game_c": LinGameC,
    "frank_wolfe_sampling": FrankWolfeSampling,
}

#: Explorers for a fixed number of pulls, instead of a fixed confidence, by name.
BUDGET_EXPLORERS: dict[str, type[Explorer]] = {
    "lingape_budget": LinGapEBudget,
    "bayes_gap": BayesGap,
    "od_lin_bai": ODLinBAI,
    "gse": GSE,
    "sequential_halving": SequentialHalving,
    "ugape_budget": UGapEBudget,
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
    "Race",
    "SequentialHalving",
    "UGapE",
    "UGapEBudget",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
]
