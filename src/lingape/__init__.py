"""Find the best of many options in few noisy trials, with a guarantee.

Each option (arm) has a feature vector x; a trial pays xᵀθ plus noise; θ is unknown. An explorer is
asked which arm to pull and told what it paid, until it knows which arm is best::

    problem = Problem(arms, noise=1.0, delta=0.05)
    explorer = LinGapE(problem)
    while not explorer.done:
        arm = explorer.ask()
        explorer.tell(arm, measure(arm))
    print(explorer.certificate())
"""

import lazy_loader

# Names load the modules they live in when they are first used (SPEC 1), so that the command line
# answers at once. What is public is listed in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
