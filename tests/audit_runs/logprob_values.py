"""Runs whose loss tokens have sound numbers, and in which some of 1,000 tokens do not."""

import math

from made_logprobs import write_sequences

FAULTS = {1, 500}


def passing(path):
    return write_sequences(path, n_rollouts=100, length=10, steps=1)


def failing(path, faulty):
    def pad(arm, step, made):
        if arm == "dppo":
            made["sampler"].flat[:faulty] = 0.0
            made["current"].flat[:faulty] = -2.0
            made["current"].flat[: faulty // 2] = math.nan

    return write_sequences(path, pad, n_rollouts=100, length=10, steps=1)
