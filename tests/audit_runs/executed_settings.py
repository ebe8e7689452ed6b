"""Runs that executed their plan, and one whose optimiser was sent another learning rate."""

from executed_run import write_executed

FAULTS = {1}


def passing(path):
    return write_executed(path)


def failing(path, faulty):
    return write_executed(path, learning_rate=1e-4)
