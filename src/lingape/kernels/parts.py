"""What compiled loops ask of a part: functions chosen by the type of its kernel (functions.py).

A part's kernel, below the part in its file, is a NamedTuple of what compiled code needs to know,
with implementations of the functions listed here.

What a part with a kernel has::

    kernel(stage)    the kernel for a run about to begin (book.Stage), or None
    most_arms        the largest number of arms that it has a kernel for, if there is one
    all_rows         whether the kernel needs all rows of the book
    help(...)        what NEEDS_HELP asks for: returns the kernel to continue with (pulls/base.py)
    adopt(kernel)    takes over what the kernel has kept, for stopping rules that keep something
    memory           the same for pull rules: a NamedTuple of arrays that the kernel has a copy of
    sample           for stopping rules: whether pull rules heed what the kernel has `dropped`
    skips            for stopping rules: whether tests that cannot succeed may be left out
    truth            for contests: the means by which arms are compared, if they are known
    shortlists       whether the kernel also works where only a shortlist is kept up to date
                     (shortlist.py); stated by the class that has the kernel
"""

import math
from typing import TYPE_CHECKING, Any

from ..arrays import FloatArray, IntArray
from .functions import part_function, required
from .teams import begin, stride

if TYPE_CHECKING:
    from .book import Arena, Book, Model


def has_kernel(part: Any) -> bool:
    """Whether a part has a kernel for what it does.

    A class that overrides methods needs a kernel of its own: the inherited one is of the methods
    overridden.
    """
    if "kernel" in getattr(part, "__dict__", {}):
        return True
    for kind in type(part).__mro__:
        if "kernel" in vars(kind):
            return True
        if any(_is_method(name, value) for name, value in vars(kind).items()):
            return False
    return False


def shortlists(part: Any) -> bool:
    """Whether the class that has a part's kernel states that a shortlist is enough."""
    for kind in type(part).__mro__:
        if "kernel" in vars(kind):
            return bool(vars(kind).get("shortlists", False))
    return False


def _is_method(name: str, value: object) -> bool:
    public = not name.startswith("__") or name == "__call__"
    return public and (callable(value) or hasattr(value, "__get__"))


@required
def pay(world: Any, arm: int, rng: Any) -> float:
    """Draw one reward of an arm, with what `draw_normal` and `draw_uniform` draw."""
    raise NotImplementedError


@part_function
def draw_normal(draws: Any) -> float:
    """Draw a number from the standard normal distribution."""
    return draws.standard_normal()  # type: ignore[no-any-return]


@part_function
def draw_uniform(draws: Any) -> float:
    """Draw a number uniformly from [0, 1)."""
    return draws.random()  # type: ignore[no-any-return]


@required
def radius(bound: Any, arena: "Arena", book: "Book") -> float:
    """Return the factor in front of ‖y‖, or what grows as fast as widths of a given ‖y‖ can.

    The latter from bounds with another `write_ends` that ignores it. Called once before that.
    """
    raise NotImplementedError


@part_function
def write_ends(
    bound: Any, book: "Book", means: FloatArray, factor: float, leader: int, row: int
) -> None:
    """Write the upper end of each arm's interval against `leader` into book.scores.

    factor: what `radius` returned. row: of the leader, in the book.
    """
    scores, gap_variance, team = book.scores, book.gap_variance, book.team
    k = begin(team)
    while k < len(scores):
        scores[k] = means[k] + factor * math.sqrt(gap_variance[row, k])
        k += stride(team)


@part_function
def write_reach(
    bound: Any,
    book: "Book",
    means: FloatArray,
    factor: float,
    leader: int,
    row: int,
    growth: float,
) -> None:
    """Write upper ends as `write_ends`, or higher ones: A may grow up to (1 + growth)A.

    Such growth must not lengthen an interval by more than the radius grows.
    """
    write_ends(bound, book, means, factor, leader, row)


