"""Evaluations that name their prompts, and some that carry another prompt's gold."""

from asked_run import answers, prompts, write_asked

FAULTS = {1, 500}
ASKED = prompts([f"How much is {number}?" for number in range(1000)])


def passing(path):
    return write_asked(path, ASKED)


def failing(path, faulty):
    wrong = answers(1000, gold=["2"] * faulty + ["1"] * (1000 - faulty))
    return write_asked(path, ASKED, outcomes={"baseline": [answers(1000)], "treatment": [wrong]})
