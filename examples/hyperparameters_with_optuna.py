"""Which of 36 settings trains the best nets? lingape beside Optuna, on the same trainings.

Optuna searches spaces of any kind and has good guesses after a few dozen trials. lingape needs a
list of settings and more trials, and then proves which is best. So they also go together: at the
end, Optuna searches a continuous space, and lingape says which of its best trials really is best.
Needs pip install ".[examples]", and takes some minutes; with --seeds 1 --epsilon 0.05, seconds.
"""

import argparse
from collections.abc import Callable

import numpy as np
import optuna

from lingape import Bounded, Certificate, Factors, Normal, Problem, Race

FEW = 60  # trials, for a search that has to be short
SPACE = Factors(
    rate=[0.05, 0.2, 0.8, 3.2],
    width=[4, 12, 36],
    dropout=[0.0, 0.2, 0.5],
    per_arm=True,  # settings of nets depend on each other, so none are assumed to add up
)


def train(
    rng: np.random.Generator, rate: float, width: int, dropout: float, nets: int = 1
) -> np.ndarray:
    """Return the accuracies of nets, each with its own data and initial weights.

    They have one hidden layer, and learn to tell two moons apart from 60 points, in 40 steps of
    gradient descent with momentum. 200 other points say how well they do.
    """
    label = rng.integers(2, size=(nets, 260, 1))
    angle = rng.uniform(0, np.pi, size=label.shape)
    across = np.where(label, 1 - np.cos(angle), np.cos(angle))
    up = np.where(label, 0.5 - np.sin(angle), np.sin(angle))
    points = np.concatenate([across, up, np.ones(label.shape)], axis=2)
    points[..., :2] += rng.normal(scale=0.25, size=(nets, 260, 2))
    seen, truth = points[:, :60], label[:, :60]
    inner = rng.normal(size=(nets, 3, width))
    outer = rng.normal(size=(nets, width, 1)) / np.sqrt(width)
    inner_speed, outer_speed = np.zeros(inner.shape), np.zeros(outer.shape)
    for _ in range(40):
        hidden = np.tanh(seen @ inner)
        kept = (rng.random(hidden.shape) >= dropout) / (1 - dropout)
        chance = (1 + np.tanh((hidden * kept) @ outer / 2)) / 2
        error = (chance - truth) / 60
        back = (error @ outer.swapaxes(1, 2)) * kept * (1 - hidden**2)
        outer_speed = 0.9 * outer_speed - rate * (hidden * kept).swapaxes(1, 2) @ error
        inner_speed = 0.9 * inner_speed - rate * seen.swapaxes(1, 2) @ back
        outer, inner = outer + outer_speed, inner + inner_speed
    right = (np.tanh(points[:, 60:] @ inner) @ outer > 0) == label[:, 60:]
    return right.mean(axis=(1, 2))


def search(
    problem: Problem, trial: Callable[[int], float], most: float = np.inf
) -> tuple[Certificate, int]:
    """Try settings until one is proven best, or `most` times; return what is known, and trials."""
    explorer = Race(problem)
    trials = 0
    while not explorer.done and trials < most:
        arm = explorer.ask()
        explorer.tell(arm, trial(arm))
        trials += 1
    return explorer.certificate(), trials


def with_optuna(
    sampler: optuna.samplers.BaseSampler, trial: Callable[[int], float], trials: int
) -> tuple[int, int]:
    """Return the settings of Optuna's best trial, and those with the best average."""
    results: list[list[float]] = [[] for _ in range(len(SPACE))]

    def objective(suggest: optuna.Trial) -> float:
        levels = {
            one.name: suggest.suggest_categorical(one.name, one.levels) for one in SPACE.factors
        }
        arm = SPACE.arm(**levels)
        results[arm].append(trial(arm))
        return results[arm][-1]

    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=trials)
    averages = [np.mean(one) if one else 0.0 for one in results]
    return SPACE.arm(**study.best_params), int(np.argmax(averages))


