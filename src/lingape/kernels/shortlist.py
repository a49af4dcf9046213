"""A shortlist: the arms that can matter for the next pulls, where there are very many.

With K arms a round takes O(K), although the same few lead and rival for hundreds of pulls. A
shortlist is a second book (book.py) with a few hundred of the arms, in order. Rounds are played in
it, by the same functions, as long as it is certain that no other arm would have led or rivalled:
pulls are those of a pass over all arms. Otherwise it is made again, by such a pass.

What makes it certain: let θ₁ be the estimate when the shortlist was drawn up, θ and A what they
are now, i a leader for whom it was drawn up, y = x_k - x_i for any arm k, and ‖y‖ its length in
the norm of A⁻¹ at some time since the last rebuild. A only grows, so

- its length in the norm of A⁻¹ now is at most ‖y‖;
- yᵀθ ≤ yᵀθ₁ + D‖y‖, where D is the length of θ - θ₁ in the norm of A (Cauchy-Schwarz);
- the bound's width is at most what `write_reach` makes of ‖y‖ at the time, times the growth of
  the bound's radius since.

The whole book keeps ‖y‖ as of the last rebuild, or as of when k was last on the shortlist, or as
of when the book was last brought up to date because these were too old.

Arms that may so come up to a leader's mean are on the shortlist, and of the others those that may
have the highest upper ends, given allowances for D, for the radius and for the growth of A. For
each leader, the highest upper end that is left out is a level. While the allowances last, one of
those leaders leads, and B(t) is above its level, leader and rival are as among all arms.

The estimate of arms that are not on the shortlist is not kept up to date. Pull rules find the best
of all arms even so (`pick`): by counts alone, or as pulls/greedy.py does.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..least_squares import STEEP
from ..ties import LEADER
from .book import (
    GROWTH,
    PULLS,
    ROWS,
    Arena,
    Book,
    Model,
    move,
    move_inverse,
    rebuild,
    refill,
    row_for,
)
from .functions import compiled, inlined
from .loops import first_from, largest, multiply, write_products
from .parts import on_pull, on_refill, on_write_back, radius, write_reach

# Shortlists are for at least so many arms, and so many times d², and have at most this share of
# them. With more dimensions the estimate moves further, and they do not last.
MANY, TIMES = 1_000, 5
SHARE = 0.5
SIZE = 256  # of the first shortlist
# Far above rounding: what must lie between values for their order to be certain.
CERTAIN = 1e-9
# How many shortlists to look at before deciding whether their size is right.
SAMPLE = 32
# After so many in a row that last for no round the whole book is brought up to date, and after so
# many a larger shortlist is tried.
STALE, SMALL = 1, 3
# Allowances for D are this many times the usual length of such a random walk.
USUAL = 1.5

# Positions in Shortlist.gauge ...
LEVEL, DRIFT, RADIUS, SPAN, STEP, SPREAD, GROWN = 0, 1, 2, 3, 4, 5, 6
# ... and in Shortlist.clock.
DRAWN, ROUNDS, DRAWS, PLAYED, FAILED, WANTED, REFRESHED = 0, 1, 2, 3, 4, 5, 6


class Shortlist(NamedTuple):
    """Which arms are on it, and for how long. Its book and its bound are those of a Model."""

    arms: IntArray  # (M,) rising
    leaders: IntArray  # (few,) for whom it was drawn up, or -1
    tops: FloatArray  # (few,) how much higher than each of them upper ends reached at the time
    theta: FloatArray  # (d,) the estimate now
    then: FloatArray  # (d,) the estimate when it was drawn up
    work: FloatArray  # (d,)
    keys: FloatArray  # (K,) work: by how much each arm may beat a leader, beyond `tops`
    gauge: FloatArray  # the level, allowances for D, for the radius and for the growth of A, ...
    clock: IntArray


def fits(twins: IntArray, d: int, size: int) -> bool:
    """Whether a shortlist of so many arms is worth while among all."""
    different = int(np.count_nonzero(twins == np.arange(len(twins))))
    return different >= max(MANY, TIMES * d * d) and size <= SHARE * different


def new_shortlist(arena: Arena, size: int) -> Shortlist:
    """Return a shortlist for so many arms, still to be drawn up."""
    count, d = arena.features.shape
    return Shortlist(
        arms=np.zeros(size, dtype=np.int64),
        leaders=np.full(ROWS - 1, -1, dtype=np.int64),
        tops=np.zeros(ROWS - 1),
        theta=np.zeros(d),
        then=np.zeros(d),
        work=np.zeros(d),
        keys=np.zeros(count),
        gauge=np.zeros(7),
        clock=np.zeros(7, dtype=np.int64),
    )


def small_arena(arena: Arena, size: int) -> Arena:
    """Return an arena for so many of the arms, still to be filled in."""
    d = arena.features.shape[1]
    return arena._replace(
        features=np.zeros((size, d)),
        columns=np.zeros((d, size)),
        twins=np.zeros(size, dtype=np.int64),
    )


def small_book(book: Book, size: int) -> Book:
    """Return a book for so many of the arms, with the clock and the gauge of the whole book."""
    (rows, _), d = book.cross.shape, len(book.h)
    return book._replace(
        counts=np.zeros(size, dtype=np.int64),
        sums=np.zeros(size),
        means=np.zeros(size),
        variances=np.zeros(size),
        inverse=np.zeros((d, d)),
        products=np.zeros((d, size)),
        row_of=np.full(size, -1, dtype=np.int64),
        owner=np.full(rows, -1, dtype=np.int64),
        used=np.zeros(rows, dtype=np.int64),
        cross=np.zeros((rows, size)),
        gap_variance=np.zeros((rows, size)),
        c=np.zeros(size),
        scores=np.zeros(size),
        h=np.zeros(d),
        h2=np.zeros(d),
    )


@inlined
def rebuild_all(shortlist: Shortlist, whole: Model, small: Model, pull: Any) -> None:
    """Recompute every cache of the whole book; the shortlist is then to be drawn up."""
    rebuild(whole, pull)
    _begin(shortlist, whole.book, small.book.inverse)


@compiled
def _begin(shortlist: Shortlist, book: Book, inverse: FloatArray) -> None:
    d = len(book.h)
    inverse[:] = book.inverse
    for p in range(d):
        for q in range(p):
            book.gram[q, p] = book.gram[p, q]
        value = 0.0
        for q in range(d):  # book.h is still Σ_k sums_k x_k
            value += inverse[p, q] * book.h[q]
        shortlist.theta[p] = value
    if shortlist.gauge[STEP] == 0.0:
        shortlist.gauge[STEP] = 16.0 * d / book.clock[PULLS]
    shortlist.gauge[GROWN] = 0.0
    shortlist.leaders[:] = -1
    shortlist.clock[DRAWN] = 0
    shortlist.clock[FAILED] = 0


@compiled
def suits(shortlist: Shortlist, arena: Arena) -> bool:
    """Whether to draw up another shortlist of this size; if not, clock[WANTED] is the size to try.

    By how long rounds and drawing up take, in multiplications.
    """
    clock, gauge, size = shortlist.clock, shortlist.gauge, len(shortlist.arms)
    count, d = arena.features.shape
    clock[WANTED] = size
    if clock[ROUNDS] > 0 or clock[DRAWS] == 0:
        clock[FAILED] = 0
    else:
        clock[FAILED] += 1
        if clock[FAILED] > STALE:
            gauge[STEP] *= 0.5
    clock[PLAYED] += clock[ROUNDS]
    drawing = clock[DRAWS] * (count * (d + 12) + size * d * d) + clock[REFRESHED] * count * d * d
    playing = clock[PLAYED] * (size * (d + 12) + 6 * d * d)
    seen = clock[DRAWS] == SAMPLE
    if seen and drawing + playing > clock[PLAYED] * count * (2 * d + 40):
        clock[WANTED] = count  # rounds among all arms take less time
    elif clock[FAILED] == SMALL or (seen and drawing > 4 * playing):
        clock[WANTED] = 2 * size
    elif seen and playing > 16 * drawing and size > SIZE:
        clock[WANTED] = size // 2
    if seen or clock[WANTED] != size:
        clock[DRAWS], clock[PLAYED], clock[FAILED], clock[REFRESHED] = 0, 0, 0, 0
    return bool(clock[WANTED] == size)


@inlined
def draw_up(shortlist: Shortlist, whole: Model, small: Model) -> None:
    """Put the arms on the shortlist that may matter within the allowances."""
    arena, book, bound = whole.arena, whole.book, whole.bound
    gauge = shortlist.gauge
    if shortlist.clock[FAILED] == STALE:
        catch_up(shortlist, whole, small)
        shortlist.clock[REFRESHED] += 1
    for m in range(len(shortlist.leaders)):
        _write_back(shortlist, book, small, bound, m)
    if book.gauge[GROWTH] > 0.0:
        write_products(book.team, arena.columns, shortlist.theta, book.means)
    _allow(shortlist, arena, book)
    factor, growth = radius(bound, arena, book), gauge[SPAN]
    share = arena.noise_scale / factor
    stretch = math.sqrt(1.0 + 2.0 * gauge[STEP] * share * share)  # twice the usual growth
    gauge[RADIUS] = stretch * factor
    shortlist.keys[:] = -math.inf
    for m in range(len(shortlist.leaders)):
        if shortlist.leaders[m] >= 0:
            row = row_for(whole, shortlist.leaders[m])
            write_reach(bound, book, book.means, factor, shortlist.leaders[m], row, growth)
            _write_keys(shortlist, arena, book, m, row, stretch)
    _fill(shortlist, arena, book, small.arena, small.book)
    on_refill(small.bound, bound, small.book)


@inlined
def _write_back(shortlist: Shortlist, book: Book, small: Model, bound: Any, place: int) -> None:
    """Write what the shortlist knows of gaps to a leader back into the whole book."""
    leader = shortlist.leaders[place]
    if leader >= 0 and book.row_of[leader] >= 0:
        spot = _place(shortlist.arms, leader)
        if spot >= 0 and small.book.row_of[spot] >= 0:
            row, source = book.row_of[leader], small.book.row_of[spot]
            scatter(shortlist.arms, small.book.gap_variance[source], book.gap_variance[row])
            on_write_back(bound, small.bound, shortlist.arms, row, source)


@compiled
def _place(arms: IntArray, arm: int) -> int:
    """Return where an arm is on the shortlist, or -1."""
    place = int(np.searchsorted(arms, arm))
    return place if place < len(arms) and arms[place] == arm else -1


@compiled
def scatter(arms: IntArray, values: FloatArray, target: FloatArray) -> None:
    """Write the values of some arms to their places."""
    for n in range(len(arms)):
        target[arms[n]] = values[n]


@compiled
def _allow(shortlist: Shortlist, arena: Arena, book: Book) -> None:
    """Set the allowances, and put the arm that leads first among the leaders."""
    gauge, leaders, means = shortlist.gauge, shortlist.leaders, book.means
    gauge[DRIFT] = USUAL * arena.noise_scale * math.sqrt(gauge[STEP])
    gauge[SPAN] = gauge[GROWN] + gauge[STEP]
    shortlist.then[:] = shortlist.theta
    top = largest(book.team, means)
    leader = first_from(book.team, means, top - LEADER * (arena.noise_scale + abs(top)))
    place = 0
    while place < len(leaders) - 1 and leaders[place] != leader:
        place += 1
    for m in range(place, 0, -1):
        leaders[m] = leaders[m - 1]
    leaders[0] = leader


@compiled
def _write_keys(
    shortlist: Shortlist, arena: Arena, book: Book, place: int, row: int, stretch: float
) -> None:
    """Write by how much arms may beat a leader, whose reach is in book.scores.

    Infinite if they may come up to its mean. A leader who no longer can come up to the first is
    none.
    """
    keys, means, scores = shortlist.keys, book.means, book.scores
    gap_variance, drift = book.gap_variance[row], shortlist.gauge[DRIFT]
    leader = shortlist.leaders[place]
    if place > 0 and keys[leader] < math.inf:
        shortlist.leaders[place] = -1
        return
    own = means[leader]
    top = largest(book.team, scores) - own
    shortlist.tops[place] = top
    least = -CERTAIN * (arena.noise_scale + abs(own))
    for k in range(len(keys)):
        gap = means[k] - own + drift * math.sqrt(gap_variance[k])
        key = gap - top + stretch * (scores[k] - means[k])
        key = key if gap < least and key < math.inf else math.inf  # also if it is NaN
        keys[k] = key if key > keys[k] else keys[k]
    for k in range(len(keys)):
        if arena.twins[k] != k:  # comes after the first of its kind in every tie
            keys[k] = -math.inf


@compiled
def _fill(shortlist: Shortlist, arena: Arena, book: Book, few: Arena, page: Book) -> None:
    """Choose arms by their keys, and write the shortlist's arena and its book."""
    arms, keys, gauge = shortlist.arms, shortlist.keys, shortlist.gauge
    gauge[LEVEL] = cut(keys, len(arms), 0.0, max(gauge[SPREAD], 1e-6 * abs(shortlist.tops[0])))
    gauge[SPREAD] = -gauge[LEVEL]
    spare, m = len(arms), 0
    for k in range(len(keys)):
        spare -= keys[k] > gauge[LEVEL]
    for k in range(len(keys)):
        if m < len(arms) and (keys[k] > gauge[LEVEL] or (spare > 0 and keys[k] > -math.inf)):
            spare -= keys[k] <= gauge[LEVEL]
            arms[m] = k
            m += 1
    for n in range(len(arms)):
        few.twins[n] = arena.twins[arms[n]]
        few.features[n] = arena.features[arms[n]]
        page.means[n] = book.means[arms[n]]
    for p in range(len(few.columns)):
        for n in range(len(arms)):
            few.columns[p, n] = arena.columns[p, arms[n]]
    refill(few, page)
    shortlist.clock[DRAWN] = 1
    shortlist.clock[ROUNDS] = 0
    shortlist.clock[DRAWS] += 1


