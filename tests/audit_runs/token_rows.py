"""Runs whose token rows are their completions, and in which some of 1,000 rollouts have a token row too few."""

from made_logprobs import sequence_columns, sequence_rollouts, sequences
from made_run import updates, write_run

FAULTS = {1, 500}
N_ROLLOUTS = 1000


def passing(path):
    return failing(path, 0)


def failing(path, faulty):
    made = sequences(n_rollouts=N_ROLLOUTS, length=3)

    def tokens_of(arm, seed, step):
        columns = sequence_columns(step, made)
        rows = zip(columns["rollout_id"], columns["position"], strict=True)
        kept = [not (arm == "dppo" and rollout_id < faulty and position == 1) for rollout_id, position in rows]
        return {
            name: [value for value, keep in zip(values, kept, strict=True) if keep] for name, values in columns.items()
        }

    return write_run(
        path,
        steps=1,
        tokens_of=tokens_of,
        rollouts_of=lambda arm, seed, step: sequence_rollouts(step, made),
        updates_of=lambda arm, seed, step: updates(step, n=1) | {"n_loss_tokens": [3 * N_ROLLOUTS]},
    )
