-- The run format, version 1: one CREATE TABLE a table, one line a column, units in the comment.
-- NOT NULL columns must be in every file; the others may be absent, and what needs them is then inconclusive.
-- `arm` and `seed` are read from the path (arm=<arm>/seed=<seed>/) and are not stored in the files.

-- One row a loss token an update: a sampled completion token that was sent to the loss, zero advantage included.
-- Written by `audit run`; one file an arm, seed and step.
CREATE TABLE tokens (
    step INTEGER NOT NULL, -- rollout step, 0-based
    "update" TINYINT NOT NULL, -- minibatch update inside the rollout batch, 0-based
    rollout_id INTEGER NOT NULL, -- which rollout of the step
    position INTEGER NOT NULL, -- place in the completion, 0-based
    token_id INTEGER NOT NULL, -- sampled token
    sampler_logprob FLOAT NOT NULL, -- nats, under the behaviour policy mu when it was sampled
    current_logprob FLOAT NOT NULL, -- nats, under the policy pi in this update's forward pass
    advantage FLOAT NOT NULL, -- what multiplied the ratio in the loss
    surprisal FLOAT, -- nats, -log of the sampled token's probability
    entropy FLOAT, -- nats, of the full vocabulary distribution
    value FLOAT -- critic's estimate of the return
);

-- One row a candidate of a loss token of an update: the sampled token and, of the others, those among the top_k that the
-- sampler held most probable. An optional table: only a loss with a top-k divergence needs it.
-- Written by `audit run` with a loss that has top_k; one file an arm, seed and step.
CREATE TABLE candidates (
    step INTEGER NOT NULL, -- rollout step, 0-based
    "update" TINYINT NOT NULL, -- minibatch update inside the rollout batch, 0-based
    rollout_id INTEGER NOT NULL, -- which rollout of the step
    position INTEGER NOT NULL, -- place in the completion, 0-based
    token_id INTEGER NOT NULL, -- the candidate; each once at a position
    is_sampled BOOLEAN NOT NULL, -- whether it is the sampled token; exactly one candidate of a position is
    sampler_logprob FLOAT NOT NULL, -- nats, under the behaviour policy mu at sampling
    current_logprob FLOAT NOT NULL, -- nats, under the policy pi in this update's forward pass
    advantage FLOAT NOT NULL -- of the loss token, the same for its candidates
);

-- One row a sampled completion. Written by `audit run` and `audit import`; one file an arm, seed and step.
CREATE TABLE rollouts (
    step INTEGER NOT NULL, -- rollout step, 0-based
    rollout_id INTEGER NOT NULL, -- unique inside the step
    group_id INTEGER NOT NULL, -- rollouts of one prompt in one step share it
    prompt_id VARCHAR, -- row of prompts
    reward DOUBLE NOT NULL, -- as the task's grader gave it
    advantage DOUBLE, -- reward minus the group's mean reward
    n_tokens INTEGER, -- completion tokens
    stop_reason VARCHAR, -- stop, length, or the service's own word
    sampler_version VARCHAR, -- which weights sampled it
    completion VARCHAR, -- text
    extracted VARCHAR, -- the answer that was graded, null where none was found
    gold VARCHAR, -- the right answer
    extraction VARCHAR -- how the answer was found
);

-- One row an optimiser step, as executed. Written by `audit run`; one file an arm, seed and step.
CREATE TABLE updates (
    step INTEGER NOT NULL, -- rollout step, 0-based
    "update" TINYINT NOT NULL, -- minibatch update inside the rollout batch, 0-based
    optim_step INTEGER NOT NULL, -- optimiser steps of this arm so far, this one included
    loss_id VARCHAR NOT NULL, -- key under losses in the plan
    loss_config VARCHAR NOT NULL, -- JSON of the loss as executed
    loss DOUBLE NOT NULL, -- value that was differentiated, summed over loss tokens
    n_loss_tokens INTEGER NOT NULL, -- tokens of this minibatch
    learning_rate DOUBLE NOT NULL, -- as sent to the service
    beta1 DOUBLE NOT NULL, -- as sent to the service
    beta2 DOUBLE NOT NULL, -- as sent to the service
    eps DOUBLE NOT NULL, -- as sent to the service
    weight_decay DOUBLE NOT NULL, -- as sent to the service
    grad_clip_norm DOUBLE NOT NULL, -- as sent to the service; 0: no clipping
    base_model VARCHAR NOT NULL, -- as the service reported it when the client was created
    seconds_forward_backward DOUBLE, -- wall time
    seconds_optim DOUBLE -- wall time
);

