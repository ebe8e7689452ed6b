-- Where time and tokens went: one row an arm, seed and phase. tokens: sampled completion tokens of rollouts (sample),
-- loss tokens summed over updates (train), completion tokens of evaluations (eval); null where none were logged.
WITH timed AS (
    SELECT arm, seed, phase, count(*) AS times, sum(seconds) AS seconds
    FROM phases
    GROUP BY arm, seed, phase
), counted AS (
    SELECT arm, seed, 'sample' AS phase, sum(n_tokens)::BIGINT AS tokens
    FROM rollouts
    GROUP BY arm, seed
    UNION ALL
    SELECT arm, seed, 'train', sum(n_loss_tokens)::BIGINT
    FROM updates
    GROUP BY arm, seed
    UNION ALL
    SELECT arm, seed, 'eval', sum(n_tokens)::BIGINT
    FROM evals
    GROUP BY arm, seed
)
SELECT
    arm, seed, phase,
    coalesce(times, 0) AS times,
    seconds,
    tokens,
    CASE WHEN seconds > 0 THEN tokens / seconds END AS tokens_per_second
FROM timed
FULL JOIN counted USING (arm, seed, phase)
