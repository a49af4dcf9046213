"""Show an ad to a visitor and print whether it was clicked, 1 or 0. Here this is a simulation."""

import json
import os
import random

levels = json.loads(os.environ["LINGAPE_LEVELS"])  # such as {"picture": "photo", ...}
random.seed(int(os.environ["LINGAPE_PULL"]))  # so that the page can be printed again
print(int(random.random() < (0.6 if levels["picture"] == "photo" else 0.3)))