@compiled
def cut(values: FloatArray, most: int, top: float, spread: float) -> float:
    """Return a level above which there are at most so many values, and nearly as many if possible.

    top: the first guess is `spread` below it.
    """
    if _above(values, top) > most:
        return math.inf
    low, high = -math.inf, top
    for _ in range(60):
        level = top - spread if low == -math.inf else 0.5 * (low + high)
        number = _above(values, level)
        if number > most:
            low = level
        else:
            high = level
            spread *= 4.0
            if 4 * number > 3 * most:
                break
    return high


@compiled
def _above(values: FloatArray, level: float) -> int:
    number = 0
    for k in range(len(values)):
        number += values[k] > level
    return number


@compiled
def holds(
    shortlist: Shortlist,
    arena: Arena,
    book: Book,
    page: Book,
    contest: tuple[int, int, float, float],
) -> bool:
    """Whether the closest contest on the shortlist is the closest among all arms.

    page: the shortlist's book. contest: leader and rival there, B(t), and the bound's radius.
    """
    gauge, arms, twins = shortlist.gauge, shortlist.arms, arena.twins
    leader, rival, margin, factor = contest
    place = 0
    while place < len(shortlist.leaders) and shortlist.leaders[place] != arms[leader]:
        place += 1
    if place == len(shortlist.leaders):
        return False
    lasts = (
        factor <= gauge[RADIUS]
        and gauge[GROWN] <= gauge[SPAN]
        and _drift(shortlist, arena, book) <= gauge[DRIFT]
    )
    width = margin + page.means[leader] - page.means[rival]
    slack = CERTAIN * (arena.noise_scale + abs(page.means[leader]) + width)
    level = shortlist.tops[place] + gauge[LEVEL]
    clear = margin - slack > level and twins[arms[leader]] != twins[arms[rival]]
    if not (lasts and clear) and shortlist.clock[ROUNDS] > 0:
        gauge[STEP] *= 1.25 if clear else 0.7  # both allowances and level should last
    return bool(lasts and clear)