@required
def closest(contest: Any, model: "Model", stopping: Any) -> tuple[int, int, float, float]:
    """Return leader, rival, B(t), or NaN if some interval is, and the bound's radius.

    Every contest has the `means` by which arms are compared: those of the book, or known ones.
    """
    raise NotImplementedError


@part_function
def narrow(stopping: Any, book: "Book", means: FloatArray, twins: IntArray, leader: int) -> float:
    """Look at all rivals before the closest is chosen, from the upper ends in book.scores.

    Return B(t) if that settles it, or -∞.
    """
    return -math.inf


# What a stopping rule decides: STOP_IF_FRESH after the caches have been rebuilt.
GO_ON, STOP_IF_FRESH, STOP = 0, 1, 2


@required
def decide(stopping: Any, leader: int, margin: float, pulls: int, noise_scale: float) -> int:
    """Return GO_ON, STOP_IF_FRESH or STOP, given the closest contest."""
    raise NotImplementedError


@part_function
def nearly(
    stopping: Any, means: FloatArray, scores: FloatArray, twins: IntArray, leader: int
) -> bool:
    """Return whether the caller is to look if refined widths settle it."""
    return False


NEEDS_HELP = -1  # in place of an arm


@required
def choose(pull: Any, model: "Model", leader: int, rival: int) -> int:
    """Return the arm to pull for this contest, or NEEDS_HELP if its part has to act first."""
    raise NotImplementedError


@part_function
def glide(
    pull: Any,
    model: "Model",
    means: FloatArray,
    world: Any,
    rng: Any,
    until: int,
    contest: tuple[int, int, float],
) -> int:
    """Make pulls of which all but the last cannot end the run, if any; return how many.

    contest: leader, rival, and the bound's radius.
    """
    return 0


@part_function
def restart(part: Any, team: Any) -> None:
    """Let a pull or stopping rule forget what it keeps: another run begins (lanes/gpu.py)."""


@required
def pick(pull: Any, whole: "Model", small: "Model", grown: float, leader: int, rival: int) -> int:
    """Return what `choose` does, where only a shortlist is kept up to date (shortlist.py).

    whole: as of the last rebuild, but for counts and sums; A has grown up to (1 + grown)A since.
    small: the shortlist's; A⁻¹ in its book is of now.
    leader, rival: by their numbers among all arms.
    """
    raise NotImplementedError


# Bounds and pull rules may keep more that moves with the estimate (book.py).


@part_function
def on_rebuild(part: Any, book: "Book") -> None:
    """Let a bound or a pull rule recompute what it keeps, after a rebuild."""


@part_function
def on_refill(bound: Any, whole: Any, book: "Book") -> None:
    """Let a bound recompute what it keeps for other arms; `whole` is the one for all arms."""


@part_function
def on_write_back(bound: Any, small: Any, arms: IntArray, row: int, source: int) -> None:
    """Let a bound take rows of some arms over from the one for these arms, `small`."""


@part_function
def on_fetch(part: Any, arena: "Arena", book: "Book", arm: int, row: int) -> None:
    """Let a bound compute its rows of `arm`; book.h is A⁻¹x_arm."""


@part_function
def on_pull(part: Any, arena: "Arena", book: "Book", arm: int, row: int, s: float) -> None:
    """Let a bound or a pull rule move what it keeps; book.c is XA⁻¹x_arm, and s = 1 + c_arm.

    arm, row: -1 for an arm that is not in the book; book.h is A⁻¹x_arm then.
    """


# Evidence in blocks (evidence/): a kernel for each kind of noise.


@required
def expect(
    evidence: Any, means: FloatArray, leverages: FloatArray, told: Any, rank: int, guess: Any
) -> None:
    """Write what rewards are expected to be like into `guess`, given estimated means."""
    raise NotImplementedError


@required
def log_value(evidence: Any, contest: Any, block: Any) -> float:
    """Return the logarithm of the evidence of a block about one contest (evidence.base)."""
    raise NotImplementedError
