"""Evaluations of distinct questions, and of questions that stand there twice."""

from asked_run import prompts, write_asked

FAULTS = {1, 500}


def passing(path):
    return write_asked(path, prompts([f"How much is {number}?" for number in range(1000)]))


def failing(path, faulty):
    asked = [f"How much is {number}?" for number in range(1000 - faulty)]
    return write_asked(path, prompts([*asked, *(f"how  much is {number}" for number in range(faulty))]))
