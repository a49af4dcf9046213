"""Solve a small matrix game by the simplex method.

In terms that numba compiles too, so that both lanes pivot alike.
"""

import numpy as np

from ..arrays import FloatArray
from ..ties import PULL


def maximin(slopes: FloatArray, values: FloatArray) -> FloatArray:
    """Return the z in the simplex that maximises min_j (<z, slopes_j> - values_j).

    A matrix game, shifted so that all payoffs, and so its value, are positive. The linear program
    of the other player, max Σq with Σ_j payoffs_jk q_j ≤ 1 for all k and q ≥ 0, starts from q = 0;
    z is proportional to its multipliers. Simplex method in a condensed tableau, whose last row is
    the objective and whose last column the right-hand side. Ties go to the variable with the
    lowest number, all q before all slacks.
    """
    m, count = slopes.shape
    table = np.ones((count + 1, m + 1))
    table[:count, :m] += (slopes.T - values) / slopes.max()
    table[count, :m] = -1.0
    table[count, m] = 0.0
    across = np.arange(m)  # the variable that is 0 in each column, slack k being m + k,
    down = np.arange(m, m + count)  # and the one that is not in each row
    for pivots in range(50 * (m + count)):
        costs = table[count, :m]
        most = costs.min()
        if most >= -PULL:
            break
        # The steepest column, until that takes so long that it might cycle (Bland's rule).
        steep = costs < -PULL if pivots > m + count else costs <= most + PULL
        column = int(np.where(steep, across, m + count).argmin())
        entries = table[:count, column].copy()
        positive = entries > PULL
        if not positive.any():  # only rounding can make it so
            break
        ratios = np.where(positive, table[:count, m] / np.where(positive, entries, 1.0), np.inf)
        tight = ratios <= ratios.min() * (1.0 + PULL) + PULL
        row = int(np.where(tight, down, m + count).argmin())
        # Exchange the variables of the row and the column.
        inverse = 1.0 / table[row, column]
        factors = table[:, column] * inverse
        factors[row] = 0.0
        table -= np.outer(factors, table[row])
        table[row] *= inverse
        table[:, column] = -factors
        table[row, column] = inverse
        entering = across[column]
        across[column] = down[row]
        down[row] = entering
    z = np.zeros(count)
    for j in range(m):
        if across[j] >= m:
            z[across[j] - m] = max(table[count, j], 0.0)
    z /= z.sum()
    return z
