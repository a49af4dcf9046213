"""The best mix of arms for estimating one direction: the linear program of the paper's (11)::

    min Σ|w_k|  subject to  Σ w_k x_k = y

The optimal proportions are `p_k = |w_k| / Σ|w|` (10), and n pulls spent so estimate yᵀθ with
variance ρ/n, ρ = (Σ|w|)² (the paper's (15) drops the square).
"""

from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import DesignFailed

NEGLIGIBLE = 1e-9  # a weight below this share of Σ|w| is a rounding error
# Equally good mixes are common (on random arms, often). Arm k costs 1 + PREFERENCE·ξ_k instead of
# 1: too little to matter, and far above rounding errors. ξ_k is the fractional part of kφ and, as
# these have relations such as ξ_1 + ξ_7 = ξ_3 + ξ_5, a little of its sine, which has none
# (Lindemann and Weierstrass): the same mix wins wherever it is solved.
PREFERENCE, SECOND = 1e-6, 0.05
GOLDEN = 0.6180339887498949
CERTAIN = 1e-9  # constraints are not reached by at least this much
WITHIN = 0.999  # where constraints are held
TRIES = 8
FEASIBLE = 1e-12  # a weight with the wrong sign may be this share of Σ|w|
PIVOT = 1e-10  # a slower constraint is parallel to the edge, but for rounding errors
FRESH = 50  # steps after which the inverse is computed from scratch
MOST_STEPS = 100  # for each dimension, and as many again
KEPT = 1000  # vertices to start from


class Mix(NamedTuple):
    """The mix of arms that estimates one direction best.

    weights: w*, signed, at most d of them not 0.
    proportions: p*, of the pulls, summing to 1.
    rho: ρ = (Σ|w*|)²; n pulls in these proportions leave the variance R²ρ/n.

    >>> import numpy as np
    >>> from lingape.designs import DirectionProgram
    >>> program = DirectionProgram(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]))
    >>> mix = program.between(0, 1)
    >>> mix.weights.round(3).tolist(), round(mix.rho, 4)
    ([0.0, 0.0, -0.1], 0.01)
    """

    weights: FloatArray
    proportions: FloatArray
    rho: float


class Vertex(NamedTuple):
    """The ν with x_kᵀν = sign·c_k for as many arms k as there are dimensions."""

    arms: IntArray
    signs: FloatArray


