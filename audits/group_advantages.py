"""The advantages that were trained on follow from the rewards of each group.

A group-relative policy gradient compares a rollout with the others of its prompt: advantage = reward minus the mean
reward of its group. Centred over anything else (the whole batch, the prompt over all steps, every n-th rollout because
of interleaved samples), the advantage also carries how hard the prompt is, and hard prompts are pushed down whatever
was answered; divided by the group's standard deviation, easy and hard prompts weigh more than the plan says. Reward
curves and losses look healthy in both cases. Public cases: StarsfieldAI/R1-V#67, PrimeIntellect-ai/prime-rl#600,
areal-project/AReaL#1419, THUDM/slime#1414, PeterGriffinJin/Search-R1#88.

Scaling is a failure where a plan is sealed, since a plan of ours centres and nothing else, and a warning in an imported
run, since several tools divide by the standard deviation by default (TRL). Everything else is a failure in any run; who
centres over the batch on purpose (REINFORCE++) waives it.

Tolerance: 1e-6 of the largest reward or advantage of the group (advantages may have been stored as float32, which holds
7 digits); an imported run gets 2e-4 more, because some tools write four decimals: 5e-5 for the advantage, as much for
the reward and its mean, and rounding.

An arm whose plan names a critic has an advantage a token and none a rollout: its groups are checked for their prompts
and their size only, and `audit critic` measures its advantages.

What it cannot see: whether the rewards are right, and whether the tokens were trained with these advantages (see
token_rows).
"""

from audits.derived.credits import planned_credits
from audits.engine.audit import Audit
from audits.store.reader import Run


def without_critic(run: Run) -> str | None:
    """Return why the audit does not apply: no arm is centred by group. None where one may be."""
    if set(planned_credits(run).values()) != {"critic"}:
        return None
    return "every arm's advantages come from a critic and none is centred by group: `audit critic` measures them"


AUDIT = Audit(
    title="each advantage is its reward minus the mean reward of its group",
    requires=("rollouts.advantage",),
    examines="reward_groups",
    mend="compute advantages anew from the rewards, within (step, group_id) and one prompt a group, and train again: "
    "what was trained on other advantages is another experiment",
    derived=("planned_groups", "credits"),
    applies=without_critic,
)
