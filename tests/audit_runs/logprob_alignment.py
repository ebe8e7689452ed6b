"""Runs whose log-probabilities of sampler and trainer are aligned, and shifted by a token."""

import numpy as np
from made_logprobs import write_sequences

FAULTS = {1}


def passing(path):
    return write_sequences(path)


def failing(path, faulty):
    def shift(arm, step, made):
        if arm == "dppo":
            made["current"] = np.roll(made["current"], 1, axis=1)

    return write_sequences(path, shift)
