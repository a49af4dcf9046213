"""Race against LinGapE on instances that no constant of Race was chosen on.

    python -m benchmarks.fresh

The constants were chosen on instances of the leaderboard, so its ratios flatter Race.
"""

from benchmarks import record
from lingape import Study
from lingape.study import Duel, mean_ratio

SEEDS = 100
DELTAS = (0.05, 0.001)
INSTANCES = (
    "sphere(60, 8, 71)",
    "sphere(300, 6, 72)",
    "sparse(80, 15, 3, 73)",
    "polynomial(15, 3, 74)",
    "hypercube(4, 75)",
    "factorial(0, [0.3, 0.1], [0.25], [0.15, 0.35])",
    "canonical(8, 0.3)",
    "soare(4, 0.05)",
)


def duel(instance: str, delta: float, seeds: int) -> Duel:
    """Play both explorers on an instance."""
    study = Study(["race", "lingape"], [instance], seeds=seeds, problem={"delta": delta})
    return Duel.of(study.run())


def main() -> None:
    rows = []
    for delta in DELTAS:
        duels = {instance: duel(instance, delta, SEEDS) for instance in INSTANCES}
        for name, found in (
            *((name, [one]) for name, one in duels.items()),
            ("all", [*duels.values()]),
        ):
            ratio = mean_ratio(found)
            wrong = sum(one.challenger.errors for one in found)
            rows.append({"delta": delta, "instance": name, "wrong": wrong} | ratio._asdict())
            print(f"δ = {delta:g}, {name}: {ratio}, wrong {wrong}", flush=True)
    print(record.write("fresh", rows))


if __name__ == "__main__":
    main()
