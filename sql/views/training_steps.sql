-- Training as it was logged: one row an arm, seed and step; a figure whose table was not logged is null, one of numbers
-- that are not finite is no number. Surprisal is -log of the sampled token's probability, not the distribution's entropy.
-- It is summed in decimals, which are exact: the order in which threads read the rows leaves no trace in the last bit.
WITH of_rollouts AS (
    SELECT
        arm, seed, step,
        count(*) AS rollouts,
        avg(reward ORDER BY rollout_id) AS mean_reward,
        avg(n_tokens) AS completion_tokens,
        count(*) FILTER (WHERE stop_reason = 'length') / count(*) AS truncated_share
    FROM rollouts
    GROUP BY arm, seed, step
), of_groups AS (
    SELECT
        arm, seed, step,
        count(*) AS reward_groups,
        CASE
            WHEN bool_and(is_valid) THEN count(*) FILTER (WHERE lowest_reward = highest_reward) / count(*)
            ELSE 'NaN'::DOUBLE
        END AS one_reward_share
    FROM reward_groups
    GROUP BY arm, seed, step
), surprisals AS (
    SELECT arm, seed, step, TRY_CAST(-sampler_logprob::DOUBLE AS DECIMAL(18, 9)) AS surprisal
    FROM tokens
), of_tokens AS (
    SELECT
        arm, seed, step,
        count(*) AS loss_tokens,
        CASE WHEN count(surprisal) = count(*) THEN avg(surprisal) ELSE 'NaN'::DOUBLE END AS sampled_surprisal
    FROM surprisals
    GROUP BY arm, seed, step
)
SELECT
    arm, seed, step,
    rollouts, mean_reward, completion_tokens, truncated_share,
    reward_groups, one_reward_share,
    loss_tokens, sampled_surprisal
FROM of_rollouts
LEFT JOIN of_groups USING (arm, seed, step)
FULL JOIN of_tokens USING (arm, seed, step)
