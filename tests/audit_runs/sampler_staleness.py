"""Runs that were sampled by new weights at each step, and in which a step was sampled by those of the step before."""

from made_logprobs import sequence_columns, sequence_rollouts, sequences
from made_run import write_run

FAULTS = {1}


def passing(path):
    return failing(path, 0)


def failing(path, faulty):
    def rollouts_of(arm, seed, step):
        made = sequences(step)
        version = step - 1 if arm == "dppo" and faulty and step == 2 else step
        return sequence_rollouts(step, made, sampler_version=[f"optim_step={2 * version}"] * len(made["sampler"]))

    return write_run(
        path,
        steps=4,
        tokens_of=lambda arm, seed, step: sequence_columns(step, sequences(step)),
        rollouts_of=rollouts_of,
    )