-- One row an item a sample of an evaluation. Written by `audit run` and `audit import`; one file an arm, seed and checkpoint.
CREATE TABLE evals (
    checkpoint VARCHAR NOT NULL, -- base, stepNNNNNN or final
    item_id VARCHAR NOT NULL, -- the same in all arms: the pairing key
    sample SMALLINT NOT NULL, -- 0-based sample of the item
    score DOUBLE, -- 0 to 1; null only where error says why
    correct BOOLEAN, -- as recorded
    extracted VARCHAR, -- the answer that was graded
    gold VARCHAR, -- the right answer
    completion VARCHAR, -- text
    extraction VARCHAR, -- how the answer was found
    stop_reason VARCHAR, -- stop, length, or the service's own word
    n_tokens INTEGER, -- completion tokens
    prompt_id VARCHAR, -- row of prompts
    error VARCHAR -- why there is no score
);

-- One row a phase of a step. Written by `audit run` and `audit import`; one file an arm, seed and step.
CREATE TABLE phases (
    step INTEGER NOT NULL, -- rollout step, 0-based; -1 for what belongs to no step
    phase VARCHAR NOT NULL, -- sample, estimate, measure, train, eval, checkpoint or preflight
    started_at TIMESTAMPTZ, -- UTC, local clock
    seconds DOUBLE NOT NULL -- wall time
);

-- One row a figure that another tool logged of a training step, under the name it gave it. An optional table: figures
-- that can be computed from the other tables are computed, and never read from here.
-- Written by `audit import`; one file an arm and seed.
CREATE TABLE scalars (
    step INTEGER NOT NULL, -- rollout step, 0-based, as the other tool counts
    name VARCHAR NOT NULL, -- the other tool's key
    value DOUBLE NOT NULL -- in whatever unit that tool has
);

-- One row a prompt. Written by `audit run` and `audit import`; one file for the run.
CREATE TABLE prompts (
    prompt_id VARCHAR NOT NULL, -- unique
    split VARCHAR NOT NULL, -- train, validation or test
    prompt_sha256 VARCHAR, -- of the rendered token ids
    question VARCHAR NOT NULL, -- text
    rendered VARCHAR, -- the prompt as the model saw it
    token_ids INTEGER[], -- the prompt as it was sent
    gold VARCHAR NOT NULL, -- the right answer
    template_sha256 VARCHAR -- of what surrounds the question
);

-- One row a state whose value was estimated by fresh rollouts: a token of a rollout, and what was expected before it.
-- An optional table: a plan with an advantage_measurement has it.
-- Written by `audit run`; one file an arm, seed and measured step.
CREATE TABLE state_values (
    step INTEGER NOT NULL, -- rollout step, 0-based
    rollout_id INTEGER NOT NULL, -- which rollout of the step
    position INTEGER NOT NULL, -- the token whose advantage is measured; the state is what stands before it
    value DOUBLE, -- the critic's, before the batch trained it; null without a critic
    advantage DOUBLE NOT NULL, -- as estimated, before the normalisation
    update_advantage DOUBLE NOT NULL, -- what multiplied the ratio in the loss
    monte_carlo_value DOUBLE NOT NULL, -- mean reward of fresh completions of the state
    monte_carlo_value_error DOUBLE NOT NULL, -- its standard error
    monte_carlo_advantage DOUBLE NOT NULL, -- mean reward after the token, minus that before it
    monte_carlo_advantage_error DOUBLE NOT NULL, -- its standard error
    rollouts INTEGER NOT NULL -- fresh completions of the state, and as many after the token unless it is the last
);

-- One row a measured step: do the estimated and the Monte Carlo advantages of its measured states push the weights the
-- same way? An optional table beside state_values.
-- Written by `audit run`; one file an arm, seed and measured step.
CREATE TABLE update_directions (
    step INTEGER NOT NULL, -- rollout step, 0-based
    states INTEGER NOT NULL, -- measured states that the gradients are of
    estimated_norm DOUBLE NOT NULL, -- Euclidean norm of the gradient with the advantages that the update had
    monte_carlo_norm DOUBLE NOT NULL, -- with the Monte Carlo advantages
    sum_norm DOUBLE NOT NULL -- of the sum of both gradients: the cosine follows from the three
);
