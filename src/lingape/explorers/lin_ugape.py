"""LinUGapE: UGapE with linear estimates but intervals on single arms."""

from ..bounds import SelfNormalized
from ..problem import Problem
from ..scaffold.by_arm import ByArmExplorer


class LinUGapE(ByArmExplorer):
    """Find an ε-best arm from linear estimates, comparing the intervals of single arms.

    UGapE (Gabillon, Ghavamzadeh and Lazaric 2012) with linear estimates, which LinGapE is not:
    Section 5.2 of Xu et al. (2018) shows why. Two arms that share what is uncertain rise and fall
    together, so that neither can beat the other by much; intervals on their gap see that,
    intervals on each arm do not.

    problem: the arms, and what counts as an answer. It has to say norm_bound.
    bound: SelfNormalized(), whose ellipsoid covers every arm at once.
    ridge: λ of the estimate; 1 unless given.

    >>> from lingape import LinUGapE, Problem
    >>> explorer = LinUGapE(Problem([[1, 0], [0, 1]], noise=0.1, norm_bound=1))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.counts.tolist()
    (0, [8, 8])
    """

    def __init__(
        self,
        problem: Problem,
        *,
        bound: SelfNormalized = SelfNormalized(),
        ridge: float | None = None,
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
