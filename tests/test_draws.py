"""Numbers that depend on seed and time alone."""

import numpy as np
import pytest

from lingape import draws
from lingape.kernels.draws import compiled_normal, compiled_uniform
from lingape.kernels.functions import EntryPoint


def test_both_lanes_draw_the_same():
    pytest.importorskip("numba")
    uniform, normal = EntryPoint(compiled_uniform), EntryPoint(compiled_normal)
    for key in [(0, 0, 0), (1, 2, 3), (2**40, 10**9, 17), (7, 1, 10**6)]:
        assert uniform(*key) == draws.uniform(*key)
        assert normal(*key) == pytest.approx(draws.normal(*key), rel=1e-12)


def test_they_look_random():
    keys = [(s, t, n) for s in range(5) for t in range(200) for n in range(5)]
    values = np.array([draws.uniform(*key) for key in keys])
    assert len(np.unique(values)) == len(values)
    assert values.mean() == pytest.approx(0.5, abs=0.02)
    assert np.histogram(values, bins=10, range=(0, 1))[0] == pytest.approx(500, abs=100)
    normals = np.array([draws.normal(*key) for key in keys])
    assert (normals.mean(), normals.std()) == pytest.approx((0, 1), abs=0.05)
    for lag in (1, 5, 25):
        assert abs(np.corrcoef(values[:-lag], values[lag:])[0, 1]) < 0.05
