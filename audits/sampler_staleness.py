"""Each batch was sampled by the weights that the last update left.

When the weights do not reach the sampler (a failed sync, a sleeping engine, a prefix cache), training goes on with
samples of an older policy, the importance ratio carries the difference, and what looks like drift inside a batch is
staleness. Public cases: huggingface/trl#5312 and #5313 (mean difference .015, from the third step on .201),
NVIDIA-NeMo/RL#4018 (a prefix cache up to 17 steps old), verl-project/verl#7904.

By `sampler_version`, where it was logged: a version that sampled an earlier step too (`version again`), or several in
one step. With a sealed plan that is a failure, since a plan of ours samples each batch anew; in an imported run it is a
warning, since asynchronous tools do so on purpose.

By the mean |current - sampler| at the first update, where both should be the same policy, of steps with 100 tokens:

- `jump`: above 5 times the median of up to 5 steps before, by more than 0.01 nats and 4 standard errors. The public
  case jumped by 13, and engines that only drift apart grew by 3 over a whole run (vllm-project/vime#64: .011 to .036).
  Below 0.01 nats a ratio is off by 1 %, less than what healthy engines differ by (.011 to .015).
- `grows`: the median of the last 3 steps is above 5 times the first two steps' and 0.01 nats more; a warning, since
  rounding grows as a policy sharpens (allenai/open-instruct#1473), and a failure above 0.1 nats, half of what the
  public case of staleness had.

A training run of one step, or without versions and first updates, has nothing to compare and is inconclusive. What it
cannot see: a sampler that is stale from the first step on by the same amount, and an update too small to change 1 %.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="each step was sampled by new weights, and sampler and trainer differ by no more than at the start",
    requires=("rollouts.sampler_version or tokens",),
    examines="derived_sampler_steps",
    mend="find why the weights did not reach the sampler at the listed step (sync, prefix cache, sleep mode), and "
    "train again from the checkpoint before it; an asynchronous design has to be stated as one",
    derived=("planned_groups", "sampler_steps"),
)
