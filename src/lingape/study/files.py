"""Studies and instances from files."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..environments import Gaussian, Instance
from ..errors import InvalidArgument
from ..factors import Factors
from ..printable import printable
from ..tables import MOST_COLUMNS, read_arms
from .study import Study

_KEYS = ("explorers", "instances", "seeds", "max_pulls", "world", "problem", "lane")


def read_instance(
    path: str | Path, theta: Iterable[float], *, header: bool | None = None
) -> Instance:
    """Return the arms in a file, with a θ, as an instance that has the file's name.

    path: of a table of arms, as for `read_arms`.
    theta: the weights of their features, which give their mean rewards. Where the table has
        headings, the first is that of the constant.
    header: whether a CSV file begins with a row of headings; found out unless given.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lingape.study import read_instance
    >>> path = Path(tempfile.mkdtemp(), "arms.csv")
    >>> size = path.write_text("width,height\\n1,0\\n0,1\\n1,1\\n")
    >>> instance = read_instance(path, theta=[0.1, 0.5, 0.2])
    >>> instance.name, instance.arms.shape
    ('arms.csv', (3, 3))
    """
    table, weights = read_arms(path, header=header), list(theta)
    if isinstance(table.arms, Factors) and len(weights) != len(table.arms.columns):
        count, columns = len(table.arms.columns), table.arms.columns[:MOST_COLUMNS]
        more = ", ..." if count > len(columns) else ""
        raise InvalidArgument(
            f"theta (θ) for {path} must have {count} numbers, one for each of its features, "
            f"{', '.join(map(printable, columns))}{more}; got {len(weights)}."
        )
    world = Gaussian(table.features, weights)  # which checks them
    return Instance(Path(path).name, np.array(world.arms), np.array(world.theta))


def read_study(path: str | Path) -> Study:
    """Return the study that a TOML file describes; see `lingape simulate --help`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lingape.study import read_study
    >>> path = Path(tempfile.mkdtemp(), "study.toml")
    >>> size = path.write_text('''
    ... explorers = ["race", "lingape"]
    ... instances = ["soare(5, 0.1)"]
    ... seeds = 20
    ... ''')
    >>> study = read_study(path)
    >>> len(study), list(study.explorers)
    (40, ['race', 'lingape'])
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise InvalidArgument(f"{path} cannot be read as TOML: {reason}.") from reason
    unknown = [key for key in data if key not in _KEYS]
    if unknown:
        raise InvalidArgument(
            f"{path} must have only {', '.join(_KEYS)}; got {', '.join(unknown)}."
        )
    for key in ("explorers", "instances"):
        if key not in data:
            raise InvalidArgument(f"{path} must name its {key}, such as {_EXAMPLES[key]}.")
    explorers, instances = data.pop("explorers"), data.pop("instances")
    if not isinstance(explorers, Mapping | list):  # just one
        explorers = [explorers]
    for text in explorers.values() if isinstance(explorers, Mapping) else explorers:
        if not isinstance(text, str):
            raise InvalidArgument(
                f"Explorers in {path} must be texts, such as {_EXAMPLES['explorers']}; "
                f"got {text!r}."
            )
    if not isinstance(instances, list):  # just one
        instances = [instances]
    return Study(explorers, [_instance(item, path) for item in instances], **data)


_EXAMPLES = {
    "explorers": 'explorers = ["lingape", "xy_static(design=greedy)"]',
    "instances": 'instances = ["soare(5, 0.1)", {arms = "arms.csv", theta = [1, 0]}]',
}


def _instance(item: Any, path: Path) -> Instance | str:
    if isinstance(item, str):
        return item
    numbers = isinstance(item, Mapping) and isinstance(item.get("theta"), list)
    header = item.get("header") if isinstance(item, Mapping) else None
    if numbers and {"arms", "theta"} <= set(item) <= {"arms", "theta", "header"}:
        # Files are named relative to the one that names them.
        return read_instance(path.parent / str(item["arms"]), item["theta"], header=header)
    raise InvalidArgument(
        f"Instances in {path} must be texts, or arms with a theta, such as "
        f"{_EXAMPLES['instances']}; got {item!r}."
    )
