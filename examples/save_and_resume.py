"""Stop for the night: the state is JSON, and resuming is exact."""

import json
import tempfile
from pathlib import Path

from lingape import LinGapE, canonical

instance = canonical(4, gap=1.0)
world = instance.gaussian()


def play(explorer: LinGapE, rounds: int, rewards: list[float]) -> list[int]:
    """Ask and tell with rewards taken from a list."""
    pulled = []
    for _ in range(rounds):
        if explorer.done:
            break
        pulled.append(explorer.ask())
        explorer.tell(pulled[-1], float(world.means[pulled[-1]] + rewards.pop()))
    return pulled


noise = [0.9, -0.4, 0.1, -1.2, 0.7, 0.3, -0.8, 1.1] * 20
whole = play(LinGapE(instance.problem()), 100, noise.copy())

rest = noise.copy()
evening = LinGapE(instance.problem())
first = play(evening, 30, rest)
path = Path(tempfile.mkdtemp()) / "explorer.json"
path.write_text(json.dumps(evening.state()))

morning = LinGapE.from_state(json.loads(path.read_text()))
second = play(morning, 70, rest)
assert first + second == whole
print(f"{len(first)} pulls before the break, {len(second)} after it, the same as without one")
