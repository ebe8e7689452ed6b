-- Length and end of each evaluated sample and each rollout, with its score. says_cut: by its stop reason.
WITH completions AS (
    SELECT
        'evals' AS source, arm, seed, checkpoint, NULL::INTEGER AS step, item_id AS id, sample,
        n_tokens, lower(stop_reason) AS stop_reason,
        coalesce(score, correct::INTEGER)::DOUBLE AS score,
        nullif(trim(error), '') IS NOT NULL AS failed
    FROM evals
    UNION ALL
    SELECT 'rollouts', arm, seed, NULL, step, rollout_id::VARCHAR, NULL, n_tokens, lower(stop_reason), reward, false
    FROM rollouts
)
SELECT
    *,
    stop_reason IN ('length', 'max_tokens', 'max_length', 'max_new_tokens', 'model_length', 'truncated') AS says_cut
FROM completions
