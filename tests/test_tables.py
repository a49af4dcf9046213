"""Arms from CSV, Parquet and NPY files."""

import numpy as np
import pytest

from lingape import soare
from lingape.errors import InvalidProblem
from lingape.study import read_instance
from lingape.tables import read_arms


def test_arms_with_header_and_names(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text("arm,size,weight\nred,1,0.5\nblue,2,-1e-3\n")
    notes = ["Names: 'arm'.", "Numbers: size, weight.", "2 arms, 2 features: size, weight."]
    assert read_arms(path) == (["red", "blue"], [[1, 0.5], [2, -0.001]], notes)


def test_all_kinds_of_tables_give_the_same_arms(tmp_path):
    polars = pytest.importorskip("polars")
    arms = soare(3, 0.3).arms
    np.save(tmp_path / "arms.npy", arms)
    np.savetxt(tmp_path / "arms.csv", arms, delimiter=",", fmt="%.17g")
    polars.DataFrame(arms).write_parquet(tmp_path / "arms.parquet")
    for name in ("arms.npy", "arms.csv", "arms.parquet"):
        assert np.array_equal(read_instance(tmp_path / name, [2, 0, 0]).arms, arms)


def test_names_in_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "arms.parquet"
    polars.DataFrame({"arm": ["red", "blue"], "x": [1, 2], "y": [0.5, None]}).write_parquet(path)
    with pytest.raises(InvalidProblem, match="Column 'y' of .* has no value in row 2"):
        read_arms(path)
    polars.DataFrame({"arm": ["red", "blue"], "x": [1, 2]}).write_parquet(path)
    assert read_arms(path)[:2] == (["red", "blue"], [[1.0], [2.0]])
    (tmp_path / "arms.csv").write_text("id,x\n17,1\n18,2\n")
    assert read_arms(tmp_path / "arms.csv")[:2] == (["17", "18"], [[1.0], [2.0]])


@pytest.mark.parametrize("name", ["arms.npy", "arms.parquet", "arms.csv"])
def test_garbage(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe\x00garbage")
    with pytest.raises(InvalidProblem, match=r"cannot be read as"):
        read_arms(path)


def test_arrays_of_another_shape(tmp_path):
    np.save(tmp_path / "arms.npy", np.arange(3))
    with pytest.raises(InvalidProblem, match=r"shape \(3,\)"):
        read_arms(tmp_path / "arms.npy")
