"""Evaluations of questions that were never trained on, and of some that were."""

from asked_run import prompts, together, write_asked

FAULTS = {1, 500}
TRAINED = [f"What is the price of {number} apples, in words?" for number in range(40)]


def passing(path):
    return run_with(path, [f"How much is {number}?" for number in range(1000)])


def failing(path, faulty):
    copied = [f"What is the price of {number % 40} apples, in words?" for number in range(faulty)]
    return run_with(path, copied + [f"How much is {number}?" for number in range(1000 - faulty)])


def run_with(path, asked):
    columns = together(prompts(asked), prompts(TRAINED, split="train"))
    return write_asked(path, columns, sampled=[f"train-{number:03d}" for number in range(40)])
