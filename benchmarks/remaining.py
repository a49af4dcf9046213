"""How honest are forecasts of the pulls that are still needed?

    python -m benchmarks.remaining [--runs 100]

Runs on the same θ are stopped at fixed numbers of pulls, shares of what a run usually takes, and
asked for a forecast; then they go on to the end. Runs with a θ of their own each, as "any θ", are
asked at any time between beginning and end. An honest forecast's 10 %, 50 % and 90 % are exceeded
by 90, 50 and 10 % of those runs. At later shares only the longer runs are left.
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks import record
from lingape import (
    canonical,
    factorial,
    hypercube,
    items,
    polynomial,
    run,
    soare,
    soare_tied,
    sparse,
    specs,
    sphere,
)
from lingape.environments import Instance
from lingape.remaining import remaining

SHARES = (0.1, 0.3, 0.6, 1.0, 1.5)  # of the median run, at which forecasts are made
PILOTS = 41  # runs whose median that is
MOST = 1_000_000  # pulls
FEWEST = 10  # runs in a row of the table


class Case(NamedTuple):
    """What is explored, and by whom."""

    instance: Instance | Callable[[int], Instance]  # or one for each run
    world: str = "gaussian"
    explorer: str = "race"
    noise: Any = 1.0
    epsilon: float = 0.0
    minimize: bool = False

    def play(self, seed: int, moments: list[int], see: Callable[[Any], None]) -> int:
        """Play once, show the explorer at some numbers of pulls, and return how many it took."""
        place = self.instance if isinstance(self.instance, Instance) else self.instance(seed)
        problem = place.problem(noise=self.noise, epsilon=self.epsilon, minimize=self.minimize)
        explorer = specs.Recipe.read(self.explorer)(problem, place.theta)

        def seen(explorer: Any, pulls: int) -> None:
            if pulls in moments and not explorer.done:
                see(explorer)

        world = getattr(place, self.world)()
        settings: dict[str, Any] = {"seed": seed, "max_pulls": MOST}
        return run(explorer, world, progress=seen, moments=moments, **settings).pulls

    def moments(self, seed: int) -> list[int]:
        """Return the numbers of pulls at which a run is asked."""
        if isinstance(self.instance, Instance):
            usual = np.median([self.play(10**6 + i, [], _look_away) for i in range(PILOTS)])
            return sorted({max(1, round(share * float(usual))) for share in SHARES})
        pulls = self.play(seed, [], _look_away)
        return [1 + int(pulls * np.random.default_rng((seed, pulls)).random())]


def _look_away(explorer: Any) -> None:
    pass


class Look(NamedTuple):
    """A forecast, and what came of it."""

    pulls: int  # so far; 0 for any
    forecast: tuple[float, ...] | None  # at 10, 50 and 90 %
    took: int  # pulls more


def cases() -> dict[str, Case]:
    """Return what is looked at, by name."""
    small, ball, ten, many = (
        soare(3, 0.3),
        sphere(30, 6, 1),
        canonical(10, 0.5),
        sphere(300, 6, 72),
    )
    clicks = factorial(0.3, [0.1, 0.15], [0.1], [0.05, 0.2])
    rare = factorial(0.02, [0.01, 0.02], [0.03])
    costs = Instance("costs", np.eye(4), np.array([1.0, 0.2, 0.6, 0.8]))
    signs = Instance("signs", np.eye(4), np.array([0.6, 0.3, 0.0, -0.3]))
    tied, other = soare_tied(4, 0.5), items(3, 8, 0)

    def any_theta(seed: int) -> Instance:
        theta = np.random.default_rng(seed).standard_normal(6)
        return Instance(f"any {seed}", ball.arms, theta / np.linalg.norm(theta))

    def any_means(seed: int) -> Instance:
        return Instance(f"any {seed}", np.eye(8), np.random.default_rng(seed).standard_normal(8))

    own = "lingape(bound=self_normalized, pull=tracking)"
    return {
        "race, any θ": Case(any_theta),
        "race, any means": Case(any_means),
        "race, any θ, ε": Case(any_theta, epsilon=0.2),
        "race, any means, unknown σ": Case(any_means, noise="normal"),
        "race, small": Case(small),
        "race, sphere": Case(ball),
        "race, 300 arms": Case(many),
        "race, canonical": Case(ten),
        "race, 0 and 1": Case(clicks, "zero_one", noise="binary"),
        "race, mostly 0": Case(rare, "zero_one", noise="binary"),
        "race, ±1": Case(signs, "signed", noise=(-1, 1)),
        "race, unknown σ": Case(ball, noise="normal"),
        "race, less is better": Case(costs, minimize=True),
        "race, ε": Case(ball, epsilon=0.2),
        "race, tied, ε": Case(tied, epsilon=0.2),
        "race, items": Case(other),
        "lingape, any θ": Case(any_theta, explorer="lingape"),
        "lingape, any means": Case(any_means, explorer="lingape"),
        "lingape, any θ, ε": Case(any_theta, explorer="lingape", epsilon=0.2),
        "lingape, small": Case(small, explorer="lingape"),
        "lingape, sphere": Case(ball, explorer="lingape"),
        "lingape, canonical": Case(ten, explorer="lingape"),
        "lingape, 0 and 1": Case(clicks, "zero_one", "lingape", noise="binary"),
        "lingape, mostly 0": Case(rare, "zero_one", "lingape", noise="binary"),
        "lingape, less is better": Case(costs, explorer="lingape", minimize=True),
        "lingape, ε": Case(ball, explorer="lingape", epsilon=0.2),
        "lingape, tied, ε": Case(tied, explorer="lingape", epsilon=0.2),
        "lingape, items": Case(other, explorer="lingape"),
        "lingape, the paper's": Case(ball, explorer=own),
        "lingape, elimination": Case(ball, explorer="lingape(elimination=sample)"),
        "lin_game, any θ": Case(any_theta, explorer="lin_game"),
        # Nothing was chosen on these.
        **{
            f"{explorer}, {place.name}": Case(place, explorer=explorer)
            for explorer in ("race", "lingape")
            for place in (polynomial(9, 3, 2), hypercube(4, 3), sparse(60, 12, 2, 5))
        },
        "uniform, any means": Case(any_means, explorer="uniform(bound=fixed_design)"),
        "xy_static, any θ": Case(any_theta, explorer="xy_static(bound=fixed_design)"),
    }


def looks(name: str, seed: int, moments: list[int] | None) -> list[Look]:
    """Play once, and return the forecasts that were made on the way."""
    case, found = cases()[name], []
    total = case.play(
        seed,
        case.moments(seed) if moments is None else moments,
        lambda explorer: found.append((int(explorer.counts.sum()), remaining(explorer))),
    )
    return [
        Look(
            0 if moments is None else pulls,
            None if forecast is None else tuple(np.inf if n is None else n for n in forecast),
            total - pulls,
        )
        for pulls, forecast in found
    ]


def rows(name: str, runs: int) -> list[dict[str, Any]]:
    """Return how often forecasts were exceeded, at each number of pulls."""
    case = cases()[name]
    moments = case.moments(0) if isinstance(case.instance, Instance) else None
    played = Parallel(n_jobs=-1)(delayed(looks)(name, seed, moments) for seed in range(runs))
    found = []
    for pulls in moments or [0]:
        some = [look for run in played for look in run if look.pulls == pulls]
        told = [look for look in some if look.forecast is not None]
        if len(told) < FEWEST:
            continue
        took = np.array([look.took for look in told])
        forecasts = np.array([look.forecast for look in told])
        over = (took[:, None] > forecasts).mean(axis=0)
        off = np.median(forecasts[:, 1]) / np.median(took)
        found.append(
            {"case": name, "pulls": pulls or None, "runs": len(told)}
            | {"not told": len(some) - len(told), "median took": float(np.median(took))}
            | {"over 10%": over[0], "over 50%": over[1], "over 90%": over[2], "ratio": float(off)}
        )
    return found


def main() -> None:
    """Print and save how often forecasts were exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    print(f"{'':<28} {'pulls':>8} {'runs':>5}  exceed 10 %  50 %  90 %  median / actual one")
    found: list[dict[str, Any]] = []
    for name in cases():
        for row in rows(name, runs):
            found.append(row)
            over = [f"{row[f'over {level}']:.0%}" for level in ("10%", "50%", "90%")]
            at = "any" if row["pulls"] is None else f"{row['pulls']:,}"
            print(
                f"{name:<28} {at:>8} {row['runs']:>5}  {over[0]:>11} {over[1]:>5} {over[2]:>5} "
                f" {row['ratio']:>7.2f}",
                flush=True,
            )
        record.write("remaining", found)
    print(summary(found))


def summary(found: list[dict[str, Any]]) -> str:
    """Return all rows together in a line."""
    weights = [row["runs"] for row in found]
    over = [
        np.average([row[f"over {level}"] for row in found], weights=weights)
        for level in ("10%", "50%", "90%")
    ]
    fair = np.mean([0.03 <= row["over 90%"] <= 0.25 for row in found])
    near = np.mean([2 / 3 <= row["ratio"] <= 1.5 for row in found])
    return (
        f"All: exceeded by {over[0]:.0%}, {over[1]:.0%} and {over[2]:.0%}. The 90 % was exceeded "
        f"by 3 to 25 % of runs in {fair:.0%} of rows; medians were within a factor of 1.5 in "
        f"{near:.0%}."
    )


if __name__ == "__main__":
    main()
