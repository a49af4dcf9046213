"""Which of 24 prompts makes a model answer right most often? An evaluation with inspect-ai.

Four workers, each a process that runs evaluations of its own, share an experiment in a file. The
model is simulated, so that this runs offline, and sees nothing but the text of a prompt. To ask a
real one, set MODEL to its name. Needs pip install ".[examples]", and takes a minute or two.
"""

import argparse
import math
import multiprocessing
import random
import re
import tempfile

import numpy as np
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.scorer import match, value_to_float
from inspect_ai.solver import generate
from inspect_ai.tool import ToolChoice, ToolInfo

from lingape import Experiment, ExplorationOver, Factors, Problem, Race, Uniform, ZeroOne, run

MODEL = "simulated/adder"

# What varies. The effects are assumed to add up; experiment.check() says if they do not seem to.
FACTORS = Factors(
    role=["none", "expert"],
    examples=[0, 1, 3],
    reasoning=["direct", "steps"],
    form=["free", "last line"],
)
ITEMS = [(a, b) for a in (4, 7, 38, 56, 207, 981) for b in (3, 9, 26, 71, 465, 830)]


def write(item: tuple[int, int], role: str, examples: int, reasoning: str, form: str) -> str:
    """Return a prompt about an item."""
    parts = [
        "You are a careful accountant." if role == "expert" else "",
        *("Q: 20 + 3? A: 23", "Q: 4 + 9? A: 13", "Q: 51 + 60? A: 111")[:examples],
        "Think step by step." if reasoning == "steps" else "",
        "End with a line that has only the number." if form == "last line" else "",
        f"What is {item[0]} + {item[1]}?",
    ]
    return "\n".join(part for part in parts if part)


def chance(prompt: str) -> float:
    """Return how likely the simulated model is to answer right."""
    hard = (len(re.search(r"is (\d+)", prompt)[1]) - 1) / 2  # from one digit, 0, to three, 1
    return (
        (0.5 - 0.4 * hard)
        + 0.05 * ("accountant" in prompt)
        + {0: 0, 1: 0.15, 3: 0.2}[prompt.count("Q:")]
        + (0.1 + 0.3 * hard) * ("step by step" in prompt)  # helps most where it is hard
        + 0.15 * ("only the number" in prompt)
    )


@modelapi("simulated")
class Simulated(ModelAPI):
    """A model that adds numbers, at times wrongly."""

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        prompt = input[-1].text
        first, second = map(int, re.search(r"is (\d+) \+ (\d+)", prompt).groups())
        wrong = random.random() >= chance(prompt)
        return ModelOutput.from_content(self.model_name, f"It is\n{first + second + wrong}")


def work(url: str, worker: str, batch: int) -> None:
    """Ask for prompts, evaluate them and tell the scores, until the question is answered.

    batch: how many samples an evaluation has. Each takes a while to start, but the more calls are
        under way, the less is known when choosing the next.
    """
    reward = value_to_float()
    with Experiment.open(url, "prompts") as experiment:
        while True:
            try:
                tickets = experiment.ask(batch, worker=worker, ttl="10m")
            except ExplorationOver:
                return
            samples = []
            for ticket in tickets:
                # Each trial draws its item, so that a prompt's average reward is its average
                # over all items, whichever it happened to be tried on.
                item = random.choice(ITEMS)
                prompt = write(item, **FACTORS.combinations[ticket.arm])
                samples.append(Sample(id=ticket.id, input=prompt, target=str(sum(item))))
            task = Task(samples, solver=generate(), scorer=match(numeric=True))
            with tempfile.TemporaryDirectory() as logs:
                (log,) = eval(task, model=MODEL, display="none", log_dir=logs)
                if log.status != "success":
                    raise RuntimeError(log.error)
                for sample in log.samples:
                    experiment.tell(sample.id, reward(sample.scores["match"].value))


