"""The data behind Figure 3: what is read is what was written, and instances keep their word."""

import gzip
import hashlib
import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from lingape.datasets import movielens
from lingape.datasets.movielens import load_movielens
from lingape.datasets.r6a import LEVELS, load_r6a, read_r6a, write_synthetic_r6a
from lingape.datasets.real_data import RealData, Rows, default_levels, fit
from lingape.errors import InvalidArgument, InvalidData, MissingData

USER = "2:0.100000 3:0.200000 4:0.300000 5:0.400000 6:0.000000 1:1.000000"
ARTICLE = "2:0.500000 3:0.000000 4:0.250000 5:0.000000 6:0.250000 1:1.000000"
OTHER = "2:0.000000 3:1.000000 4:0.000000 5:0.000000 6:0.000000 1:1.000000"
U = [1.0, 0.1, 0.2, 0.3, 0.4, 0.0]
V = [1.0, 0.5, 0.0, 0.25, 0.0, 0.25]


def visit(user=USER, article=ARTICLE, shown="109513", click="1"):
    return f"1241160900 {shown} {click} |user {user} |109498 {OTHER} |109513 {article}"


def everything(*paths, rows=None):
    features, outcomes = zip(*read_r6a(*paths, rows=rows), strict=True)
    return np.vstack(features), np.concatenate(outcomes)


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """A synthetic log, and the θ behind it."""
    path = tmp_path_factory.mktemp("r6a") / "clicks"
    return path, write_synthetic_r6a(path, 20_000, seed=1)


@pytest.fixture(scope="module")
def data(clicks):
    return load_r6a(clicks[0])


def test_a_line_by_hand(tmp_path):
    path = tmp_path / "log"
    path.write_text(visit() + "\n" + visit(click="0", shown="109498") + "\n")
    features, outcomes = everything(path)
    by_hand = [u * v for u in U for v in V]  # the user's index is the slow one
    np.testing.assert_array_equal(features[0], by_hand)
    np.testing.assert_array_equal(features[1], [u * v for u in U for v in [1, 0, 1, 0, 0, 0]])
    np.testing.assert_array_equal(outcomes, [1.0, -1.0])


@pytest.mark.parametrize(
    "line",
    [
        visit(user="1:1.000000 2:0.100000 3:0.200000 4:0.300000 5:0.400000 6:0.000000"),
        visit(user="2:0.1 3:.2 4:3e-1 5:0.4 6:0 1:1"),
        visit(article="1:1 6:0.25 5:0 4:0.25 3:0 2:0.5"),
        visit() + "\r",
        visit() + f" |109600 {OTHER}",
    ],
)
def test_unusual_lines_are_read_all_the_same(tmp_path, line):
    path = tmp_path / "log"
    path.write_text(visit() + "\n" + line)  # and the last line may lack its end
    features, _ = everything(path)
    np.testing.assert_array_equal(features[1], features[0])


@pytest.mark.parametrize(
    "line",
    [
        visit(user=USER[11:]),  # feature 2 is missing
        visit(user=USER + " 7:0.000000"),
        visit(user=USER.replace("6:", "7:")),
        visit(user=USER.replace("6:", "5:")),
        visit(user=USER.replace("0.3", "nan")),
        visit(user=USER.replace("0.3", "x")),
        visit(user=USER.replace("1:1.", "1:0.")),
        visit(user=USER.replace("0.3", "1e300")),
        visit(article=ARTICLE[:-11]),  # the constant is missing
        visit(article=ARTICLE + " 7:1.000000"),
        visit(article=ARTICLE.replace("1:1.", "1:-1.")),
        visit(article=""),
        visit(shown="109514"),
        visit(shown="10951"),
        visit(click="2"),
        visit().replace("|user", "|somebody"),
        visit()[:60],
        "\x00\x01 garbage",
        "|",
    ],
)
def test_malformed_rows_are_skipped_and_counted(tmp_path, line):
    path, rows = tmp_path / "log", Rows()
    path.write_text(f"{visit()}\n{line}\n{visit()}\n")
    features, _ = everything(path, rows=rows)
    assert len(features) == 2
    assert (rows.read, rows.used, rows.skipped) == (3, 2, 1)


