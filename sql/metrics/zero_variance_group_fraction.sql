-- name: Groups with one reward: they carry no gradient
-- unit: share
-- definition: zero_variance_groups@log/groups
-- denominator: groups of rollouts
-- from: reward_groups
-- needs: rollouts.reward, rollouts.group_id
-- arm: all
-- over: mean_of_steps
-- sign: all right and all wrong count alike
-- zero advantage: such a group has nothing else
-- watch: rises by 0.2, in the gate too
-- warn above: 0.8
-- above means: nearly every group has one reward, so that its advantages are 0 and nothing is trained; with a mean reward near 0 the policy solves almost nothing yet, and neither arm can learn from it
-- if it moves: fewer prompts carry a gradient: they have become too easy or too hard for the policy
-- source: arXiv:2503.14476 (DAPO), section 3.2; with advantages centred on the group mean their gradient is 0
-- counted:
lowest_reward = highest_reward
-- candidates:
true
-- partials:
count(*) FILTER (WHERE {counted}) AS numerator,
count(*) AS denominator,
count(*) FILTER (WHERE {counted} AND highest_reward <= 0) AS without_reward
-- finish:
sum(numerator) / sum(denominator)
-- beside: share of groups in which no rollout got a reward above 0
sum(without_reward) / sum(denominator)
-- reach: distinct rewards in a group, where one alone counts
max(n_rewards)
