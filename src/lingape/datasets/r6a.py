"""Click logs in the format of Yahoo! Webscope R6A, the data of the paper's Figure 3.

The data are given to researchers on request and may not be redistributed: use your own file, or
write a synthetic one. A line is a visit, with the article shown and all others that could be::

    timestamp shown click |user 2:f 3:f 4:f 5:f 6:f 1:1 |article 2:f ... 1:1 |article ...

Feature 1 is the constant, 2 to 6 are memberships in five clusters and add up to 1.
"""

import contextlib
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..arrays import FloatArray
from ..checks import checked_whole
from ..errors import InvalidArgument, InvalidData
from .real_data import Chunk, Levels, RealData, Rows, fit

#: Which rows the authors use as arms: this gives Δ ≥ 0.05.
LEVELS = Levels(best=(-0.88, 1.0), others=(-1.0, -0.93))

Six: TypeAlias = tuple[float, ...]

_BLOCK = 1 << 20  # bytes read at a time, some 700 lines: many, and still within the cache
_LONGEST = 1 << 20  # bytes in a line; a real one has some 1,500
_LARGEST = 1e6  # a membership is at most 1; anything this large is a fault in the file

_FEATURES = (b"2", b"3", b"4", b"5", b"6", b"1")  # in the order of the file
# Nearly every line has exactly this shape, so these are read all at once.
_SHAPE = b" ".join(number + rb":\d\.\d{6}" for number in _FEATURES)
_FAST = re.compile(rb"\d+ (\d+) ([01]) \|user (" + _SHAPE + rb")(?= \|)")
_SLOW = re.compile(rb"\S+ (\S+) ([01]) \|user ([^|]*)")
_ZEROS = b" ".join(number + b":0.000000" for number in _FEATURES)


def load_r6a(*paths: str | Path, name: str | None = None) -> RealData:
    """Return θ* and arms from click logs in R6A's format, plain or gzipped.

    paths: of the logs.
    name: what to call the data; by default the file names, because a file does not say whether
        Yahoo! or `write_synthetic_r6a` wrote it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lingape.datasets.r6a import load_r6a, write_synthetic_r6a
    >>> path = Path(tempfile.mkdtemp(), "visits.gz")
    >>> theta = write_synthetic_r6a(path, lines=1000, seed=0)
    >>> data = load_r6a(path)
    >>> data.name, str(data.rows), data.theta.shape
    ('click log visits.gz', '1,000 of 1,000 rows', (36,))
    """
    rows = Rows()
    name = name or "click log " + ", ".join(Path(path).name for path in paths)
    return fit(read_r6a(*paths, rows=rows), name=name, levels=LEVELS, rows=rows)


def read_r6a(*paths: str | Path, rows: Rows | None = None) -> Iterator[Chunk]:
    """Yield the visits in click logs as chunks of features (n, 36) and outcomes ±1 (n,).

    The features are the products of each user's six with each of the shown article's six, the
    user's index slow, a feature's index being its number less 1. Visits are skipped that have
    missing or surplus features, or an article that is not among those that could have been shown,
    or, as by the authors, no positive constant; `rows` counts them.

    paths: of the logs.
    rows: counts what was read and used, if given.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lingape.datasets.r6a import read_r6a, write_synthetic_r6a
    >>> path = Path(tempfile.mkdtemp(), "visits.gz")
    >>> theta = write_synthetic_r6a(path, lines=1000, seed=0)
    >>> sum(len(outcomes) for features, outcomes in read_r6a(path))
    1000
    """
    if not paths:
        raise InvalidArgument("There must be at least one click log to read; got no path.")
    rows = Rows() if rows is None else rows
    for path in paths:
        before = rows.used
        for lines in _lines(path):
            users, articles, outcomes = _visits(lines)
            z = (users[:, :, None] * articles[:, None, :]).reshape(-1, 36)
            good = z[:, 0] > 0
            rows.read += len(lines)
            rows.used += int(good.sum())
            if good.any():
                yield z[good], outcomes[good]
        if rows.used == before:
            raise InvalidData(
                f"{path} must be a click log in R6A's format, but none of its lines can be used. "
                "A line reads: timestamp article click |user 2:f 3:f 4:f 5:f 6:f 1:f |article ..."
            )


