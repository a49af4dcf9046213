"""MovieLens-100k in place of R6A, which may not be redistributed: who likes which movie.

The data come inside the wheel of the package recbole, which pip downloads. MovieLens' licence
restricts redistribution, so they are read from the wheel, and never written elsewhere.
"""

import contextlib
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from ..arrays import FloatArray
from ..errors import InvalidData, MissingData
from .real_data import Chunk, RealData, Rows, fit

NAME = "MovieLens-100k"
PACKAGE = "recbole==1.2.1"
WHEEL = "recbole-1.2.1-py3-none-any.whl"
SHA256 = "9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407"
PATIENCE = 120.0  # seconds for a download of 2 MB

_INSIDE = "recbole/dataset_example/ml-100k/ml-100k."
_SCORES = 5  # beside the constant: six features for users and six for movies, as in R6A
_INSTEAD = (
    "Connect to the network and try again, or use other data: --r6a PATH reads a click log of "
    "Yahoo! R6A, and --synthetic makes one up."
)


def load_movielens(cache: str | Path | None = None, *, sha256: str = SHA256) -> RealData:
    """Return θ* and arms from MovieLens-100k, downloading it on first use.

    A rating of 4 or 5 counts as +1, a lower one as -1. A user is the constant and five numbers
    that sum up age group, gender and occupation; a movie is the constant and five that sum up
    genres and decade. The 36 features of a rating are their products, the user's index slow.

    cache: the folder that keeps the download; lingape's in the user's cache where left out.
    sha256: what the download must hash to.

    Ten arms of it, as an instance to play:

    >>> from lingape.datasets.movielens import load_movielens
    >>> instance = load_movielens().sample(10, seed=0)  # doctest: +SKIP
    """
    folder = _cache() if cache is None else Path(cache)
    rows = Rows()
    data = fit(_ratings(_wheel(folder, sha256), rows), name=NAME, rows=rows)
    if np.abs(data.means).max() >= 1.0:
        raise InvalidData(
            "Means of ±1 rewards lie between -1 and 1, but those fitted to the ratings range from "
            f"{data.means.min():g} to {data.means.max():g}. Are the ratings complete?"
        )
    return data


def _cache() -> Path:
    """Return lingape's folder in the user's cache."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard says to ignore a path that is not absolute.
    if os.path.isabs(given):
        return Path(given, "lingape")
    try:
        return Path.home() / ".cache" / "lingape"
    except RuntimeError:  # no home folder, as in some containers
        return Path(tempfile.gettempdir(), "lingape")


def _wheel(folder: Path, sha256: str) -> bytes:
    """Return the wheel from the cache, or from pip where the cache has none or a damaged one."""
    with contextlib.suppress(OSError):
        wheel = (folder / WHEEL).read_bytes()
        if hashlib.sha256(wheel).hexdigest() == sha256:
            return wheel
    wheel = _download()
    found = hashlib.sha256(wheel).hexdigest()
    if found != sha256:
        raise InvalidData(
            f"The wheel of {PACKAGE} must have the SHA-256 {sha256}, but what pip downloaded has "
            f"{found}: it is damaged or not the same. {_INSTEAD}"
        )
    with contextlib.suppress(OSError):  # without a writable cache it is downloaded again next time
        folder.mkdir(parents=True, exist_ok=True)
        # Under another name first, so that no process reads half a file.
        with tempfile.TemporaryDirectory(dir=folder) as aside:
            (Path(aside) / WHEEL).write_bytes(wheel)
            os.replace(Path(aside) / WHEEL, folder / WHEEL)
    return wheel


def _download() -> bytes:
    """Return the wheel as pip downloads it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", PACKAGE, "--no-deps", "--quiet"]
        command += ["--only-binary=:all:", "--disable-pip-version-check", "-d", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
            return (Path(folder) / WHEEL).read_bytes()
        except subprocess.CalledProcessError as reason:
            said = (reason.stderr.strip() or "nothing").splitlines()[-1]
            why = f"pip ended with status {reason.returncode} and said: {said}"
        except subprocess.TimeoutExpired:
            why = f"pip did not finish within {PATIENCE:g} seconds"
        except OSError as reason:
            why = str(reason)
    raise MissingData(f"{NAME} must be downloaded once, but {why}. {_INSTEAD}")


def _ratings(wheel: bytes, rows: Rows) -> Iterator[Chunk]:
    """Yield the features (n, 36) and outcomes ±1 (n,) of all ratings in the wheel."""
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            users = {
                user: {f"age {_age_group(age)}", f"gender {gender}", f"occupation {occupation}"}
                for user, age, gender, occupation in _table(
                    archive, "user", "user_id", "age", "gender", "occupation"
                )
            }
            movies = {
                movie: {*genres.split(), *([f"{year[:3]}0s"] if year.isdigit() else [])}
                for movie, year, genres in _table(
                    archive, "item", "item_id", "release_year", "class"
                )
            }
            ratings = _table(archive, "inter", "user_id", "item_id", "rating")
        by_user = dict(zip(users, _features(users.values()), strict=True))
        by_movie = dict(zip(movies, _features(movies.values()), strict=True))
    except (zipfile.BadZipFile, KeyError, ValueError) as reason:
        raise InvalidData(
            f"The wheel must hold {NAME} as {_INSIDE}user, .item and .inter with their columns; "
            f"{reason}. {_INSTEAD}"
        ) from reason
    known = [
        (by_user[user], by_movie[movie], 1.0 if int(rating) >= 4 else -1.0)
        for user, movie, rating in ratings
        if user in by_user and movie in by_movie and rating in {"1", "2", "3", "4", "5"}
    ]
    rows.read, rows.used = len(ratings), len(known)
    if known:
        u, v, outcomes = (np.array(column) for column in zip(*known, strict=True))
        yield (u[:, :, None] * v[:, None, :]).reshape(len(known), -1), outcomes


def _table(archive: zipfile.ZipFile, ending: str, *columns: str) -> list[list[str]]:
    """Return columns of a table in recbole's format: tabs, and "name:type" in the first line."""
    header, *lines = archive.read(_INSIDE + ending).decode("utf-8").splitlines()
    names = [name.partition(":")[0] for name in header.split("\t")]
    rows = [row for line in lines if len(row := line.split("\t")) == len(names)]
    places = [names.index(name) for name in columns]
    if not rows:
        raise ValueError(f"there are no rows in .{ending}")
    return [[row[place] for place in places] for row in rows]


def _age_group(age: str) -> int:
    """Return 1 for teens and younger, 2 for the twenties, and so on to 5 for 50 and older."""
    return min(max(int(age) // 10, 1), 5)


def _features(traits: Collection[set[str]]) -> FloatArray:
    """Return the constant and five principal scores of the indicators of the traits.

    All scores are divided by one number so that the longest five have length 1, the length that
    R6A's memberships have at most. They are rounded to six decimals, as R6A's are, which makes
    them the same on every machine.
    """
    every = sorted(set().union(*traits))
    indicators = np.array([[name in own for name in every] for own in traits], dtype=np.float64)
    indicators -= indicators.mean(axis=0)  # or the first score would repeat the constant
    directions = np.linalg.svd(indicators, full_matrices=False)[2][:_SCORES]
    for direction in directions:
        # A direction's sign is arbitrary. Its largest entry may be shared, by M and F for one.
        first_large = np.flatnonzero(np.abs(direction) > 0.5 * np.abs(direction).max())[0]
        direction *= np.sign(direction[first_large])
    scores = indicators @ directions.T
    scores /= np.linalg.norm(scores, axis=1).max()
    return np.column_stack([np.ones(len(scores)), scores.round(6) + 0.0])
