"""Simulate an experiment: was this prompt's answer right? Prints 1 or 0.

    lingape find prompts.csv --reward-cmd 'python judge.py {features}' --binary

The probability of 1 is linear in the features. The number of the pull is the seed, so that a
search can be repeated.
"""

import os
import random
import sys

chance = sum(
    weight * float(feature)
    for weight, feature in zip((0.3, 0.1, 0.35, -0.15), sys.argv[1].split(), strict=True)
)
random.seed(int(os.environ["LINGAPE_PULL"]))
print(int(random.random() < chance))
