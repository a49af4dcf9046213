"""OD-LinBAI: halve the dimension in every phase, with the optimal design for the arms left."""

from ..scaffold.budget_phases import DesignedBudgetExplorer


class ODLinBAI(DesignedBudgetExplorer):
    """Spend `budget` pulls in phases, each of which halves the dimension.

    Yang and Tan, Minimax optimal fixed-budget best arm identification in linear bandits (NeurIPS
    2022). ⌈log₂ d⌉ phases; the first keeps ⌈d/2⌉ arms however many there were, phase r keeps
    ⌈d/2^r⌉. Each pulls by the G-optimal design for the arms in play, in the space that they span.

    problem: the arms, and what counts as an answer.
    budget: n, how many pulls.
    bound: says what is proven at the end; it has no part in choosing pulls.
    ridge: λ of the bound's estimate, for bounds around a ridge estimate.

    The paper rounds pulls up and so has to set aside min(K, d(d+1)/2) + Σ_r ⌈d/2^r⌉ of the budget;
    here pulls are apportioned exactly and nothing is set aside. Its bound on the probability of
    error, (4K/d + 3 log₂ d) exp(-m/(32 max_{2≤i≤d} i/Δ_(i)²)) for R = 1 with m pulls in a phase,
    needs the gaps.

    >>> from lingape import ODLinBAI, Problem
    >>> arms = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> explorer = ODLinBAI(Problem(arms, noise=0.1), budget=32)
    >>> while not explorer.done:
    ...     arm = explorer.ask()
    ...     explorer.tell(arm, reward=[0.9, 0.6, 0.3, 0.0][arm])
    >>> explorer.survivors, explorer.counts.tolist()
    ((2, 1), [12, 12, 4, 4])
    """

    def _survivors(self) -> tuple[int, ...]:
        d = self.problem.rank
        left = [-(-d // 2)]  # ⌈d/2⌉; in one dimension there is one phase, too
        while left[-1] > 1:
            left.append(-(-d // 2 ** (len(left) + 1)))
        return tuple(left)
