"""Loops over many arms, written so that a processor runs them fast.

A loop that compares each value with the best so far waits for one comparison before it begins the
next; several loops side by side do not wait. Sums along memory are vectorised, and sums of
products into one number are not, because that would change the order of addition.
"""

import math
from typing import Any

from ..arrays import FloatArray, IntArray
from .functions import compiled, long_function, part_function, unrolled

FEW = 16  # up to so many values, one loop is faster than several side by side


@part_function
def largest(team: Any, values: FloatArray) -> float:
    """Return the largest value that is not NaN, or -∞."""
    a = b = c = d = -math.inf
    count = len(values)
    whole = count - count % 4
    for k in range(0, whole, 4):
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
    for k in range(whole, count):
        a = values[k] if values[k] > a else a
    a, b = a if a > c else c, b if b > d else d
    return a if a > b else b


@part_function
def first_from(team: Any, values: FloatArray, least: float) -> int:
    """Return the first position whose value is not below `least`; there has to be one."""
    k = 0
    if unrolled() and len(values) <= FEW:
        for m in range(len(values) - 1, -1, -1):
            if not values[m] < least:
                k = m
    else:
        while values[k] < least:
            k += 1
    return k


@compiled
def multiply(team: Any, matrix: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write the product of a symmetric (d, d) matrix and a vector."""
    write_products(team, matrix, vector, out)


@long_function
def write_products(team: Any, columns: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """Write Xv, from the columns of X."""
    number, count = len(columns), len(out)
    for k in range(count):
        out[k] = 0.0
    whole = number - number % 4
    for m in range(0, whole, 4):  # four columns in a pass
        a, b, c, d = vector[m], vector[m + 1], vector[m + 2], vector[m + 3]
        first, second, third, fourth = (
            columns[m],
            columns[m + 1],
            columns[m + 2],
            columns[m + 3],
        )
        for k in range(count):
            total = out[k] + a * first[k]
            total += b * second[k]
            total += c * third[k]
            out[k] = total + d * fourth[k]
    for m in range(whole, number):
        value, column = vector[m], columns[m]
        for k in range(count):
            out[k] += value * column[k]


@long_function
def add_moments(team: Any, x: FloatArray, counts: IntArray, moments: FloatArray) -> None:
    """Add the sum of n_k x_k x_kᵀ, for these counts n, to the lower half of a matrix."""
    for k in range(len(x)):
        if counts[k] != 0:
            n = float(counts[k])
            for p in range(len(moments)):
                value = n * x[k, p]
                for q in range(p + 1):
                    moments[p, q] += value * x[k, q]
