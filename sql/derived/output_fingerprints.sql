-- One row an arm, seed and what it wrote: its evaluated completions (base or final), and its token log after the first
-- batch. Equal fingerprints of as many rows: byte for byte the same.
WITH outputs AS (
    SELECT
        arm, seed, checkpoint, count(*) AS n,
        sum(hash(item_id, sample, completion)::HUGEINT) AS fingerprint,
        coalesce(
            sum(coalesce(n_tokens, ceil(length(completion) / 4)))
                FILTER (WHERE trim(completion, E' \t\r\n') <> coalesce(trim(gold, E' \t\r\n'), '')),
            0
        ) AS n_tokens
    FROM evals
    WHERE completion IS NOT NULL AND checkpoint IN ('base', 'final')
    GROUP BY arm, seed, checkpoint
), logs AS (
    SELECT
        arm, seed, count(*) AS n,
        sum(
            hash(step, "update", rollout_id, position, token_id, sampler_logprob, current_logprob)::HUGEINT
        ) AS fingerprint
    FROM tokens
    WHERE step > 0
    GROUP BY arm, seed
), trained AS (
    SELECT arm, seed, bool_or(learning_rate <> 0 AND moved) AS has_signal
    FROM updates
    LEFT JOIN (
        SELECT arm, seed, step, bool_or(advantage <> 0) AS moved FROM rollouts GROUP BY arm, seed, step
    ) USING (arm, seed, step)
    GROUP BY arm, seed
), fingerprints AS (
    SELECT 'outputs' AS kind, arm, seed, checkpoint = 'base' AS is_base, n, n_tokens, fingerprint FROM outputs
    UNION ALL
    SELECT 'training log', arm, seed, false, n, n, fingerprint FROM logs
)
SELECT kind, arm, seed, is_base, n, n_tokens::BIGINT AS n_tokens, fingerprint::VARCHAR AS fingerprint, has_signal
FROM fingerprints
LEFT JOIN trained USING (arm, seed)
ORDER BY ALL