class DirectionProgram:
    """Solve the linear program for one set of arms and many directions.

    Its dual, max yᵀν subject to `|x_kᵀν| ≤ c_k` for every arm, has the same vertices for all
    directions y. Those that were optimal for one are kept; the next solve starts from the best
    among them, and walks along edges as the simplex method does. Where it starts does not matter:
    ties are broken by the costs.

    features: of all arms.
    pullable: which of them can be in a mix; all unless given.

    >>> import numpy as np
    >>> from lingape.designs import DirectionProgram
    >>> program = DirectionProgram(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]))
    >>> program.solve(np.array([0.0, 1.0])).proportions.round(3).tolist()
    [0.0, 0.0, 1.0]
    >>> program.between(0, 2).proportions.round(3).tolist()
    [0.5, 0.0, 0.5]
    """

    def __init__(self, features: FloatArray, pullable: BoolArray | None = None) -> None:
        usable = np.arange(len(features)) if pullable is None else np.flatnonzero(pullable)
        rows = features[usable]
        # Weights are the same in any basis; in an orthonormal one tolerances make sense.
        size = np.abs(rows).max(axis=0)
        self._scale = np.where(size > 0, size, 1.0)
        left, values, right = np.linalg.svd(rows / self._scale, full_matrices=False)
        rank = int((values > values[0] * max(rows.shape) * np.finfo(float).eps).sum())
        self._values, self._right = values[:rank], right[:rank]
        first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        self._x = np.ascontiguousarray(left[first, :rank])  # of duplicates, only the first is used
        preference = GOLDEN * np.arange(1.0, len(rows) + 1.0)[first] % 1.0
        self._cost = 1.0 + PREFERENCE * (preference + SECOND * np.sin(preference))
        self._features, self._arms = features, usable[first]
        self._place = np.full(len(features), -1)  # of each arm in these
        self._place[self._arms] = np.arange(len(first))
        self._vertices: list[Vertex] = []
        self._points = np.zeros((KEPT, rank))  # ν of each of them

    def between(self, leader: int, rival: int) -> Mix:
        """Return the optimal mix for the gap between `leader` and `rival`, often just these."""
        pair = self._place[[leader, rival]]
        if pair.min() >= 0 and self._is_best(pair):
            weights = np.zeros(len(self._features))
            weights[[leader, rival]] = 1.0, -1.0
            return Mix(weights, np.abs(weights) / 2.0, 4.0)
        return self.solve(self._features[leader] - self._features[rival])

    def _is_best(self, pair: IntArray) -> bool:
        """Whether two arms alone are certainly the only best mix for the gap between them.

        They are if some ν reaches the constraints of these two, with opposite signs, and no
        others. Tried is the shortest that reaches the two, and then the shortest that also stays
        just within those that the last one violates.
        """
        x, limits = self._x, self._cost - CERTAIN
        ends = np.array([1.0, -1.0]) * self._cost[pair]
        held, marks = pair, ends
        for _ in range(TRIES):
            rows = x[held]
            try:
                values = x @ (np.linalg.solve(rows @ rows.T, marks) @ rows)
            except np.linalg.LinAlgError:
                return False
            if np.abs(values[pair] - ends).max() > FEASIBLE:
                return False
            values[pair] = 0.0
            violated = np.flatnonzero(np.abs(values) > limits)
            if not len(violated):
                return True
            held = np.concatenate([held, violated])
            marks = np.concatenate([marks, np.sign(values[violated]) * WITHIN])
            if len(held) > x.shape[1]:
                return False
        return False

    def solve(self, direction: FloatArray) -> Mix:
        """Return the optimal mix for `direction`, which must lie in the span of the arms."""
        if direction.shape != self._scale.shape or not np.isfinite(direction).all():
            raise DesignFailed(
                f"A direction must be {len(self._scale)} finite numbers; got {direction!r}."
            )
        scaled = direction / self._scale
        inside = self._right @ scaled
        outside = float(np.abs(scaled - inside @ self._right).max())
        if outside > 1e-7 * float(np.abs(scaled).max()):
            raise DesignFailed(
                "The direction is not a combination of the arms' features (it is off by "
                f"{outside:.1e}). Use a difference of arms."
            )
        target = inside / self._values
        length = float(np.linalg.norm(target))
        weights = np.zeros(len(self._features))
        if length == 0:
            return Mix(weights, weights.copy(), 0.0)
        target /= length
        support = self._support(target)
        features = self._x[support].T
        if len(support) == len(target):
            found = np.linalg.solve(features, target)
        else:
            found = np.linalg.lstsq(features, target, rcond=None)[0]
        weights[self._arms[support]] = found * length
        total = float(np.abs(weights).sum())
        return Mix(weights, np.abs(weights) / total, total**2)

    def _support(self, target: FloatArray) -> IntArray:
        """Return the arms in the best mix for a direction, ascending."""
        x, cost = self._x, self._cost
        if not self._vertices:
            start = _first_vertex(x, cost)
            self._keep(start, np.asarray(np.linalg.solve(*self._equations(start))))
        known = self._points[: len(self._vertices)]
        start = self._vertices[int((known @ target).argmax())]
        arms, signs = start.arms.copy(), start.signs.copy()
        most = MOST_STEPS * (len(arms) + 1)
        for step in range(most):
            if step % FRESH == 0:
                matrix, tight = self._equations(Vertex(arms, signs))
                inverse = np.linalg.inv(matrix)
                point = inverse @ tight
                values = x @ point  # x_kᵀν
            weights = target @ inverse  # with the signs of the constraints, or one is left
            out = int(weights.argmin())
            if weights[out] >= -FEASIBLE * float(np.abs(weights).sum()):
                break
            edge = inverse[:, out]
            rates = x @ edge
            entering, length = _next(rates, cost + np.sign(rates) * values, arms, out)
            point = point - length * edge
            values -= length * rates
            signs[out] = -np.sign(rates[entering])
            row = signs[out] * (x[entering] @ inverse)
            column = edge / row[out]
            row[out] = 0.0
            inverse -= np.multiply.outer(column, row)
            inverse[:, out] = column
            arms[out] = entering
        else:
            raise DesignFailed(
                f"The linear program for a direction was not solved in {most} steps. Features "
                "that differ less in size may help."
            )
        if step:
            self._keep(Vertex(arms, signs), point)
        return np.sort(arms[weights > NEGLIGIBLE * float(np.abs(weights).sum())])

    def _equations(self, vertex: Vertex) -> tuple[FloatArray, FloatArray]:
        """Return the matrix and the right-hand side that determine the ν of a vertex."""
        return vertex.signs[:, None] * self._x[vertex.arms], self._cost[vertex.arms]

    def _keep(self, vertex: Vertex, point: FloatArray) -> None:
        if len(self._vertices) < KEPT:
            self._points[len(self._vertices)] = point
            self._vertices.append(vertex)