@compiled
def _drift(shortlist: Shortlist, arena: Arena, book: Book) -> float:
    """Return D."""
    v, theta, then = shortlist.work, shortlist.theta, shortlist.then
    square = 0.0
    for p in range(len(v)):
        v[p] = theta[p] - then[p]
        square += arena.ridge * v[p] * v[p]
    multiply(book.team, book.gram, v, book.h)
    for p in range(len(v)):
        square += v[p] * book.h[p]
    return math.sqrt(max(0.0, square))


@inlined
def absorb_outside(
    shortlist: Shortlist, whole: Model, small: Model, arm: int, paid: float
) -> bool:
    """Do to the shortlist's caches what a pull of any arm does, unless they need a rebuild."""
    x, book = whole.arena.features[arm], small.book
    multiply(book.team, book.inverse, x, book.h)
    leverage, mean = 0.0, 0.0
    for p in range(len(x)):
        leverage += x[p] * book.h[p]
        mean += x[p] * shortlist.theta[p]
    s = 1.0 + leverage
    fine = 1.0 <= s <= STEEP
    if fine:
        write_products(book.team, small.arena.columns, book.h, book.c)
        on_pull(small.bound, small.arena, book, -1, -1, s)
        move(book, leverage, paid - mean)
        move_inverse(book.team, book.inverse, book.h, s)
        step = (paid - mean) / s
        for p in range(len(x)):
            shortlist.theta[p] += step * book.h[p]
            for q in range(len(x)):
                book.gram[p, q] += x[p] * x[q]
        shortlist.gauge[GROWN] += whole.book.variances[arm]
        shortlist.clock[ROUNDS] += 1
    return fine


@compiled
def _copy(source: FloatArray, target: FloatArray) -> None:
    target[:] = source


@inlined
def catch_up(shortlist: Shortlist, whole: Model, small: Model) -> None:
    """Bring the whole book up to date."""
    _copy(small.book.inverse, whole.book.inverse)
    refill(whole.arena, whole.book)
    write_products(whole.book.team, whole.arena.columns, shortlist.theta, whole.book.means)
    on_refill(whole.bound, whole.bound, whole.book)
    shortlist.gauge[GROWN] = 0.0