def compare(epsilon: float, seeds: int, nets: int) -> None:
    """Print how often each way finds the best settings."""
    # A trial is the accuracy of one net. They are trained in advance, so that the truth is known
    # and many searches are quick: a trial then draws one of the nets with its settings.
    rng = np.random.default_rng(0)
    accuracies = np.array([train(rng, **one, nets=nets) for one in SPACE.combinations])
    truth = accuracies.mean(axis=1)
    best = int(truth.argmax())
    print(f"The best of {len(SPACE)} settings is {SPACE.names[best]}: {truth[best]:.3f} right.")

    # Accuracies of nets that learn scatter about equally, much like a bell curve. That they lie
    # between 0 and 1 is certain, but to assume no more takes more trials.
    normal = Problem(SPACE, noise=Normal(), epsilon=epsilon)
    bounded = Problem(SPACE, noise=Bounded(0, 1), epsilon=epsilon)
    found: dict[tuple[str, bool], list[tuple[int, int]]] = {}  # trials and answers

    for seed in range(seeds):
        draws = np.random.default_rng(seed)

        def trial(arm: int, draws: np.random.Generator = draws) -> float:
            return float(draws.choice(accuracies[arm]))

        def note(who: str, trials: int, answer: int) -> None:
            found.setdefault((who, trials == FEW), []).append((trials, answer))

        certificate, trials = search(normal, trial)
        note("lingape, proven", trials, certificate.arm)
        certificate, more = search(bounded, trial)
        note("lingape, proven, Bounded(0, 1)", more, certificate.arm)
        certificate, _ = search(normal, trial, most=FEW)
        note("lingape, not proven", FEW, certificate.arm)
        for budget in (trials, FEW):
            for name in ("TPESampler", "RandomSampler"):
                sampler = getattr(optuna.samplers, name)(seed=seed)
                by_trial, by_average = with_optuna(sampler, trial, budget)
                note(f"Optuna, {name}, best trial", budget, by_trial)
                note(f"Optuna, {name}, best average", budget, by_average)

    print(f"\n{'':37} trials  the best  within {epsilon}  lost on average")
    for (who, _), searches in sorted(found.items(), key=lambda item: item[0][1]):
        trials, answers = np.array(searches).T
        lost = truth[best] - truth[answers]
        print(
            f"{who:37} {trials.mean():>6,.0f} {np.mean(lost == 0):>9.0%} "
            f"{np.mean(lost <= epsilon):>12.0%} {lost.mean():>16.4f}"
        )


def after_a_study(epsilon: float) -> None:
    """Let Optuna search a continuous space, and find out which of its best trials is best."""
    rng = np.random.default_rng(0)

    def objective(suggest: optuna.Trial) -> float:
        rate = suggest.suggest_float("rate", 0.02, 5.0, log=True)
        width = suggest.suggest_int("width", 2, 40, log=True)
        dropout = suggest.suggest_float("dropout", 0.0, 0.5)
        return float(train(rng, rate, width, dropout)[0])

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=FEW)
    top = sorted(study.trials, key=lambda one: -one.value)[:5]
    problem = Problem(
        np.eye(len(top)),  # one feature for each
        names=[f"trial {one.number}" for one in top],
        noise=Normal(),
        epsilon=epsilon,
    )
    # The five were chosen for their results, which are too good on average, so these do not count.
    certificate, _ = search(problem, lambda arm: float(train(rng, **top[arm].params)[0]))
    print(f"\nThe best of {FEW} trials of Optuna in a continuous space, and which is really best:")
    for one in top:
        again = train(rng, **one.params, nets=200).mean()
        print(f"trial {one.number}: {one.value:.3f} right, and {again:.3f} in 200 trainings more")
    print(str(certificate).splitlines()[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epsilon", type=float, default=0.01, help="how close to the best")
    parser.add_argument("--seeds", type=int, default=20, help="how often to search")
    parser.add_argument(
        "--nets", type=int, default=200, help="nets to train for each of the settings"
    )
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    compare(chosen.epsilon, chosen.seeds, chosen.nets)
    after_a_study(chosen.epsilon)