def direction(arms: FloatArray, y: FloatArray) -> Mix:
    """Return w*, p* and ρ for estimating yᵀθ with pulls of `arms`.

    arms: one row of features per arm.
    y: the direction; a sum of arms, such as the difference of two.

    >>> import numpy as np
    >>> from lingape.designs import direction
    >>> direction(np.eye(3), np.array([1.0, -1.0, 0.0])).rho  # two arms of a plain bandit
    4.0
    """
    return DirectionProgram(np.asarray(arms, dtype=np.float64)).solve(
        np.asarray(y, dtype=np.float64)
    )


def _next(rates: FloatArray, slack: FloatArray, arms: IntArray, out: int) -> tuple[int, float]:
    """Return the constraint that ends an edge along which `out` is left, and where it does.

    rates: of x_kᵀν along the edge.
    slack: how far x_kᵀν can go.
    arms: of the vertex where the edge begins.
    """
    speeds = np.abs(rates)
    speeds[arms] = 0.0
    speeds[arms[out]] = 1.0  # it may end at its other side
    lengths = np.full(len(rates), np.inf)
    np.divide(slack, speeds, out=lengths, where=speeds > PIVOT * float(speeds.max()))
    entering = int(lengths.argmin())
    return entering, max(0.0, float(lengths[entering]))


def _first_vertex(x: FloatArray, cost: FloatArray) -> Vertex:
    """Return a vertex: from 0, walk to one constraint after another along those reached."""
    count, d = x.shape
    arms, signs, values = np.zeros(d, dtype=np.int64), np.zeros(d), np.zeros(count)
    rest = (
        x.copy()
    )  # the parts of the arms along which constraints reached so far stay as they are
    for n in range(d):
        rates = rest @ rest[int(np.einsum("kd,kd->k", rest, rest).argmax())]
        speeds = np.abs(rates)
        speeds[arms[:n]] = 0.0
        lengths = np.full(count, np.inf)
        slack = cost - np.sign(rates) * values
        np.divide(slack, speeds, out=lengths, where=speeds > PIVOT * float(speeds.max()))
        reached = int(lengths.argmin())
        values += max(0.0, float(lengths[reached])) * rates
        arms[n], signs[n] = reached, np.sign(rates[reached])
        along = rest[reached] / np.linalg.norm(rest[reached])
        rest -= np.multiply.outer(rest @ along, along)
    return Vertex(arms, signs)
