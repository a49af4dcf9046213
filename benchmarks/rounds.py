"""How fast is a round, in the compiled lane and by ask and tell?"""

import functools
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import yardsticks
from benchmarks.timing import REPEATS, Figure, fastest, seconds_of
from lingape import (
    Explorer,
    FixedDesign,
    Instance,
    LinGapE,
    Problem,
    Race,
    SelfNormalized,
    Tracking,
    Uniform,
    run,
    soare,
    sphere,
)

Build = Callable[[Problem], Explorer]
PAPER = functools.partial(LinGapE, bound=SelfNormalized(comparisons="K^2"))
TRACKING = functools.partial(PAPER, pull=Tracking())
EVENLY = functools.partial(Uniform, bound=FixedDesign())
DROPPING = functools.partial(PAPER, elimination="sample")
BOTH = (("paper's bound", PAPER), ("Mixture", LinGapE))
PASSES = "passes of X @ v"


def compiled_round(instance: Instance, build: Build, rounds: int, repeats: int = REPEATS) -> float:
    """Return seconds per round in the compiled lane, drawing the noise included.

    After the opening, and the first caches with it.
    """
    world, first = instance.gaussian(), len(instance.arms) + 1

    def seconds(pulls: int) -> float:
        # A tiny δ keeps the run from ending.
        problem = instance.problem(norm_bound=2.0, delta=1e-100)
        result = run(build(problem), world, max_pulls=pulls, lane="compiled")
        assert result.pulls == pulls
        return result.seconds

    def once() -> float:
        return (seconds(first + rounds) - seconds(first)) / rounds

    once()  # compile
    return fastest(once, repeats)


def compiled_figures() -> Iterator[Figure]:
    """Time the compiled lane against the yardsticks."""
    small, large, rng = soare(5, 0.01), sphere(500, 20, seed=0), np.random.default_rng(0)
    rounds = 300

    def transcribed(mixture: bool) -> float:
        arms, theta = small.arms, small.theta
        job = functools.partial(
            yardsticks.transcription, arms, theta, rounds, rng, mixture=mixture
        )
        return fastest(lambda: seconds_of(job)) / (rounds + len(arms))

    noise = noise_alone()
    for title, build, mixture in (
        ("paper's bound, greedy", PAPER, False),
        ("paper's bound, tracking", TRACKING, False),
        ("paper's bound, elimination", DROPPING, None),
        ("Mixture, greedy", LinGapE, True),
        ("Race", Race, None),
        ("Uniform, FixedDesign", EVENLY, None),
    ):
        one = compiled_round(small, build, 300_000)
        beside = {"times the noise alone": one / noise}
        if mixture is not None:
            beside["times faster than a NumPy transcription"] = transcribed(mixture) / one
        if build is PAPER:
            beside["times faster than the fastest of three peers"] = yardsticks.PEERS[0] / one
        yield Figure(f"compiled, K=6, d=5, {title}", one, beside)
    for other in (soare(2, 0.01), soare(9, 0.01), sphere(50, 10, seed=0)):
        one, (count, d) = compiled_round(other, PAPER, 100_000), other.arms.shape
        beside = {"times the noise alone": one / noise}
        yield Figure(f"compiled, K={count}, d={d}, paper's bound, greedy", one, beside)
    yardsticks.quadratic_loop(large.arms, large.theta, 1, rng)
    job = functools.partial(yardsticks.quadratic_loop, large.arms, large.theta, rounds, rng)
    loop = fastest(lambda: seconds_of(job)) / (rounds + len(large.arms))
    for title, build in (*BOTH, ("paper's bound, tracking", TRACKING), ("Race", Race)):
        one = compiled_round(large, build, 20_000)
        beside = {"times faster than a compiled O(Kd²) loop": loop / one}
        yield Figure(f"compiled, K=500, d=20, {title}", one, beside)


def large_figures() -> Iterator[Figure]:
    """Time the compiled lane on many arms and dimensions against multiplying by a vector."""
    for count, d, rounds in ((500, 100, 5_000), (5_000, 20, 10_000), (50_000, 20, 10_000)):
        instance = sphere(count, d, seed=0)
        vector = np.random.default_rng(0).standard_normal(d)
        times = max(10, 10**8 // instance.arms.size)

        def multiply(arms=instance.arms, vector=vector, times=times) -> None:  # type: ignore[no-untyped-def]
            for _ in range(times):
                arms @ vector

        for title, build in BOTH:
            one = compiled_round(instance, build, rounds, repeats=3)
            passed = fastest(lambda: seconds_of(multiply), repeats=3) / times
            yield Figure(f"compiled, K={count:,}, d={d}, {title}", one, {PASSES: one / passed})


def noise_alone() -> float:
    """Return seconds for drawing the noise of one pull."""
    rng = np.random.default_rng(0)
    yardsticks.noise_alone(1, rng)
    return fastest(lambda: seconds_of(lambda: yardsticks.noise_alone(10**6, rng))) / 10**6


def asked_round(count: int, d: int, build: Build, rounds: int) -> tuple[float, float]:
    """Return seconds for ask and tell together, and for one pass of X @ v."""
    instance = sphere(count, d, seed=0)
    problem = instance.problem(norm_bound=2.0, noise=30.0)
    explorer, rng = build(problem), np.random.default_rng(0)
    for arm in range(count):
        explorer.tell(arm, 30 * rng.standard_normal())
    rewards = (30 * rng.standard_normal(rounds)).tolist()
    vector = rng.standard_normal(d)

    def talk() -> None:
        for reward in rewards:
            explorer.tell(explorer.ask(), reward)

    def multiply() -> None:
        for _ in range(rounds):
            problem.arms @ vector

    talked, multiplied = [], []
    for _ in range(REPEATS):  # in turn, so that both see the same load
        talked.append(seconds_of(talk))
        multiplied.append(seconds_of(multiply))
    return min(talked) / rounds, min(multiplied) / rounds


def asked_figures() -> Iterator[Figure]:
    """Time ask and tell against multiplying the features by a vector."""
    paper = functools.partial(LinGapE, bound=SelfNormalized())
    three = (("paper's bound", paper), ("Mixture", LinGapE), ("Race", Race))
    for count, d, rounds, builds in (
        (6, 5, 2_000, three),
        (500, 20, 300, (("paper's bound, tracking", TRACKING),)),
        (10_000, 50, 300, three),
    ):
        for title, build in builds:
            talked, multiplied = asked_round(count, d, build, rounds)
            beside = {PASSES: talked / multiplied}
            yield Figure(f"ask + tell, K={count:,}, d={d}, {title}", talked, beside)
