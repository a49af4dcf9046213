"""Arms from CSV, Parquet and NPY files."""

import numpy as np
import pytest

from lingape import Factors, soare
from lingape.errors import InvalidArgument, InvalidProblem
from lingape.study import read_instance, read_study
from lingape.tables import read_arms


def test_arms_with_header_and_names(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text("arm,size,weight\nred,1,0.5\nblue,2,-1e-3\n")
    names, arms, notes = read_arms(path)
    assert names == ["red", "blue"]
    assert arms.features.tolist() == [[1, 1, 0.5], [1, 2, -0.001]]
    assert notes == [
        "Names: 'arm'.",
        "Numbers: size, weight.",
        "2 arms, 3 features: constant, size, weight.",
    ]


def test_files_and_data_frames_mean_the_same(tmp_path):
    """Numbers under headings have a linear effect beside a constant, whatever they are in."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    path = tmp_path / "arms.csv"
    path.write_text("name,picture,discount\nplain,0,0\na,1,0\nb,0,1\nboth,1,1\n")
    in_python = Factors.from_table(pandas.read_csv(path))
    polars.read_csv(path).write_parquet(tmp_path / "arms.parquet")
    assert in_python.columns == ["constant", "picture", "discount"]
    for name in ("arms.csv", "arms.parquet"):
        assert read_arms(tmp_path / name).arms == in_python
    path.write_text("plain,0,0\na,1,0\nb,0,1\nboth,1,1\n")
    assert read_arms(path).arms == [[0, 0], [1, 0], [0, 1], [1, 1]]


def test_a_constant_that_is_there_is_not_added_again(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text("name,constant,dose\na,1,0\nb,1,1\nc,1,3\n")
    assert read_arms(path).arms.columns == ["constant", "dose"]


def test_all_kinds_of_tables_give_the_same_arms(tmp_path):
    polars = pytest.importorskip("polars")
    arms = soare(3, 0.3).arms
    np.save(tmp_path / "arms.npy", arms)
    np.savetxt(tmp_path / "arms.csv", arms, delimiter=",", fmt="%.17g")
    polars.DataFrame(arms).write_parquet(tmp_path / "arms.parquet")  # which has headings
    for name in ("arms.npy", "arms.csv"):
        assert np.array_equal(read_instance(tmp_path / name, [2, 0, 0]).arms, arms)
    with_constant = read_instance(tmp_path / "arms.parquet", [0, 2, 0, 0])
    assert np.array_equal(with_constant.arms, np.column_stack([np.ones(len(arms)), arms]))
    with pytest.raises(InvalidArgument, match="its features, constant, column_0, .*; got 3"):
        read_instance(tmp_path / "arms.parquet", [2, 0, 0])


def test_headings_of_instances(tmp_path):
    path = tmp_path / "arms.csv"
    path.write_text("5,1\n3,2\n2,3\n")
    with pytest.raises(InvalidProblem, match="header=True or header=False"):
        read_instance(path, [1, 0])
    assert read_instance(path, [1, 0], header=False).arms.tolist() == [[5, 1], [3, 2], [2, 3]]
    (tmp_path / "study.toml").write_text(
        'explorers = "race"\nseeds = 1\n'
        'instances = {arms = "arms.csv", theta = [0, 1, 0], header = true}\n'
    )
    (instance,) = read_study(tmp_path / "study.toml").instances.values()
    assert instance.arms.tolist() == [[1, 3, 2], [1, 2, 3]]


def test_names_in_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "arms.parquet"
    polars.DataFrame({"arm": ["red", "blue"], "x": [1, 2], "y": [0.5, None]}).write_parquet(path)
    with pytest.raises(InvalidProblem, match="Column 'y' of .* has no value in row 2"):
        read_arms(path)
    polars.DataFrame({"arm": ["red", "blue"], "x": [1, 2]}).write_parquet(path)
    assert read_arms(path).names == ["red", "blue"]
    (tmp_path / "arms.csv").write_text("id,x\n17,1\n18,2\n")
    assert read_arms(tmp_path / "arms.csv").names == ["17", "18"]


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
