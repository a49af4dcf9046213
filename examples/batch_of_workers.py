"""Several trials at a time, answered late and in any order."""

import numpy as np

from lingape import LinGapE, Problem

rng = np.random.default_rng(7)
arms = rng.normal(size=(12, 3))
truth = arms @ [1.0, 0.4, -0.6]
explorer = LinGapE(
    Problem(arms, noise=0.5, epsilon=0.05, names=[f"recipe {c}" for c in "ABCDEFGHIJKL"])
)

under_way: list[int] = []
while not explorer.done:
    # Keep four trials running; those under way count in the choice of the next.
    free = 4 - len(under_way)
    if free:
        under_way += explorer.ask_many(free, pending=under_way)
    # One of them reports, whichever it is.
    arm = under_way.pop(int(rng.integers(len(under_way))))
    explorer.tell(arm, truth[arm] + 0.5 * rng.normal())

# Late results are accepted and do not change the certificate.
explorer.tell_many(under_way, [truth[arm] for arm in under_way])
print(explorer.certificate())