def test_gzip_is_told_by_its_contents(tmp_path, clicks):
    path, _ = clicks
    (tmp_path / "zipped").write_bytes(gzip.compress(path.read_bytes()))
    for one, other in zip(everything(path), everything(tmp_path / "zipped"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_several_files_are_one(tmp_path, clicks):
    path, _ = clicks
    whole, lines = everything(path)[0], path.read_bytes().splitlines(keepends=True)
    (tmp_path / "a").write_bytes(b"".join(lines[:7000]))
    (tmp_path / "b").write_bytes(b"".join(lines[7000:]))
    np.testing.assert_array_equal(everything(tmp_path / "a", tmp_path / "b")[0], whole)


def test_files_that_are_no_click_logs(tmp_path, clicks):
    packed = gzip.compress(clicks[0].read_bytes()[:100_000])
    noise = np.random.default_rng(0).bytes(3_000_000)
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 255
    for contents, message in [
        (b"", "none of its lines"),
        (b"a,b\n1,2\n", "none of its lines"),
        (noise, "none of its lines"),
        (b"x" * 3_000_000, "a line of more than"),
        (packed[: len(packed) // 2], "cannot be read"),
        (bytes(damaged), "cannot be read"),
        (b"\x1f\x8b" + noise, "cannot be read"),
    ]:
        (tmp_path / "log").write_bytes(contents)
        with pytest.raises(InvalidData, match=message):
            load_r6a(tmp_path / "log")
    with pytest.raises(InvalidData, match="No such file"):
        load_r6a(tmp_path / "nowhere")
    with pytest.raises(InvalidArgument, match="at least one"):
        load_r6a()


def test_the_generator_repeats_itself(tmp_path):
    for name in "log", "log.gz":
        write_synthetic_r6a(tmp_path / name, 300, seed=5)
        first = (tmp_path / name).read_bytes()
        (tmp_path / "again").mkdir(exist_ok=True)
        write_synthetic_r6a(tmp_path / "again" / name, 300, seed=5)
        assert (tmp_path / "again" / name).read_bytes() == first
        write_synthetic_r6a(tmp_path / name, 300, seed=6)
        assert (tmp_path / name).read_bytes() != first
    plain = (tmp_path / "log").read_bytes()
    assert gzip.decompress((tmp_path / "log.gz").read_bytes()) == plain
    assert plain.count(b"\n") == 300
    with pytest.raises(InvalidArgument, match="lines must be"):
        write_synthetic_r6a(tmp_path / "log", 0, seed=5)


def test_synthetic_means_are_like_the_real_ones(clicks):
    path, theta = clicks
    features, outcomes = everything(path)
    means = features @ theta
    assert means.min() > -1 and means.max() < -0.85
    assert (means < -0.93).sum() > 1000 and (means > -0.88).sum() > 100
    assert outcomes.mean() == pytest.approx(means.mean(), abs=0.01)


def test_the_streaming_fit_is_the_dense_one():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(500, 7)), rng.choice([-1.0, 1.0], size=500)
    data = fit([(z[:100], y[:100]), (z[100:101], y[100:101]), (z[101:], y[101:])], name="test")
    dense = np.linalg.solve(z.T @ z + 0.01 * np.eye(7), z.T @ y)
    np.testing.assert_allclose(data.theta, dense, atol=1e-9)
    assert sorted(map(tuple, data.features)) == sorted(map(tuple, z))
    assert (data.rows.read, data.rows.used) == (500, 500)
    with pytest.raises(InvalidData, match="at least one row"):
        fit([], name="nothing")


def test_the_fit_of_a_click_log(clicks, data):
    z, y = everything(clicks[0])
    dense = np.linalg.solve(z.T @ z + 0.01 * np.eye(36), z.T @ y)
    np.testing.assert_allclose(data.means, data.features @ dense, atol=1e-5)
    np.testing.assert_allclose(z @ data.theta, z @ clicks[1], atol=0.1)
    assert data.basis.shape == (36, 25)  # 5 free features each of user and article


def test_the_pool_is_a_uniform_sample_of_distinct_rows():
    table = np.random.default_rng(3).integers(-3, 4, size=(3000, 4)).astype(float)
    distinct = np.unique(table, axis=0)

    def pool(rows, size, seed):
        chunks = ((part, np.ones(len(part))) for part in np.array_split(rows, 30))
        return fit(chunks, name="test", pool=size, seed=seed).features

    assert len(pool(table, 10_000, 0)) == len(distinct)
    some = pool(table, 200, 0)
    assert len(np.unique(some, axis=0)) == 200
    assert {tuple(row) for row in some} <= {tuple(row) for row in distinct}
    # Neither the order of rows nor how often they come matters; the seed does.
    np.testing.assert_array_equal(pool(np.vstack([table[::-1], table]), 200, 0), some)
    assert not np.array_equal(pool(table, 200, 1), some)
    means = [pool(table, 200, seed).mean() for seed in range(50)]
    assert np.mean(means) == pytest.approx(distinct.mean(), abs=0.03)
    zeros = np.vstack([np.zeros((50, 4)), np.full((50, 4), -0.0), distinct[:2]])
    assert len(pool(zeros, 200, 0)) == 3


@pytest.mark.parametrize("k", [2, 10, 40, 80])
def test_instances_from_click_logs_keep_to_the_authors_levels(data, k):
    for seed in range(5):
        instance = data.sample(k, seed)
        means = instance.signed().means
        assert len(means) == k
        assert -0.88 < means[0] < 1.0
        assert means[1:].min() > -1.0 and means[1:].max() < -0.93
        assert means[0] - means[1:].max() >= 0.05
        assert instance.problem().rank == min(k, 25)
        lengths = np.linalg.norm(instance.arms, axis=1)
        assert lengths.min() > 1.0 and lengths.max() <= 2.0 + 1e-5


def test_instances_repeat_themselves(clicks, data):
    again = load_r6a(clicks[0])
    for seed in range(3):
        one, other = data.sample(20, seed), again.sample(20, seed)
        np.testing.assert_array_equal(one.arms, other.arms)
        np.testing.assert_array_equal(one.theta, other.theta)
        np.testing.assert_allclose(data.sample(7, seed).arms, one.arms[:7], atol=1e-14)
    assert not np.array_equal(data.sample(20, 0).arms, data.sample(20, 1).arms)
    assert data.sample(20, 1).name == "click log clicks, 20 arms, seed 1"


def test_other_data_get_levels_of_their_own():
    means = np.linspace(-0.5, 0.5, 1001)
    levels = default_levels(means)
    assert levels.best == (0.4, 1.0)
    assert levels.others == (-1.0, pytest.approx(0.35))
    data = RealData("line", means[:, None], np.ones(1), Rows(), levels)
    for seed in range(20):
        drawn = data.sample(30, seed).signed().means
        assert drawn[0] - drawn[1:].max() >= 0.05
        assert len(set(drawn)) == 30


def test_samples_that_cannot_be(data):
    for k in 1, 2.5, "3", None:
        with pytest.raises(InvalidArgument, match="whole number from 2"):
            data.sample(k, 0)
    for seed in -1, 0.5:
        with pytest.raises(InvalidArgument, match="seed"):
            data.sample(3, seed)
    with pytest.raises(InvalidData, match="Ask for fewer arms"):
        data.sample(100_000, 0)
    dull = RealData("dull", np.ones((50, 1)), np.zeros(1), Rows(), LEVELS)
    with pytest.raises(InvalidData, match="dull has 50 and 0"):
        dull.sample(2, 0)


def tiny_wheel(ratings=4000, **replaced):
    """A wheel with made-up tables where recbole has MovieLens'."""
    rng = np.random.default_rng(0)
    jobs, genres = ["artist", "doctor", "none", "writer"], ["Action", "Crime", "Drama", "War"]
    tables = {
        "user": ["user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token"]
        + [
            f"{n}\t{rng.integers(7, 80)}\t{rng.choice(['M', 'F'])}\t{rng.choice(jobs)}\t0"
            for n in range(60)
        ],
        "item": ["item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq"]
        + [
            f"{n}\tA movié\t{rng.integers(1930, 1999)}\t"
            + " ".join(rng.choice(genres, size=rng.integers(1, 3), replace=False))
            for n in range(79)
        ]
        + ["79\tOdd\tV\tunknown"],
        "inter": ["user_id:token\titem_id:token\trating:float\ttimestamp:float"]
        + [
            f"{rng.integers(60)}\t{rng.integers(80)}\t{rng.integers(1, 6)}\t88"
            for _ in range(ratings)
        ]
        + ["999\t1\t5\t88", "1\t999\t5\t88", "1\t1\tgood\t88", "1\t1"],
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for ending, lines in (tables | replaced).items():
            name = f"recbole/dataset_example/ml-100k/ml-100k.{ending}"
            archive.writestr(name, "\n".join(lines) + "\n")
    return file.getvalue()


def cached(folder, wheel):
    """Put a wheel into a cache, and return its checksum."""
    (folder / movielens.WHEEL).write_bytes(wheel)
    return hashlib.sha256(wheel).hexdigest()


@pytest.fixture
def no_pip(monkeypatch):
    """Fail where pip would be run."""

    def refuse(*_, **__):
        raise FileNotFoundError("no python here")

    monkeypatch.setattr(subprocess, "run", refuse)


@pytest.fixture
def fake_pip(monkeypatch):
    """Let pip download what a test puts into the list returned."""
    wheels = []

    def download(command, **_):
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        folder = command[command.index("-d") + 1]
        with open(f"{folder}/{movielens.WHEEL}", "wb") as file:
            file.write(wheels.pop(0))

    monkeypatch.setattr(subprocess, "run", download)
    return wheels


def test_movielens_from_a_wheel(tmp_path, no_pip):
    data = load_movielens(tmp_path, sha256=cached(tmp_path, tiny_wheel()))
    assert data.name == "MovieLens-100k"
    assert (data.rows.read, data.rows.used) == (4003, 4000)  # half a line is no row
    assert np.linalg.matrix_rank(data.features) == data.features.shape[1] == 36
    assert np.abs(data.means).max() < 1
    np.testing.assert_array_equal(data.features[:, 0], 1.0)
    np.testing.assert_allclose(data.features, data.features.round(12), atol=1e-15)
    assert np.linalg.norm(data.features, axis=1).max() <= 2.0 + 1e-5
    instance = data.sample(20, 0)
    means = instance.signed().means
    assert means[0] - means[1:].max() >= 0.05


def test_scores_are_principal_and_of_a_fixed_sign():
    traits = [{"M", "x"}, {"M"}, {"F"}, {"F", "x"}, {"F"}]
    features = movielens._features(traits)
    indicators = np.array([["F" in t, "M" in t, "x" in t] for t in traits], dtype=float)
    indicators -= indicators.mean(axis=0)
    inner = features[:, 1:] @ features[:, 1:].T  # as they were, but for one factor
    np.testing.assert_allclose(
        inner / inner[0, 0],
        indicators @ indicators.T / (indicators @ indicators.T)[0, 0],
        atol=1e-5,
    )
    assert np.linalg.norm(features[:, 1:], axis=1).max() == pytest.approx(1.0, abs=1e-5)
    assert features[2, 1] > 0 > features[1, 1]  # F comes before M, so F is positive


def test_a_damaged_cache_is_mended(tmp_path, fake_pip):
    wheel = tiny_wheel()
    sha256 = cached(tmp_path, wheel)
    cached(tmp_path, wheel[:-100])
    fake_pip.append(wheel)
    load_movielens(tmp_path, sha256=sha256)
    load_movielens(tmp_path, sha256=sha256)  # from the cache: pip has nothing more to give
    assert [path.name for path in tmp_path.iterdir()] == [movielens.WHEEL]


def test_a_damaged_download_is_refused_and_not_kept(tmp_path, fake_pip):
    fake_pip.append(b"something else")
    with pytest.raises(InvalidData, match="must have the SHA-256 9c99.*--r6a PATH"):
        load_movielens(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, fake_pip):
    wheel = tiny_wheel()
    fake_pip.append(wheel)
    (tmp_path / "file").write_text("in the way")
    load_movielens(tmp_path / "file", sha256=hashlib.sha256(wheel).hexdigest())


def test_the_cache_is_where_the_user_wants_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert movielens._cache() == tmp_path / "lingape"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    for variable in ("HOME", "USERPROFILE"):  # the second is that of Windows
        monkeypatch.setenv(variable, str(tmp_path))
    assert movielens._cache() == tmp_path / ".cache" / "lingape"


def test_without_pip_or_network_there_is_a_way_out(tmp_path, monkeypatch):
    def fail(reason):
        def run(*_, **__):
            raise reason

        monkeypatch.setattr(subprocess, "run", run)
        with pytest.raises(MissingData, match="--r6a PATH") as caught:
            load_movielens(tmp_path)
        return str(caught.value)

    said = "a warning\nERROR: No matching distribution found\n"
    assert "found. Connect" in fail(subprocess.CalledProcessError(1, "pip", stderr=said))
    assert "said: nothing." in fail(subprocess.CalledProcessError(1, "pip", stderr=""))
    assert "within 120 seconds" in fail(subprocess.TimeoutExpired("pip", 120))
    assert "no python" in fail(FileNotFoundError("no python"))


def test_what_pip_says_is_passed_on(tmp_path, monkeypatch):
    monkeypatch.setattr(movielens, "PACKAGE", "--no-such-option")
    with pytest.raises(MissingData, match="pip ended with status"):
        load_movielens(tmp_path)


@pytest.mark.parametrize(
    "wheel",
    [
        b"no zip",
        tiny_wheel(user=["user_id:token\tgender:token"]),
        tiny_wheel(user=["user_id\tage\tgender\toccupation", "1\told\tM\tnone"]),
        tiny_wheel(item=[]),
        tiny_wheel(inter=["user_id\titem_id\trating"]),
    ],
)
def test_wheels_without_movielens(tmp_path, no_pip, wheel):
    with pytest.raises(InvalidData, match="MovieLens-100k"):
        load_movielens(tmp_path, sha256=cached(tmp_path, wheel))


def test_means_that_are_no_probabilities_are_refused(tmp_path, no_pip):
    with pytest.raises(InvalidData, match="between -1 and 1"):
        load_movielens(tmp_path, sha256=cached(tmp_path, tiny_wheel(ratings=40)))
