"""Arms made of factors: say what varies, and get the arms, their names and their features.

An arm is a combination of levels, one of each factor. Its average reward is modelled as a sum: a
constant, an amount for each level of each factor, or proportional to the value of a factor that is
a number, and for interactions an amount for each combination of their levels.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, TypeAlias

import numpy as np

from .arrays import FloatArray, IntArray
from .checks import LARGEST, glimpse
from .columns import Roles, Said, headings, number, roles_of, unboxed
from .errors import InvalidArgument, InvalidProblem, in_words
from .html import as_html
from .printable import encodable, printable

Level: TypeAlias = str | int | float | bool
Combination: TypeAlias = dict[str, Level]
MOST_ARMS = 1_000_000
MOST_FEATURES = 100_000_000  # of all arms together
MOST_COLUMNS = 20  # named in a description
CONSTANT = "constant"
UNKNOWN = "no reward so far says anything about a"
ANEW = (
    "Begin another experiment with all arms; its guarantee holds with the rewards so far, added "
    "in their order, only if new arms were not chosen by what these show."
)


@dataclass(frozen=True)
class Factor:
    """Something that varies, and the values that it takes.

    name: what it is called.
    levels: the values, texts or numbers; the first is the reference.
    number: whether the reward changes in proportion to its value; if not, each level has an
        amount of its own.

    >>> from lingape import Factor
    >>> tone = Factor("tone", ("warm", "dry"))
    >>> examples = Factor("examples", (0, 1, 3), number=True)
    >>> tone.size(), examples.columns()[0]
    (1, ['examples'])
    """

    name: str
    levels: tuple[Level, ...]
    number: bool = False

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each level is, as it is written."""
        return {str(level): place for place, level in enumerate(self.levels)}

    def size(self) -> int:
        """Return the number of its features."""
        return 1 if self.number else len(self.levels) - 1

    def columns(self) -> tuple[list[str], FloatArray]:
        """Return the names of its features, and these for each level; the first is the reference.

        >>> from lingape import Factor
        >>> names, values = Factor("tone", ("warm", "dry")).columns()
        >>> names, values.tolist()
        (['tone=dry'], [[0.0], [1.0]])
        """
        if self.number:
            return [self.name], np.array(self.levels, dtype=np.float64)[:, None]
        names = [f"{self.name}={level}" for level in self.levels[1:]]
        return names, np.eye(len(self.levels))[:, 1:]


