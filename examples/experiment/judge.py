"""Simulate an experiment: was this prompt's answer right? Prints 1 or 0.

    lingape find prompts.toml --reward-cmd 'python judge.py' --binary

The effects of the three factors add up. The number of the pull is the seed, so that a search can
be repeated.
"""

import json
import os
import random

levels = json.loads(os.environ["LINGAPE_LEVELS"])
chance = 0.3 + {0: 0.0, 1: 0.05, 3: 0.15}[levels["examples"]]
chance += 0.35 * (levels["steps"] == "yes") - 0.15 * (levels["tone"] == "polite")
random.seed(int(os.environ["LINGAPE_PULL"]))
print(int(random.random() < chance))
