"""Runs whose sampler and trainer have one temperature, and in which the sampler's values are scaled by another."""

from made_logprobs import write_sequences
from scaled_logprobs import scaled_sequences

FAULTS = {1}


def passing(path):
    return write_sequences(path)


def failing(path, faulty):
    def scale(arm, step, made):
        if arm == "dppo":
            made.update(scaled_sequences(0.7, step))

    return write_sequences(path, scale)
