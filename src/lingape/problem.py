"""What the agent is told: the arms, the noise, and what counts as an answer.

All checks of user input happen here, so that the rest of the code may assume good input.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .arrays import BoolArray, FloatArray, IntArray
from .checks import LARGEST, SMALLEST, as_float, checked_whole, glimpse
from .errors import InvalidArgument, InvalidArm, InvalidBound, InvalidProblem
from .factors import ANEW, Factors
from .html import MOST, as_html
from .noise import Noise, NoiseLike, checked_noise, finite_reward
from .printable import encodable
from .tall import (
    alike,
    first_alike,
    is_tall,
    orthonormal_turn,
    product,
    product_with_rows,
    spread_out,
)
from .ties import first_max

T = TypeVar("T")
Array = TypeVar("Array", bound=npt.NDArray[Any])

LEAST_DELTA = 1e-300  # 1/δ is computed
# A direction this much thinner than the widest one is lost in rounding when it is squared.
THINNEST = 1e-10


@dataclass(frozen=True, eq=False)
class Problem:
    """Find an arm within `epsilon` of the best with probability at least 1 - `delta`.

    arms: one row of features per arm, anything array-like of shape (K, d); or Factors.
    noise: what rewards are like; the guarantee rests on it, so there is no default. A number R
        for R-sub-Gaussian noise (its standard deviation if it is Gaussian), Bounded(low, high) or
        (low, high), Binary() or "binary", Normal() or "normal" for an unknown standard deviation.
    norm_bound: S with ‖θ‖ ≤ S. Only the paper's bounds need it.
    epsilon: how far from the best arm the answer may be; 0 asks for the best itself.
    delta: the probability with which the answer may be wrong.
    names: one name per arm, used in certificates and messages.
    pullable: which arms can be pulled, by number; all unless given.
    answers: which arms can be the answer; all unless given. See `transductive`.
    minimize: whether the arm with the lowest mean is the best, as for costs and errors. Rewards
        are told as they are.
    control: the arm that others are compared with, by number or name, if there is one.
    factors: what arms are combinations of, if they are: Problem(Factors(...)) says it.
    retired: arms, by number, that are no longer pulled and cannot be the answer (`with_retired`).
    began: how many arms there were at first, if more came later; see `with_arms`.

    >>> from lingape import Problem
    >>> problem = Problem([[1, 0], [0, 1]], noise="binary", names=["control", "variant"])
    >>> problem.name(1)
    'variant'
    """

    arms: FloatArray
    noise: Noise
    norm_bound: float | None = None
    epsilon: float = 0.0
    delta: float = 0.05
    names: tuple[str, ...] | None = None
    pullable: tuple[int, ...] | None = None
    answers: tuple[int, ...] | None = None
    minimize: bool = False
    control: int | None = None
    factors: Factors | None = None
    retired: tuple[int, ...] = ()
    began: int | None = None

    def __init__(
        self,
        arms: npt.ArrayLike | Factors,
        *,
        noise: NoiseLike | None = None,
        norm_bound: float | None = None,
        epsilon: float = 0.0,
        delta: float = 0.05,
        names: Sequence[str] | None = None,
        pullable: Sequence[int] | None = None,
        answers: Sequence[int] | None = None,
        minimize: bool = False,
        control: int | str | None = None,
        factors: Factors | Mapping[str, Any] | None = None,
        retired: Sequence[int] = (),
        began: int | None = None,
    ) -> None:
        if isinstance(arms, Factors):
            names = arms.names if names is None else names
            factors, arms = arms, arms.features
        values: dict[str, Any] = dict(
            arms=_checked_arms(arms),
            noise=checked_noise(noise),
            norm_bound=None if norm_bound is None else _number("norm_bound", "S", norm_bound),
            epsilon=_number("epsilon", "ε", epsilon, zero=True),
            delta=_checked_delta(delta),
            minimize=_checked_minimize(minimize),
        )
        count = len(values["arms"])
        values["factors"] = _checked_factors(factors, values["arms"])
        values["names"] = _checked_names(names, count)
        values["control"] = _checked_control(control, values["names"], count)
        values["pullable"] = _checked_some("pullable", pullable, count)
        values["answers"] = _checked_some("answers", answers, count)
        values["retired"] = tuple(_chosen("retired", retired, count))
        values["began"] = None if began is None else _checked_began(began, count)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if (left := int(self.can_answer.sum())) < 2:
            raise InvalidProblem(f"There must be at least 2 answers to choose from; got {left}.")

    def __len__(self) -> int:
        """Return K, the number of arms."""
        return len(self.arms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return np.array_equal(self.arms, other.arms) and self._settings() == other._settings()

    def __hash__(self) -> int:
        return hash((self.arms.tobytes(), self._settings()))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Problem":
        return self  # immutable

    def __repr__(self) -> str:
        k, d = self.arms.shape
        extra = "" if self.norm_bound is None else f", norm_bound={self.norm_bound:g}"
        extra += ", minimize=True" if self.minimize else ""
        return (
            f"Problem({k} arms in {d} dimensions, noise={self.noise!r}{extra}, "
            f"epsilon={self.epsilon:g}, delta={self.delta:g})"
        )

    def _repr_html_(self) -> str:
        text = repr(self) if self.factors is None else f"{self!r}\n{self.factors}"
        rows = [["arm", "features"]]
        for arm, row in enumerate(self.arms[:MOST]):
            rows.append([self.name(arm), glimpse([float(f"{value:.4g}") for value in row])])
        return as_html("Problem", text, rows, more=len(self) - MOST)

    def _settings(self) -> tuple[Any, ...]:
        """Return everything but the arms."""
        return tuple(getattr(self, part.name) for part in fields(self)[1:])

    @classmethod
    def transductive(
        cls,
        arms: npt.ArrayLike,
        items: npt.ArrayLike,
        *,
        names: Sequence[str] | None = None,
        **settings: Any,
    ) -> "Problem":
        """Return the problem of pulling `arms` to choose among `items`, with the same features.

        Items are the arms that come after those that can be pulled: item m has number K + m.
        arms: one row of features per arm that can be pulled.
        items: one row of features per item that can be the answer.
        names: of the items.
        settings: all else, as for Problem.

        >>> from lingape import Problem
        >>> problem = Problem.transductive([[1, 0], [0, 1]], items=[[1, 1], [1, -1]], noise=1)
        >>> problem.name(2), problem.answers
        ('item 0', (2, 3))
        """
        first, second = _checked_arms(arms, least=1), _checked_arms(items)
        if first.shape[1] != second.shape[1]:
            raise InvalidProblem(
                f"arms and items must have the same features; got {first.shape[1]} and "
                f"{second.shape[1]}."
            )
        k, m = len(first), len(second)
        called = [f"item {j}" for j in range(m)] if names is None else list(names)
        return cls(
            np.vstack([first, second]),
            names=[*(f"arm {j}" for j in range(k)), *called],
            pullable=range(k),
            answers=range(k, k + m),
            **settings,
        )

    @cached_property
    def can_pull(self) -> BoolArray:
        """Which arms are to be pulled."""
        return _mask(self.pullable, self.retired, len(self))

    @cached_property
    def can_answer(self) -> BoolArray:
        """Which arms can be the answer."""
        return _mask(self.answers, self.retired, len(self))

    @property
    def noise_scale(self) -> float:
        """R, with which the noise is R-sub-Gaussian; raises InvalidBound if it is not known."""
        return self.scale_for("This")

    def scale_for(self, who: str) -> float:
        """Return R, or raise InvalidBound if it is not known; `who` needs it."""
        if self.noise.scale is None:
            raise InvalidBound(
                f"{who} needs the scale of the noise, which noise={self.noise!r} leaves open: "
                "give a scale (noise=R) or a range (noise=Bounded(low, high)), or use the "
                "explorer Race, which learns it."
            )
        return self.noise.scale

    @property
    def plain(self) -> bool:
        """Whether every arm can be pulled and be the answer."""
        return self.pullable is None and self.answers is None and not self.retired

    def name(self, arm: int) -> str:
        """Return what to call an arm in a sentence."""
        return f"arm {arm}" if self.names is None else self.names[arm]

    def check_arm(self, arm: Any) -> int:
        """Return the arm as an int, or raise InvalidArm."""
        last = len(self.arms) - 1
        if type(arm) is int and 0 <= arm <= last:  # as most are
            return arm
        advice = "It is the number of a row of arms. Nothing was recorded."
        if isinstance(arm, str) and self.names is not None and arm in self.names:
            advice = f"That is the name of arm {self.names.index(arm)}. Nothing was recorded."
        return checked_whole("An arm", arm, most=last, advice=advice, error=InvalidArm)

    def check_pull(self, arm: Any) -> int:
        """Return an arm that can be pulled, or was before it retired, or raise InvalidArm."""
        index = self.check_arm(arm)
        if not self.can_pull[index] and index not in self.retired:
            raise InvalidArm(
                f"{self.name(index)} can be the answer but not be pulled; arms that can are "
                f"{glimpse(list(self.pullable or ()))}. Nothing was recorded."
            )
        return index

    def check_reward(self, reward: Any) -> float:
        """Return a reward that there can be as a float, or raise InvalidReward."""
        value = finite_reward(reward)
        self.noise.check(value)
        return value

    def gain(self, reward: float) -> float:
        """Return what explorers maximise: the reward, or its negative where less is better."""
        return -reward if self.minimize else reward

    @property
    def gain_noise(self) -> Noise:
        """What gains are like."""
        return self.noise.negated() if self.minimize else self.noise

    @property
    def beginning(self) -> "Problem":
        """The problem with the arms that there were at first."""
        if self.began is None:
            return self
        return Problem(self.arms[: self.began], noise=self.noise)

    @cached_property
    def twins(self) -> IntArray:
        """For each arm the first arm with exactly its features: their gap is known to be 0."""
        return _read_only(first_alike(self.arms))

    @cached_property
    def coordinates(self) -> FloatArray:
        """The arms in an orthonormal basis of their span, shape (K, rank).

        Norms, inner products, means and λI are the same there as in the space given, so every
        algorithm may work here. The arms themselves when they span the space.
        """
        if self.rank == self.arms.shape[1]:
            return self.arms
        scale = self._scale()
        if self._turn is None:
            rows = np.linalg.svd(self.arms / scale, full_matrices=False)[2][: self.rank] * scale
        else:
            rows = product_with_rows(self.arms, self._turn)
        order = np.argsort(-scale, kind="stable")  # large first, so that small ones survive
        basis = np.empty((self.arms.shape[1], self.rank))
        basis[order] = np.linalg.qr(rows[:, order].T)[0]
        if self._turn is None:
            return _read_only(np.ascontiguousarray((self.arms @ basis)[self.twins]))
        return _read_only(self._turned(basis))

    @cached_property
    def rank(self) -> int:
        """The dimension of the span of the arms."""
        return int((self.orthonormal if self._turn is None else self._turn).shape[1])

    @cached_property
    def orthonormal(self) -> FloatArray:
        """An orthonormal basis of the columns of `arms`, shape (K, rank)."""
        if self._turn is not None:
            return _read_only(self._turned(self._turn))
        left, values, _ = np.linalg.svd(self.arms / self._scale(), full_matrices=False)
        rank = self._checked_rank(values)
        basis = np.ascontiguousarray(left[self.twins, :rank])
        basis[~self.arms.any(axis=1)] = 0.0  # exactly
        if self.pullable is not None:
            self._check_pullable(basis[list(self.pullable)])
        return _read_only(basis)

    def new_orthonormal(self) -> FloatArray:
        """Return a basis as `orthonormal`, which the caller may change."""
        return self.orthonormal.copy() if self._turn is None else self._turned(self._turn)

    @cached_property
    def _turn(self) -> FloatArray | None:
        """If arms are very many, the matrix that makes them `orthonormal`; else None."""
        if not is_tall(self.arms):
            return None
        turn, values = orthonormal_turn(self.arms, self._scale(), self._rounding)
        self._checked_rank(values)
        if self.pullable is not None:
            self._check_pullable(product(self.arms[list(self.pullable)], turn))
        return _read_only(turn)

    def _turned(self, matrix: FloatArray) -> FloatArray:
        """Return arms @ matrix, exactly the same for arms that are."""
        return alike(product(self.arms, matrix), self.twins)

    @property
    def _rounding(self) -> float:
        """How thin a direction can be that rounding makes, beside the widest."""
        return float(8 * max(self.arms.shape) * np.finfo(float).eps)

    def _checked_rank(self, values: FloatArray) -> int:
        """Return how many singular values are not due to rounding, or raise."""
        rank = int(np.sum(values > self._rounding * values[0]))
        if values[rank - 1] < THINNEST * values[0]:
            raise InvalidProblem(
                "Features must be independent or exactly dependent, but one direction is only "
                f"{values[rank - 1] / values[0]:.1e} as wide as the widest, too thin to be told "
                "from rounding. Drop or rescale the features that nearly repeat others."
            )
        return rank

    def _check_pullable(self, rows: FloatArray) -> None:
        """Raise unless some rows of an orthonormal basis span all of them."""
        if _rank(rows) < rows.shape[1]:
            raise InvalidProblem(
                "The arms that can be pulled must span the others, or these can never be "
                "estimated; some direction is not covered. Make more arms pullable."
            )

    @cached_property
    def reach(self) -> int:
        """The dimension of the span of the arms that can be pulled: less than `rank` if an arm
        was retired that alone went in some direction.
        """
        return self.rank if not self.retired else _rank(self.orthonormal[self.can_pull])

    @cached_property
    def spanning(self) -> tuple[int, ...]:
        """As many arms as there are dimensions to be reached, chosen to span them well.

        Each is the arm farthest from the span of those before it, so that their volume is large.
        """
        if self._turn is not None:
            return tuple(spread_out(self.arms, self._turn, self.reach, self.can_pull))
        rest = np.where(self.can_pull[:, None], self.orthonormal, 0.0)
        chosen: list[int] = []
        for _ in range(self.reach):
            lengths = np.einsum("kd,kd->k", rest, rest)
            arm = first_max(lengths, 1e-9 * float(lengths.max()))
            chosen.append(arm)
            direction = rest[arm] / math.sqrt(float(lengths[arm]))
            rest = rest - np.multiply.outer(rest @ direction, direction)
        return tuple(chosen)

    def _scale(self) -> FloatArray:
        """Return the size of the largest value of each feature, or 1 if all are 0."""
        scale = np.maximum(self.arms.max(axis=0), -self.arms.min(axis=0))
        return np.where(scale > 0, scale, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as JSON-able data; `Problem(**data)` gives it back."""
        values = {part.name: getattr(self, part.name) for part in fields(self)[1:]}
        lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return (
            {"arms": self.arms.tolist()}
            | values
            | lists
            | {
                "noise": self.noise.to_data(),
                "factors": None if self.factors is None else self.factors.to_dict(),
            }
        )

    def replace(self, **changes: Any) -> "Problem":
        """Return this problem with some arguments changed.

        changes: by name, as for Problem.

        >>> from lingape import Problem
        >>> Problem([[1, 0], [0, 1]], noise=1).replace(delta=0.01).delta
        0.01
        """
        return Problem(**self.to_dict() | changes)

    def with_arms(self, arms: Any, *, names: Sequence[str] = ()) -> "Problem":
        """Return this problem with more arms, whose numbers follow on those that there are.

        Their values have to follow from what the others can show: their features must be sums of
        the others' features.
        arms: a row of features for each, or if arms are combinations of factors, their levels.
        names: what to call them; needed if the others have names and no factors.

        >>> from lingape import Problem
        >>> problem = Problem([[1, 0], [0, 1]], noise=1)
        >>> len(problem.with_arms([[1, 1]]))
        3
        """
        changes: dict[str, Any] = {"began": self.began or len(self)}
        if self.factors is not None:
            factors = self.factors.extended(arms, names)
            rows, called = factors.features, factors.names[len(self) :]
            changes["factors"] = factors
        else:
            new = _checked_arms(arms, least=1)
            if new.shape[1] != self.arms.shape[1]:
                raise InvalidProblem(
                    f"New arms must have the {self.arms.shape[1]} features of the others; got "
                    f"{new.shape[1]}."
                )
            rows, called = np.vstack([self.arms, new]), list(names)
            if self.names is not None and len(called) != len(new):
                raise InvalidProblem(
                    "The arms have names, so new ones need names too: give names= with "
                    f"{len(new)}; got {len(called)}."
                )
        if self.names is not None or called:
            changes["names"] = [*(self.name(arm) for arm in range(len(self))), *called]
        for name in ("pullable", "answers"):
            if (before := getattr(self, name)) is not None:
                changes[name] = [*before, *range(len(self), len(rows))]
        found = Problem(**self.to_dict() | changes | {"arms": rows})
        if found.rank < self.rank:
            raise InvalidProblem(
                "The features of new arms are so large that those of others are lost beside them. "
                "Measure them in the units of the others."
            )
        if found.rank > self.rank:
            raise InvalidProblem(
                "The features of a new arm must be sums of those of the others, or no reward so "
                f"far says anything about it; here some are not. {ANEW}"
            )
        return found

    def with_retired(self, arm: int) -> "Problem":
        """Return this problem without an arm: it is no longer pulled, and cannot be the answer.

        Its number and its rewards stay.
        """
        index = self.check_arm(arm)
        if index in self.retired:
            raise InvalidArm(f"{self.name(index)} is retired already.")
        found = self.replace(retired=[*self.retired, index])
        needed = found.orthonormal[found.can_pull | found.can_answer]
        if not needed.any():
            raise InvalidProblem(
                f"Without {self.name(index)} all features are zero: every arm that is left pays 0 "
                "whatever θ is. Keep it."
            )
        if found.reach < _rank(needed):
            raise InvalidProblem(
                f"Without {self.name(index)} the arms that can be pulled do not span the answers, "
                "so that some answer could never be estimated. Retire that one too, first."
            )
        return found

    def of_arms(self, arms: Sequence[int]) -> "Problem":
        """Return the problem with only some arms, numbered in that order.

        >>> from lingape import Problem
        >>> Problem([[1, 0], [0, 1], [1, 1]], noise=1, names=list("abc")).of_arms([2, 0]).names
        ('c', 'a')
        """
        place = {self.check_arm(arm): new for new, arm in enumerate(arms)}
        kept = list(place)

        def chosen(some: tuple[int, ...] | None) -> list[int] | None:
            return None if some is None else [place[arm] for arm in some if arm in place]

        return self.replace(
            arms=self.arms[kept],
            names=None if self.names is None else [self.names[arm] for arm in kept],
            factors=None if self.factors is None else self.factors.of_arms(kept),
            pullable=chosen(self.pullable),
            answers=chosen(self.answers),
            retired=chosen(self.retired),
            control=place.get(-1 if self.control is None else self.control),
            began=None,
        )

    def anew(self) -> "Problem":
        """Return the problem with the arms that are left, as if it began with them."""
        changed = self.retired or self.began is not None
        return self.of_arms(self.present) if changed else self

    @property
    def present(self) -> list[int]:
        """The arms that are not retired."""
        return [arm for arm in range(len(self)) if arm not in self.retired]


