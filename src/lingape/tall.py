"""Tables with very many rows, a block at a time: without copies, and blocks stay in the cache."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .ties import first_max

# A table with more numbers than this is tall. Smaller ones are handled all at once, by methods
# that keep more digits of what hardly matters.
MOST = 2_000_000
BLOCK = 1_024  # rows
LOST = 1e-8  # beside what they were, squared lengths that are kept up to date have no digits
STACKED = 64  # triangles of a decomposition that are put together at once


def is_tall(rows: FloatArray) -> bool:
    """Return whether a table is better handled a block at a time."""
    return rows.size > MOST and rows.shape[0] > rows.shape[1] ** 2


def blocks(count: int) -> Iterator[slice]:
    """Yield the blocks of `count` rows in turn."""
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


def product(rows: FloatArray, matrix: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return rows @ matrix.

    out: where to write it; may be `rows` itself if `matrix` is square.
    """
    found = np.empty((len(rows), matrix.shape[1])) if out is None else out
    for block in blocks(len(rows)):
        found[block] = rows[block] @ matrix
    return found


def gram(rows: FloatArray, weights: FloatArray | IntArray | None = None) -> FloatArray:
    """Return rowsᵀ @ rows.

    weights: how much each row counts; 1 unless given.
    """
    w = np.ones(len(rows)) if weights is None else weights
    if not is_tall(rows):
        return (rows.T * w) @ rows
    return sum_of((rows[block].T * w[block]) @ rows[block] for block in blocks(len(rows)))


def gram_of_product(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the Gram matrix of rows @ matrix."""
    turned = (rows[block] @ matrix for block in blocks(len(rows)))
    return sum_of(piece.T @ piece for piece in turned)


def product_with_rows(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return (rows @ matrix)ᵀ @ rows."""
    return sum_of((rows[block] @ matrix).T @ rows[block] for block in blocks(len(rows)))


def squared_lengths(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the squared length of each row of rows @ matrix."""
    found = np.empty(len(rows))
    for block in blocks(len(rows)):
        turned = rows[block] @ matrix
        np.einsum("kd,kd->k", turned, turned, out=found[block])
    return found


def alike(rows: FloatArray, twins: IntArray) -> FloatArray:
    """Return `rows`, those that have a twin changed to exactly that one."""
    copies = np.flatnonzero(twins != np.arange(len(rows)))
    rows[copies] = rows[twins[copies]]
    return rows


def sum_of(pieces: Iterator[FloatArray]) -> FloatArray:
    """Return the sum of arrays of one shape."""
    total = next(pieces)
    for piece in pieces:
        total = total + piece
    return total


class Orthonormal(NamedTuple):
    """How to make the columns of a table orthonormal."""

    matrix: FloatArray  # (d, rank): rows @ matrix is orthonormal
    values: FloatArray  # (rank,) the singular values of the table, from the largest


def orthonormal_turn(rows: FloatArray, scale: FloatArray, rounding: float) -> Orthonormal:
    """Return the matrix that makes the columns of `rows` orthonormal, and the singular values.

    R of a QR decomposition, made block by block, has the singular values and directions of the
    rows, with all digits. A pass over columns of one length has only little left to correct.

    scale: what each column is measured by; the singular values are those of rows / scale.
    rounding: singular values up to this share of the largest are 0.
    """
    triangles = [np.linalg.qr(rows[block] / scale, mode="r") for block in blocks(len(rows))]
    while len(triangles) > 1:
        some = [triangles[start : start + STACKED] for start in range(0, len(triangles), STACKED)]
        triangles = [np.linalg.qr(np.vstack(group), mode="r") for group in some]
    _, values, directions = np.linalg.svd(triangles[0])
    kept = values > rounding * values[0]
    turn = directions[kept].T / scale[:, None] / values[kept]
    factor = np.linalg.cholesky(gram_of_product(rows, turn)).T
    return Orthonormal(turn @ np.linalg.inv(factor), values[kept])


def spread_out(
    rows: FloatArray, turn: FloatArray, number: int, usable: BoolArray | None = None
) -> list[int]:
    """Return rows of rows @ turn, each the farthest from the span of those before it.

    Squared lengths are kept up to date, and computed from scratch when they have lost their
    digits. Of K rows of an orthonormal basis one is left with 1/K or more as long as the span is
    not complete, but not of those that are usable.

    number: how many.
    usable: from which ones; all unless given.
    """
    lengths = squared_lengths(rows, turn)
    allowed = np.ones(len(rows), dtype=bool) if usable is None else usable
    lengths[~allowed] = -1.0
    largest = float(lengths.max())
    directions = np.zeros((0, turn.shape[1]))
    chosen: list[int] = []
    for _ in range(number):
        arm = first_max(lengths, 1e-9 * float(lengths.max()))
        chosen.append(arm)
        rest = rows[arm] @ turn
        for _ in range(2):  # once more for the digits that the first time loses
            rest = rest - directions.T @ (directions @ rest)
        directions = np.vstack([directions, rest / np.linalg.norm(rest)])
        lengths -= (rows @ (turn @ directions[-1])) ** 2
        if float(lengths.max()) < LOST * largest:
            left = turn - (turn @ directions.T) @ directions
            lengths = squared_lengths(rows, left)
            lengths[~allowed] = -1.0
            largest = float(lengths.max())
    return chosen


def first_alike(rows: FloatArray) -> IntArray:
    """Return for each row the first row that is exactly the same."""
    alike = np.arange(len(rows))
    marks = _marks(rows)
    order = np.argsort(marks, kind="stable")
    same = np.flatnonzero(marks[order[1:]] == marks[order[:-1]])
    if len(same):
        # Rows that differ may have the same mark: only their features decide.
        doubtful = np.unique(np.concatenate([order[same], order[same + 1]]))
        _, first, group = np.unique(rows[doubtful], axis=0, return_index=True, return_inverse=True)
        alike[doubtful] = doubtful[first[group.reshape(-1)]]
    return alike


def _marks(rows: FloatArray) -> IntArray:
    """Return a number for each row that is the same for rows that are, and rarely for others."""
    factors = np.random.default_rng(0).integers(2**62, size=rows.shape[1]) * 2 + 1
    marks = np.empty(len(rows), dtype=np.int64)
    for block in blocks(len(rows)):
        bits = np.ascontiguousarray(rows[block] + 0.0).view(np.int64)  # no negative zeros
        bits = (bits ^ (bits >> 29)) * factors
        marks[block] = (bits ^ (bits >> 32)).sum(axis=1)
    return marks