class Factors:
    """Arms as combinations of the levels of factors.

    levels: for each factor, by name, its levels: texts or numbers. The first is the one that
        others are compared with. Factors can be given as keywords or as one mapping.
    numbers: factors whose effect is proportional to their value. The others have an effect for
        each level.
    interactions: pairs (or more) of factors whose effects depend on each other, or "all" for all
        pairs.
    exclude: combinations that do not exist: mappings such as {"tone": "dry", "length": "long"}, or
        a function that says of a combination whether to leave it out.
    per_arm: give every combination an effect of its own, which is always right and takes most
        trials.

    Problem(factors, noise=...) is the problem of finding the best of them.

    >>> from lingape import Factors
    >>> factors = Factors(tone=["warm", "dry"], examples=[0, 1, 3], numbers=["examples"])
    >>> print(factors)
    6 arms, 3 features: constant, tone=dry, examples
    >>> factors.names[4]
    'tone=dry, examples=1'
    """

    def __init__(
        self,
        levels: Mapping[str, Iterable[Level]] | None = None,
        /,
        *,
        numbers: Iterable[str] = (),
        interactions: str | Iterable[Sequence[str]] = (),
        exclude: Iterable[Mapping[str, Level]] | Callable[[Combination], bool] = (),
        per_arm: bool = False,
        **more: Iterable[Level],
    ) -> None:
        given = _merged(levels or {}, more)
        chosen = _among("numbers", numbers, given)
        factors = tuple(
            _checked_factor(name, values, name in chosen) for name, values in given.items()
        )
        size = math.prod(len(factor.levels) for factor in factors)
        if size > MOST_ARMS:
            raise InvalidProblem(
                f"There can be at most {MOST_ARMS:,} combinations; these factors have {size:,}. "
                "Give the combinations that matter as a table, with Factors.from_table."
            )
        rows = np.stack(
            np.meshgrid(*(np.arange(len(factor.levels)) for factor in factors), indexing="ij"),
            axis=-1,
        ).reshape(-1, len(factors))
        self._set(factors, rows[~_excluded(factors, rows, exclude)], None, interactions, per_arm)

    def _set(
        self,
        factors: tuple[Factor, ...],
        rows: IntArray,
        names: tuple[str, ...] | None,
        interactions: str | Iterable[Sequence[str]],
        per_arm: bool,
    ) -> None:
        self.factors = factors
        self.rows = rows  # (K, F): which level of each factor
        self.rows.flags.writeable = False
        self.interactions = _checked_interactions(interactions, factors)
        self.per_arm = bool(per_arm)
        self._names = names
        if len(rows) < 2:
            raise InvalidProblem(
                f"There must be at least 2 arms to choose from; got {len(rows)}. Exclude fewer "
                "combinations, or add some."
            )
        if names is not None and len(names) != len(rows):
            raise InvalidProblem(f"There must be one name per arm, {len(rows)}; got {len(names)}.")
        self._check_size()

    def _check_size(self) -> None:
        """Raise if there would be too many features, or two of the same name."""
        sizes = {factor.name: factor.size() for factor in self.factors}
        together = [math.prod(sizes[name] for name in names) for names in self.interactions]
        count = len(self) if self.per_arm else 1 + sum(sizes.values()) + sum(together)
        if count * len(self) > MOST_FEATURES:
            raise InvalidProblem(
                f"Features of all arms together can be at most {MOST_FEATURES:,} numbers; "
                f"{len(self):,} arms with {count:,} features have more. Leave out interactions, "
                "factors with many levels, or arms."
            )
        if not self.per_arm and len(set(self.columns)) < count:
            twice = next(name for name, times in Counter(self.columns).items() if times > 1)
            if twice == self.columns[0]:
                raise InvalidProblem(
                    f"A number is called {twice!r}, as is the feature that all arms share. Rename "
                    "it, or leave it out."
                )
            raise InvalidProblem(
                f"Two features would be called {twice!r}, after a factor and its level. Rename "
                "the factor."
            )

    @classmethod
    def of_rows(
        cls,
        combinations: Sequence[Mapping[str, Level]],
        *,
        numbers: Iterable[str] = (),
        interactions: str | Iterable[Sequence[str]] = (),
        per_arm: bool = False,
        names: Sequence[str] | None = None,
    ) -> "Factors":
        """Return arms as they are listed.

        combinations: of each arm a mapping from factors to levels. Levels come in the order in
            which they appear.
        numbers, interactions, per_arm: as for Factors.
        names: of the arms; made of their levels unless given.

        >>> from lingape import Factors
        >>> print(Factors.of_rows([{"dose": 1, "salt": "a"}, {"dose": 2, "salt": "b"}]))
        2 arms, 3 features: constant, dose=2, salt=b
        """
        if not combinations:
            raise InvalidProblem("There must be at least 2 combinations; got none.")
        first = list(combinations[0])
        for place, one in enumerate(combinations):
            if set(one) != set(first):
                raise InvalidProblem(
                    f"Every arm needs a level of each factor, {', '.join(map(str, first))}; "
                    f"number {place} has {', '.join(map(str, one)) or 'none'}."
                )
        columns = {name: [one[name] for one in combinations] for name in first}
        return cls._of_columns(
            columns,
            numbers,
            None if names is None else tuple(map(str, names)),
            interactions,
            per_arm,
        )

    @classmethod
    def _of_columns(
        cls,
        columns: Mapping[str, Sequence[Any]],
        numbers: Iterable[str],
        names: tuple[str, ...] | None,
        interactions: str | Iterable[Sequence[str]],
        per_arm: bool,
    ) -> "Factors":
        """Return the arms whose levels of each factor are listed in a column."""
        chosen = _among("numbers", numbers, columns)
        factors, places = [], []
        for name, values in columns.items():
            levels = [plain_level(name, value) for value in values]
            by_text = {str(level): level for level in reversed(levels)}  # the first of each
            once = dict.fromkeys(map(str, levels))
            factor = _checked_factor(
                name, [by_text[text] for text in once], name in chosen, least=1
            )
            factors.append(factor)
            places.append([factor.place[str(level)] for level in levels])
        rows = np.array(places, dtype=np.int64).T
        if names is None and len(np.unique(rows, axis=0)) < len(rows):
            _refuse_twins(tuple(factors), rows)
        found = cls.__new__(cls)
        found._set(tuple(factors), np.ascontiguousarray(rows), names, interactions, per_arm)
        return found

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        name: str | None = None,
        factors: Iterable[str] = (),
        numbers: Iterable[str] = (),
        ignore: Iterable[str] = (),
        interactions: str | Iterable[Sequence[str]] = (),
        exclude: Iterable[Mapping[str, Level]] | Callable[[Combination], bool] = (),
        per_arm: bool = False,
    ) -> "Factors":
        """Return the arms in a data frame of pandas, polars or pyarrow, one row each.

        Columns of text are factors, and columns of numbers are numbers, unless said otherwise. A
        first column of texts that are all different, or one with a heading such as "name" or
        "user_id", holds names. What is the same for all arms is left out, and what cannot be told
        is refused.

        frame: the table; its headings name the factors.
        name: the column that holds names.
        factors: columns that are factors although they have numbers.
        numbers: columns of numbers that might be taken for something else.
        ignore: columns to leave out.
        interactions, exclude, per_arm: as for Factors.

        >>> import polars
        >>> from lingape import Factors
        >>> frame = polars.DataFrame({"tone": ["warm", "dry", "dry"], "examples": [0, 1, 3]})
        >>> print(Factors.from_table(frame, factors=["tone"]))
        3 arms, 3 features: constant, tone=dry, examples
        """
        import narwhals

        try:
            table = narwhals.from_native(frame, eager_only=True)
        except TypeError as reason:
            raise InvalidProblem(
                "A data frame of pandas, polars or pyarrow is needed; got "
                f"{type(frame).__name__}. Combinations as mappings are for Factors.of_rows."
            ) from reason
        except ValueError as reason:
            why = " ".join(in_words(reason).split())
            raise InvalidProblem(
                f"The table cannot be read: {why}. Columns need different headings."
            ) from reason
        _check_index(narwhals.maybe_get_index(table))
        said = Said.of(name, factors=factors, numbers=numbers, ignore=ignore)
        roles = roles_of(list(map(str, table.columns)), table.rows(), said, what="the table")
        return cls.of_table(roles, interactions=interactions, exclude=exclude, per_arm=per_arm)

    @classmethod
    def of_table(
        cls,
        roles: Roles,
        *,
        interactions: str | Iterable[Sequence[str]],
        exclude: Iterable[Mapping[str, Level]] | Callable[[Combination], bool],
        per_arm: bool,
    ) -> "Factors":
        """Return the arms in the rows of a table.

        roles: what the columns are for, with the values in each, arm by arm.
        interactions, exclude, per_arm: as for Factors.
        """
        names = None if roles.names is None else tuple(roles.names)
        found = cls._of_columns(roles.columns, roles.numbers, names, interactions, per_arm)
        kept = ~_excluded(found.factors, found.rows, exclude)
        if kept.all():
            return found
        return cls._of_columns(
            {name: list(compress(values, kept)) for name, values in roles.columns.items()},
            roles.numbers,
            None if names is None else tuple(compress(names, kept)),
            interactions,
            per_arm,
        )

    def __len__(self) -> int:
        """Return K, the number of arms."""
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factors) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.factors, self.interactions, self.per_arm, self.rows.tobytes()))

    def __repr__(self) -> str:
        return f"Factors({self})"

    def __str__(self) -> str:
        if self.per_arm:
            return f"{len(self)} arms, one feature each"
        columns = [printable(column) for column in self.columns[:MOST_COLUMNS]]
        more = len(self.columns) - len(columns)
        shown = ", ".join(columns) + (f" and {more} more" if more > 0 else "")
        features = "1 feature" if len(self.columns) == 1 else f"{len(self.columns)} features"
        return f"{len(self)} arms, {features}: {shown}"

    def _repr_html_(self) -> str:
        rows = [["factor", "levels", "effect"]]
        for factor in self.factors:
            levels = ", ".join(map(str, factor.levels))
            kind = "in proportion to its value" if factor.number else "one for each level"
            rows.append([factor.name, levels, "one for each arm" if self.per_arm else kind])
        rows += [[" : ".join(pair), "", "interaction"] for pair in self.interactions]
        return as_html("Factors", str(self), rows)

    @property
    def names(self) -> list[str]:
        """What each arm is called."""
        if self._names is not None:
            return list(self._names)
        return [_label(self.factors, row) for row in self.rows.tolist()]

    @property
    def combinations(self) -> list[Combination]:
        """The levels of each arm."""
        return [self.levels(arm) for arm in range(len(self))]

    def levels(self, arm: int) -> Combination:
        """Return the levels of an arm, given by its number.

        >>> from lingape import Factors
        >>> Factors(tone=["warm", "dry"], examples=[0, 1, 3]).levels(4)
        {'tone': 'dry', 'examples': 1}
        """
        row = self.rows[arm].tolist()
        return {factor.name: factor.levels[i] for factor, i in zip(self.factors, row, strict=True)}

    @cached_property
    def columns(self) -> list[str]:
        """What each feature stands for."""
        if self.per_arm:
            return self.names
        return [name for name, _ in self._coded(self.rows[:1])]

    @cached_property
    def features(self) -> FloatArray:
        """The features of each arm, shape (K, d)."""
        if self.per_arm:
            return np.eye(len(self))
        return self.features_of(self.rows)

    def features_of(self, rows: IntArray) -> FloatArray:
        """Return the features of any combinations, arms or not; not if there is one per arm.

        rows: for each combination the place of its level of each factor, shape (n, F).
        """
        return np.stack([column for _, column in self._coded(rows)], axis=1)

    def _coded(self, rows: IntArray) -> list[tuple[str, FloatArray]]:
        """Return the features of combinations, each with its name."""
        columns = [(CONSTANT, np.ones(len(rows)))]
        parts = {}
        for place, factor in enumerate(self.factors):
            names, values = factor.columns()
            parts[factor.name] = list(zip(names, values[rows[:, place]].T, strict=True))
            columns += parts[factor.name]
        for together in self.interactions:
            for choice in itertools.product(*(parts[name] for name in together)):
                column = np.prod([values for _, values in choice], axis=0)
                columns.append((":".join(name for name, _ in choice), column))
        return columns

    def arm(self, **levels: Level) -> int:
        """Return the number of the arm with these levels.

        >>> from lingape import Factors
        >>> Factors(tone=["warm", "dry"], examples=[0, 1, 3]).arm(tone="dry", examples=0)
        3
        """
        places = self.places(levels)
        if missing := [factor.name for factor in self.factors if factor.name not in levels]:
            raise InvalidArgument(
                f"Say a level of each factor; {', '.join(missing)} missing. The arms are "
                "combinations."
            )
        row = [places[factor.name] for factor in self.factors]
        found = np.flatnonzero((self.rows == row).all(axis=1))
        if not len(found):
            raise InvalidArgument(f"No arm has the levels {glimpse(levels)}: it was left out.")
        return int(found[0])

    def places(self, levels: Mapping[str, Any]) -> dict[str, int]:
        """Return the place of a level of each factor, or raise InvalidArgument.

        levels: by the name of their factor.
        """
        known = {factor.name: factor for factor in self.factors}
        if not isinstance(levels, Mapping):
            raise InvalidArgument(
                "Levels are given by factor, such as {'tone': 'dry'}; got " + glimpse(levels) + "."
            )
        places = {}
        for name, level in levels.items():
            if name not in known:
                raise InvalidArgument(
                    f"No factor is called {name!r}; there are {', '.join(known)}."
                )
            places[name] = _place(known[name], level)
        return places

    def model(
        self, *, interactions: str | Iterable[Sequence[str]] = (), per_arm: bool = False
    ) -> "Factors":
        """Return the same arms with other features.

        interactions, per_arm: as for Factors.

        >>> from lingape import Factors
        >>> print(Factors(a=[0, 1], b=[0, 1]).model(interactions="all"))
        4 arms, 4 features: constant, a=1, b=1, a=1:b=1
        """
        found = Factors.__new__(Factors)
        found._set(self.factors, self.rows, self._names, interactions, per_arm)
        return found

    def of_arms(self, arms: Sequence[int]) -> "Factors":
        """Return only some of the arms, by number, in that order."""
        found = Factors.__new__(Factors)
        names = None if self._names is None else tuple(self._names[arm] for arm in arms)
        rows = self.rows[list(arms)]
        found._set(self.factors, rows, names, self.interactions, self.per_arm)
        return found

    def extended(self, combinations: Any, names: Sequence[str] = ()) -> "Factors":
        """Return these arms and more, whose effects follow from those of these.

        combinations: a mapping from factors to levels for each new arm.
        names: what to call them; by their levels unless given.

        >>> from lingape import Factors
        >>> factors = Factors(dose=[1, 2], salt=["a", "b"], numbers=["dose"])
        >>> factors.extended([{"dose": 4, "salt": "b"}]).names[-1]
        'dose=4, salt=b'
        """
        new = [combinations] if isinstance(combinations, Mapping) else list(combinations)
        if self.per_arm:
            raise InvalidProblem(
                f"Each of these arms has a feature of its own, so that {UNKNOWN} new one. {ANEW}"
            )
        if names and len(names) != len(new):
            raise InvalidProblem(
                f"There must be one name per new arm, {len(new)}; got {len(names)}."
            )
        for one in new:
            if not isinstance(one, Mapping) or set(one) != {each.name for each in self.factors}:
                raise InvalidProblem(
                    "A new arm is given by a level of each factor, such as "
                    f"{glimpse(self.combinations[0])}; got {glimpse(one)}."
                )
        factors = tuple(_widened(each, [one[each.name] for one in new]) for each in self.factors)
        rows = [[_place(factor, one[factor.name]) for factor in factors] for one in new]
        found = Factors.__new__(Factors)
        called = None
        if self._names is not None or names:
            labels = names or [_label(factors, row) for row in rows]
            called = (*self.names, *map(str, labels))
        found._set(factors, np.vstack([self.rows, rows]), called, self.interactions, self.per_arm)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {
            "factors": [
                {"name": one.name, "levels": list(one.levels), "number": one.number}
                for one in self.factors
            ],
            "rows": self.rows.tolist(),
            "interactions": [list(together) for together in self.interactions],
            "per_arm": self.per_arm,
            "names": None if self._names is None else list(self._names),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Factors":
        """Return what `to_dict` wrote as `data`."""
        try:
            factors = tuple(
                _checked_factor(one["name"], one["levels"], bool(one["number"]), least=1)
                for one in data["factors"]
            )
            rows = np.array(data["rows"], dtype=np.int64)
            sizes = [len(factor.levels) for factor in factors]
            if rows.shape[1:] != (len(factors),) or (rows < 0).any() or (rows >= sizes).any():
                raise ValueError("its rows are not places of levels")
            names = data["names"]
            found = cls.__new__(cls)
            found._set(
                factors,
                rows,
                None if names is None else tuple(map(str, names)),
                data["interactions"],
                data["per_arm"],
            )
        except (KeyError, TypeError, ValueError, OverflowError) as reason:
            raise InvalidProblem(
                f"factors must be what Factors.to_dict() returns; this is not ({reason})."
            ) from reason
        return found


def plain_level(factor: str, value: Any) -> Level:
    """Return a level as a text, a truth value or a finite number, or raise InvalidProblem."""
    value = unboxed(value)
    if isinstance(value, str):
        if encodable(value):
            return value
    elif isinstance(value, int | float) and abs(value) <= LARGEST:  # not NaN
        return value
    raise InvalidProblem(
        f"Levels are texts, truth values, or numbers up to {LARGEST:g}; {factor} has "
        f"{glimpse(value)}. Fill in or leave out what is missing, and make other values texts."
    )


def _refuse_twins(factors: tuple[Factor, ...], rows: IntArray) -> None:
    twice = Counter(map(tuple, rows.tolist())).most_common(1)[0][0]
    pairs = zip(factors, twice, strict=True)
    levels = ", ".join(f"{factor.name}={factor.levels[i]}" for factor, i in pairs)
    raise InvalidProblem(
        f"Arms without names must be different combinations; {printable(levels)} is there more "
        "than once. Leave one out, add a column that tells them apart, or give arms names."
    )


def _check_index(index: Any) -> None:
    """Raise if a data frame of pandas has an index that says something."""
    if index is None or type(index).__name__ == "RangeIndex":
        return
    named = [str(name) for name in index.names if name is not None]
    if named or index.inferred_type != "integer":  # not what is left when rows are taken out
        title = ", ".join(named) or glimpse(index[0] if len(index) else "")
        raise InvalidProblem(
            f"The table has an index ({title}), which is not a column. Use frame.reset_index() to "
            "make it one, or frame.reset_index(drop=True) to leave it out."
        )


def _merged(
    levels: Mapping[str, Iterable[Level]], more: Mapping[str, Iterable[Level]]
) -> dict[str, Iterable[Level]]:
    if not isinstance(levels, Mapping):
        raise InvalidProblem(
            "Factors are given by name, as Factors(tone=['warm', 'dry'], ...) or as a mapping; "
            f"got {glimpse(levels)}. A table is for Factors.from_table."
        )
    if twice := sorted(set(levels) & set(more)):
        raise InvalidProblem(f"The factor {twice[0]!r} is given twice.")
    given = {**levels, **more}
    if not given:
        raise InvalidProblem(
            "Say what varies: Factors(tone=['warm', 'dry'], length=['short', 'long'])."
        )
    return given


def _checked_factor(name: Any, values: Iterable[Level], number: bool, *, least: int = 2) -> Factor:
    if not isinstance(name, str) or not name.strip() or not encodable(name):
        raise InvalidProblem(f"A factor's name is a text; got {glimpse(name)}.")
    if isinstance(values, str | AbstractSet | Mapping) or not isinstance(values, Iterable):
        raise InvalidProblem(
            f"Give a list of levels for the factor {name}, such as ['low', 'high']; got "
            f"{glimpse(values)}."
        )
    levels = tuple(plain_level(name, value) for value in values)
    if len(levels) < least:
        raise InvalidProblem(
            f"A factor has at least 2 levels; {name} has {glimpse(list(levels))}. Leave out what "
            "does not vary."
        )
    texts = Counter(map(str, levels))
    if len(texts) < len(levels):
        twice = next(text for text, times in texts.items() if times > 1)
        raise InvalidProblem(f"The levels of {name} must differ; {twice} appears twice.")
    if len(set(levels)) < len(levels):  # Python has True == 1 == 1.0
        first = {level: level for level in reversed(levels)}
        other = next(level for level in levels if first[level] is not level)
        raise InvalidProblem(
            f"The levels of {name} must differ; {first[other]!r} and {other!r} are the same to "
            "Python. Write them as texts."
        )
    if number and any(isinstance(level, str | bool) for level in levels):
        text = next(level for level in levels if isinstance(level, str | bool))
        raise InvalidProblem(
            f"{name} was said to be a number, and has the level {text!r}. Leave it out of "
            "numbers to give each level an effect of its own."
        )
    return Factor(name, levels, number)


def _among(argument: str, names: Iterable[str], given: Mapping[str, Any]) -> set[str]:
    chosen = set(headings(argument, names))
    if unknown := sorted(chosen - set(given)):
        raise InvalidProblem(
            f"{argument} are names of factors, {', '.join(given)}; got {unknown[0]!r}."
        )
    return chosen


def _checked_interactions(
    interactions: str | Iterable[Sequence[str]], factors: tuple[Factor, ...]
) -> tuple[tuple[str, ...], ...]:
    order = [factor.name for factor in factors]
    if isinstance(interactions, str):
        if interactions != "all":
            raise InvalidProblem(
                "interactions are pairs of factors, such as [('tone', 'length')], or 'all'; got "
                f"{interactions!r}."
            )
        return tuple(itertools.combinations(order, 2))
    found = []
    for together in interactions if isinstance(interactions, Iterable) else [interactions]:
        pair = headings("interactions", together)
        if len(pair) < 2 or len(set(pair)) < len(pair) or not set(pair) <= set(order):
            raise InvalidProblem(
                "An interaction is between two or more different factors, of "
                f"{', '.join(order)}, and several are given as [('a', 'b'), ('a', 'c')]; got "
                f"{glimpse(together)}."
            )
        found.append(tuple(sorted(pair, key=order.index)))
    return tuple(dict.fromkeys(found))


def _label(factors: tuple[Factor, ...], row: Sequence[int]) -> str:
    """Return what an arm is called by its levels."""
    return ", ".join(
        f"{factor.name}={factor.levels[i]}" for factor, i in zip(factors, row, strict=True)
    )


def _widened(factor: Factor, levels: Iterable[Any]) -> Factor:
    """Return a factor with more levels, if what they do follows from what others do."""
    known = {str(level) for level in factor.levels}
    new = list(dict.fromkeys(level for level in levels if str(level) not in known))
    if new and not factor.number:
        raise InvalidProblem(
            f"{new[0]!r} is not a level of {factor.name}, and {UNKNOWN} new one. {ANEW}"
        )
    plain = [_number_in(level) if isinstance(level, str) else level for level in new]
    return _checked_factor(factor.name, [*factor.levels, *plain], factor.number, least=1)


def _number_in(text: str) -> Level:
    """Return the number that a text is, or the text."""
    value = number(text)
    if value is None:
        return text
    return int(value) if value.is_integer() else value


def _place(factor: Factor, level: Any) -> int:
    if (place := factor.place.get(str(level))) is not None:
        return place
    for place, one in enumerate(factor.levels):  # 1.0 for 1
        if isinstance(level, int | float) and not isinstance(one, str) and one == level:
            return place
    raise InvalidArgument(
        f"{factor.name} has the levels {glimpse(list(factor.levels))}; got {level!r}."
    )


def _excluded(
    factors: tuple[Factor, ...],
    rows: IntArray,
    exclude: Iterable[Mapping[str, Level]] | Callable[[Combination], bool],
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which combinations to leave out."""
    out = np.zeros(len(rows), dtype=np.bool_)
    if callable(exclude):
        for place, row in enumerate(rows.tolist()):
            one = {factor.name: factor.levels[i] for factor, i in zip(factors, row, strict=True)}
            out[place] = bool(exclude(one))
        return out
    order = {factor.name: (column, factor) for column, factor in enumerate(factors)}
    several = isinstance(exclude, Iterable) and not isinstance(exclude, Mapping)
    for rule in exclude if several else [exclude]:
        if not isinstance(rule, Mapping) or not rule or not set(rule) <= set(order):
            raise InvalidProblem(
                "exclude has combinations such as {'tone': 'dry', 'length': 'long'}, of the "
                f"factors {', '.join(order)}; got {glimpse(rule)}."
            )
        hit = np.ones(len(rows), dtype=np.bool_)
        for name, level in rule.items():
            column, factor = order[name]
            hit &= rows[:, column] == _place(factor, level)
        if not hit.any():
            raise InvalidProblem(f"There is no combination {glimpse(dict(rule))} to leave out.")
        out |= hit
    return out