def once(function: Callable[["Problem"], T]) -> Callable[["Problem"], T]:
    """Compute a function of a problem once for each, and keep the result with the problem."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def kept(problem: Problem) -> T:
        known = problem.__dict__
        if name not in known:
            known[name] = function(problem)
        value: T = known[name]
        return value

    return kept


def checked_theta(problem: Problem, theta: Any) -> FloatArray:
    """Return θ as an array that fits the problem's features, or raise InvalidArgument.

    For explorers and functions that may know it: yardsticks and theory.
    """
    try:
        vector = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if vector.shape != problem.arms.shape[1:] or not np.isfinite(vector).all():
        raise InvalidArgument(
            f"theta (θ) must be {problem.arms.shape[1]} finite numbers, one per feature; got "
            f"{glimpse(theta)}."
        )
    return vector


def _rank(rows: FloatArray) -> int:
    """Return the dimension of the span of some rows of an orthonormal basis."""
    if is_tall(rows):
        return len(orthonormal_turn(rows, np.ones(rows.shape[1]), THINNEST).values)
    values = np.linalg.svd(rows, compute_uv=False)
    return int(np.sum(values >= THINNEST * values[0]))


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _checked_arms(arms: npt.ArrayLike, *, least: int = 2) -> FloatArray:
    if np.ma.is_masked(arms):
        raise InvalidProblem(
            "Features must be present; got an array with masked entries. Fill in or drop missing "
            "values first."
        )
    try:
        raw = np.asarray(arms)
        if raw.dtype.kind in "USMm":
            raise TypeError(f"an array of {raw.dtype}")
        array = np.array(raw.real, dtype=np.float64, order="C")
        array += 0.0  # no negative zeros
    except (TypeError, ValueError, OverflowError) as reason:
        raise InvalidProblem(
            f"Arms must be a table of real numbers, one row per arm; got {glimpse(arms)} "
            f"({reason}). Give every arm the same features. Where they are categories, such as "
            "tones or suppliers, use Factors(...) or Factors.from_table(frame)."
        ) from reason
    if np.iscomplexobj(raw):
        raise InvalidProblem(
            "Arms must have real features; got complex ones. Split them into real and imaginary "
            "parts."
        )
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidProblem(
            f"Arms must have shape (K, d), one row per arm; got shape {array.shape}. "
            "For a single feature use shape (K, 1)."
        )
    if len(array) < least:
        raise InvalidProblem(
            f"There must be at least {least} arms to choose from; got {len(array)}. "
            "If your arms are columns, pass the transpose."
        )
    size = max(float(array.max()), -float(array.min()))  # NaN if a feature is
    if not math.isfinite(size):
        k, m = np.argwhere(~np.isfinite(array))[0]
        raise InvalidProblem(
            f"Features must be finite; arm {k} has {array[k, m]} in column {m}. "
            "Fill in or drop missing values first."
        )
    if size == 0:
        raise InvalidProblem(
            "Features must not all be zero: every arm would pay 0 whatever θ is. "
            "With no features to go by, use one feature per arm, 1 for it and 0 for the others."
        )
    if not SMALLEST <= size <= LARGEST:
        raise InvalidProblem(
            f"The largest feature must lie between {SMALLEST:g} and {LARGEST:g} in size, or its "
            f"square is lost; got {size:g}. Measure the features in other units."
        )
    return _read_only(array)


def _number(name: str, symbol: str, value: Any, *, zero: bool = False) -> float:
    rule = "at least 0" if zero else "above 0"
    number = as_float(value)
    if not 0 <= number <= LARGEST or (number == 0 and not zero):
        raise InvalidProblem(
            f"{name} ({symbol}) must be a number {rule} and at most {LARGEST:g}; got "
            f"{glimpse(value)}. {_ADVICE[name]}"
        )
    return number


_ADVICE = {
    "norm_bound": "Use an upper bound on the length of θ, or leave it out: Mixture() needs none.",
    "epsilon": "Use 0 to ask for the best arm itself, more to accept one that close to it.",
}


def _checked_delta(delta: Any) -> float:
    number = as_float(delta)
    if not LEAST_DELTA <= number < 1:
        raise InvalidProblem(
            f"delta (δ) must lie strictly between 0 and 1, and be at least {LEAST_DELTA:g}; got "
            f"{glimpse(delta)}. It is the chance of a wrong answer: 0.05 asks for 95 % "
            "confidence."
        )
    return number


def _checked_minimize(minimize: Any) -> bool:
    if not isinstance(minimize, bool | np.bool_):
        raise InvalidProblem(
            f"minimize says whether the lowest mean is the best, True or False; got "
            f"{glimpse(minimize)}."
        )
    return bool(minimize)


def _checked_control(control: Any, names: tuple[str, ...] | None, count: int) -> int | None:
    if control is None:
        return None
    if isinstance(control, str):
        if names is None or control not in names:
            raise InvalidProblem(
                f"control must be the name or the number of an arm; none is called {control!r}."
            )
        return names.index(control)
    return checked_whole("control", control, most=count - 1, error=InvalidProblem)


def _checked_factors(factors: Any, arms: FloatArray) -> Factors | None:
    """Return what the arms are combinations of, after checking that their features follow."""
    if factors is None:
        return None
    found = factors if isinstance(factors, Factors) else Factors.from_dict(factors)
    if not np.array_equal(found.features, arms):
        raise InvalidProblem(
            "The features of arms have to be those of their factors; these are not. Pass "
            "Problem(Factors(...)) without features."
        )
    return found


def _checked_some(name: str, arms: Sequence[int] | None, count: int) -> tuple[int, ...] | None:
    """Return different arms in order, or None for all of them."""
    if arms is None:
        return None
    chosen = _chosen(name, arms, count)
    if not chosen:
        raise InvalidProblem(f"{name} must be numbers of arms, at least one; got none.")
    return None if len(chosen) == count else tuple(chosen)


def _chosen(name: str, arms: Sequence[int], count: int) -> list[int]:
    """Return different arms in order."""
    try:
        chosen = sorted({operator.index(arm) for arm in arms})
    except TypeError:
        chosen = [-1]
    if chosen and (chosen[0] < 0 or chosen[-1] >= count):
        raise InvalidProblem(
            f"{name} must be numbers of arms, from 0 to {count - 1}; got {glimpse(arms)}."
        )
    return chosen


def _checked_began(began: Any, count: int) -> int:
    return checked_whole("began", began, least=2, most=count, error=InvalidProblem)


def _mask(arms: tuple[int, ...] | None, retired: tuple[int, ...], count: int) -> BoolArray:
    mask = np.full(count, arms is None)
    if arms is not None:
        mask[list(arms)] = True
    mask[list(retired)] = False
    return _read_only(mask)


def _checked_names(names: Sequence[str] | None, count: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidProblem(f"names must be a sequence of {count} names; got {names!r}.")
    checked = tuple(str(name) for name in names)
    if len(checked) != count:
        raise InvalidProblem(
            f"There must be one name per arm, {count}; got {len(checked)}. "
            "Leave names out to number the arms."
        )
    if (broken := next((name for name in checked if not encodable(name)), None)) is not None:
        raise InvalidProblem(
            f"Names must be valid Unicode; {broken!r} has an unpaired surrogate, as from bytes "
            "that are not UTF-8. Save the names as UTF-8."
        )
    if len(set(checked)) < count:
        twice = next(name for name, times in Counter(checked).items() if times > 1)
        raise InvalidProblem(
            f"Names must differ; {twice!r} appears more than once. Give each arm one row and a "
            "name of its own."
        )
    return checked
