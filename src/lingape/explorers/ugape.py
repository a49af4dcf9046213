"""UGapE: the ancestor of LinGapE, which knows nothing of features."""

from ..bounds import Unstructured
from ..problem import Problem
from ..scaffold.by_arm import ByArmExplorer


class UGapE(ByArmExplorer):
    """Find an ε-best arm from each arm's own rewards alone.

    Gabillon, Ghavamzadeh and Lazaric, Best arm identification: a unified approach to fixed budget
    and fixed confidence (NIPS 2012), the fixed-confidence version.

    problem: the arms, and what counts as an answer. Features are ignored.
    bound: gives the interval of each arm; only Unstructured() does.
    ridge: None; averages have none.

    >>> from lingape import Problem, UGapE
    >>> explorer = UGapE(Problem([[1, 0], [0, 1]], noise=0.5))
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[1.0, 0.0][arm])
    >>> explorer.recommend(), explorer.counts.tolist()
    (0, [36, 36])
    """

    def __init__(
        self, problem: Problem, *, bound: Unstructured = Unstructured(), ridge: float | None = None
    ) -> None:
        super().__init__(problem, bound=bound, ridge=ridge)
