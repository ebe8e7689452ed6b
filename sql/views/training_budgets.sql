-- What each training run was given, in both currencies: one row an arm and seed. sampled_tokens are the completions that
-- it trained on; those of evaluations and of the measurement of a critic are not among them.
WITH sampled AS (
    SELECT arm, seed, count(*) AS rollouts, sum(n_tokens)::BIGINT AS sampled_tokens
    FROM rollouts
    GROUP BY arm, seed
), updated AS (
    SELECT arm, seed, count(*) AS optimizer_updates, sum(n_loss_tokens)::BIGINT AS loss_tokens
    FROM updates
    GROUP BY arm, seed
)
SELECT arm, seed, rollouts, sampled_tokens, optimizer_updates, loss_tokens
FROM sampled
FULL JOIN updated USING (arm, seed)