def _visits(lines: list[bytes]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the users' features, the shown articles', and ±1, leaving malformed lines out."""
    users: list[bytes] = []
    odd: dict[int, Six] = {}  # users of another shape, by their place in `users`
    articles: list[Six] = []
    clicks: list[bool] = []
    known: dict[bytes, Six | None] = {}
    for line in lines:
        six = None
        match = _FAST.match(line)
        if match is None:
            match = _SLOW.match(line)
            if match is None or (six := _six(match[3])) is None:
                continue
        shown, click, user = match.groups()
        start = line.find(b"|" + shown + b" ", match.end())
        if start < 0:
            continue
        end = line.find(b"|", start + 1)
        text = line[start:end] if end > 0 else line[start:]
        if text not in known:
            known[text] = _six(text[len(shown) + 1 :])
        article = known[text]
        if article is None:
            continue
        if six is not None:
            odd[len(users)], user = six, _ZEROS
        users.append(user)
        articles.append(article)
        clicks.append(click == b"1")
    numbers = _numbers(users)
    for place, six in odd.items():
        numbers[place] = six
    # From the order of the file to that of the features' numbers.
    return (
        np.roll(numbers, 1, axis=1),
        np.roll(np.array(articles, dtype=np.float64).reshape(-1, 6), 1, axis=1),
        np.where(np.array(clicks, dtype=bool), 1.0, -1.0),
    )


def _numbers(users: list[bytes]) -> FloatArray:
    """Return the numbers in texts of the usual shape, "2:0.123456 " six times over."""
    text = np.frombuffer(b"".join(user + b" " for user in users), dtype=np.uint8)
    digits = text.reshape(-1, 6, 11)[:, :, [2, 4, 5, 6, 7, 8, 9]] - float(ord("0"))
    # Exact: whole numbers below 10⁷, then one division, which rounds as reading the text would.
    numbers: FloatArray = digits @ 10.0 ** np.arange(6, -1, -1) / 1e6
    return numbers


def _six(text: bytes) -> Six | None:
    """Return features 2 to 6 and 1 from text like b"2:.1 3:.9 4:0 5:0 6:0 1:1", if well formed."""
    words = text.replace(b":", b" ").split()
    values = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) != 12 or text.count(b":") != 6 or values.keys() != set(_FEATURES):
        return None
    try:
        six = tuple(float(values[number]) for number in _FEATURES)
    except ValueError:
        return None
    return six if all(abs(x) <= _LARGEST for x in six) else None  # False for NaN too


def _lines(path: str | Path) -> Iterator[list[bytes]]:
    """Yield the lines of a file, plain or gzipped, some thousand at a time."""
    try:
        with open(path, "rb") as raw:
            gzipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            read = gzip.GzipFile(fileobj=raw).read if gzipped else raw.read
            rest = b""
            while block := read(_BLOCK):
                *lines, rest = (rest + block).split(b"\n")
                if len(rest) > _LONGEST:
                    raise InvalidData(
                        f"{path} must be a click log in R6A's format, but has a line of more than "
                        f"{_LONGEST:,} bytes. Is it another kind of file?"
                    )
                yield [line for line in lines if line]
            if rest:
                yield [rest]
    except (OSError, EOFError, zlib.error) as reason:
        raise InvalidData(
            f"{path} cannot be read: {reason}. Give a whole click log, plain or gzipped."
        ) from reason


def write_synthetic_r6a(
    path: str | Path, lines: int, seed: int, *, articles: int = 20
) -> FloatArray:
    """Write a click log in R6A's format with invented visits, and return the θ behind its clicks.

    Users and articles have the constant and memberships drawn from a Dirichlet distribution; an
    article is shown at random and clicked with probability (1 + zᵀθ)/2. Means lie between -0.995
    and -0.855, about as in the real data, with visits on either side of the authors' levels.
    The same seed writes the same file.

    path: of the file; gzipped if the name ends in .gz.
    lines: how many visits.
    seed: of all that is drawn.
    articles: how many there are.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lingape.datasets.r6a import write_synthetic_r6a
    >>> path = Path(tempfile.mkdtemp(), "visits.gz")
    >>> theta = write_synthetic_r6a(path, lines=1000, seed=0)
    >>> theta.shape
    (36,)
    """
    for word, value, least in ("lines", lines, 1), ("articles", articles, 1), ("seed", seed, 0):
        checked_whole(word, value, least=least)
    rng = np.random.default_rng(seed)
    # Memberships add up to 1, so every mean is -1 plus an average of these 25 numbers.
    cells = rng.random((5, 5))
    theta = np.zeros((6, 6))
    theta[0, 0] = -1.0
    theta[1:, 1:] = 0.005 + 0.14 * (cells - cells.min()) / np.ptp(cells)
    pool = _memberships(rng, articles)
    names = 109_400 + np.arange(articles)
    listed = " ".join(
        f"|{name} {_text(row)}" for name, row in zip(names, pool[:, 1:].tolist(), strict=True)
    )
    with open(path, "wb") as raw, contextlib.ExitStack() as closing:
        file: gzip.GzipFile | io.BufferedWriter = raw
        if Path(path).suffix == ".gz":
            # No name and no time in the header, so that the same seed gives the same bytes.
            file = closing.enter_context(gzip.GzipFile("", "wb", 6, fileobj=raw, mtime=0))
        for start in range(0, lines, 10_000):
            n = min(10_000, lines - start)
            users, shown = _memberships(rng, n), rng.integers(articles, size=n)
            means = np.einsum("ni,ij,nj->n", users, theta, pool[shown])
            clicks = 2.0 * rng.random(n) - 1.0 < means
            stamps = 1_241_160_900 + (start + np.arange(n)) // 54  # visits a second, May 1st, 2009
            file.writelines(
                f"{stamp} {name} {click:d} |user {_text(user)} {listed}\n".encode()
                for stamp, name, click, user in zip(
                    stamps, names[shown], clicks, users[:, 1:].tolist(), strict=True
                )
            )
    return theta.reshape(36)


def _memberships(rng: np.random.Generator, count: int) -> FloatArray:
    # With a weight this small most belong to one cluster or two, which spreads the means out.
    return np.column_stack([np.ones(count), rng.dirichlet(np.full(5, 0.3), size=count)])


def _text(row: list[float]) -> str:
    return "2:{:.6f} 3:{:.6f} 4:{:.6f} 5:{:.6f} 6:{:.6f} 1:1.000000".format(*row)
