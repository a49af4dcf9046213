"""How many samples does a bound cost? The paper's instance, made easier, over a few seeds."""

import numpy as np

from lingape import LinGapE, Mixture, SelfNormalized, WorstCase, run, soare

instance = soare(d=5, angle=0.05)
for bound in (WorstCase(), SelfNormalized(comparisons="K^2"), SelfNormalized(), Mixture()):
    pulls = [
        run(LinGapE(instance.problem(), bound=bound), instance.gaussian(), seed=seed).pulls
        for seed in range(20)
    ]
    print(f"{bound!r:>50}: {np.mean(pulls):>10,.0f} pulls on average")
