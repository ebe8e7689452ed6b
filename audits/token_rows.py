"""The token rows of a rollout are its whole completion, each token once, with the rollout's advantage.

Shares and quantiles over loss tokens say nothing of the training when tokens are missing, stand there twice or belong
to no rollout; a completion that was tokenised again has another length than what was sampled (rllm-org/rllm#816). An
advantage that differs from its rollout's was trained on something that the rewards do not give.

In each update in which a rollout has token rows: as many rows as `n_tokens`, positions 0 to n_tokens - 1 once each. An
update of more loss tokens (`updates.n_loss_tokens`) than that accounts for has rollouts that were not logged at all.
Rows that are missing and other advantages are failures where a plan is sealed, since a plan of ours sends whole
completions with one advantage each; in an imported run they are warnings, since tools mask tokens and shape advantages
by token. Token rows with a critic's `value` have advantages of their own, and so have those of a preference loss: they
are not compared. The tolerance of an
advantage is 1e-6 of it (float32 holds 7 digits), and 2e-4 more in an imported run (some tools write four decimals).

What it cannot see, where no updates were logged: a rollout without any token row, which a tool may leave out where its
group has one reward; their number is printed.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="a rollout's token rows are its whole completion, each token once, with the rollout's advantage",
    requires=("tokens", "rollouts.n_tokens"),
    examines="rollouts",
    mend="write the token log from what was sent to the loss: one row a completion token an update, with the sampled "
    "token ids, not from text that was tokenised again",
    derived=("planned_groups", "credits"),
)