def explore(problem: Problem, url: str, workers: int, batch: int) -> int:
    """Find the best prompt, print what was learnt, and return how many calls that took."""
    with Experiment.open(url, "prompts", create=problem) as experiment:
        # Processes, because inspect-ai runs only one evaluation at a time in each.
        context = multiprocessing.get_context("spawn")
        crew = [
            context.Process(target=work, args=(url, f"worker-{i}", batch)) for i in range(workers)
        ]
        for process in crew:
            process.start()
        for process in crew:
            process.join()
        if any(process.exitcode for process in crew):
            raise SystemExit("A worker failed, as said above.")
        certificate = experiment.certificate()
        (value,) = experiment.values().arms([certificate.arm])
        print(f"{certificate.statement}\n\nIts chance of a right answer: {value}\n")
        print(f"{experiment.effects()}\n\n{experiment.check()}\n")
        return experiment.status().pulls  # with those under way when it was settled


def compare(problem: Problem, calls: int, runs: int) -> None:
    """Print how many calls other ways take, in a simulation with the same chances."""
    count, epsilon, delta = len(problem), problem.epsilon, problem.delta
    means = np.array(
        [np.mean([chance(write(item, **one)) for item in ITEMS]) for one in FACTORS.combinations]
    )

    def simulated(explorer: type[Race | Uniform], factors: Factors) -> float:
        """Return how many calls an explorer takes on average."""
        same = Problem(factors, noise="binary", epsilon=epsilon, delta=delta)
        world = ZeroOne(same.arms, theta=np.linalg.lstsq(same.arms, means)[0])
        results = [run(explorer(same), world, seed=seed, lane="plain") for seed in range(runs)]
        return float(np.mean([result.pulls for result in results]))

    # Of two prompts with n calls each, one that is worse by ε has the higher average with
    # probability at most exp(-nε²), by Hoeffding's inequality.
    each = math.ceil(math.log((count - 1) / delta) / epsilon**2)
    per_prompt = FACTORS.model(per_arm=True)
    print(f"Calls for a prompt within {epsilon} of the best with probability {1 - delta:.0%}")
    for name, needed in (
        ("if the effects of factors add up:", None),
        ("  lingape, this evaluation", calls),
        (f"  lingape, one call at a time, {runs} simulations", simulated(Race, FACTORS)),
        (f"  full grid until proven, {runs} simulations", simulated(Uniform, FACTORS)),
        ("if nothing is assumed about factors:", None),
        (f"  lingape, one call at a time, {runs} simulations", simulated(Race, per_prompt)),
        ("  full grid of a size computed in advance", count * each),
    ):
        print(name if needed is None else f"{name:48}{needed:>7,.0f}")

    # Without a guarantee: as many calls, and the prompt with the highest average (or one of them).
    rng = np.random.default_rng(0)
    shape = 10_000, count
    right = rng.binomial(calls // count, means, size=shape)
    lost = means.max() - means[(right + 0.5 * rng.random(shape)).argmax(axis=1)]
    print(
        f"A full grid of {calls // count} calls of each prompt proves nothing; the prompt with "
        f"the highest average is within {epsilon} of the best in "
        f"{np.mean(lost < epsilon + 1e-9):.1%} of 10,000 simulations, and is the best in "
        f"{np.mean(lost < 1e-9):.1%}."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epsilon", type=float, default=0.1, help="how close to the best")
    parser.add_argument("--workers", type=int, default=4, help="processes that call the model")
    parser.add_argument("--batch", type=int, default=8, help="calls in each evaluation")
    parser.add_argument("--runs", type=int, default=10, help="simulations to compare with")
    chosen = parser.parse_args()
    problem = Problem(FACTORS, noise="binary", epsilon=chosen.epsilon, delta=0.05)
    print(FACTORS, "\n")
    with tempfile.TemporaryDirectory() as folder:
        calls = explore(problem, f"sqlite:///{folder}/run.db", chosen.workers, chosen.batch)
    compare(problem, calls, chosen.runs)
