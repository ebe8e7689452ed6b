-- Every evaluated sample under the columns of samples_df of inspect_ai 0.3.285; what a run does not hold is null.
SELECT
    arm || '/' || seed || '/' || checkpoint || '/' || item_id || '/' || (sample + 1) AS sample_id,
    arm || '/' || seed || '/' || checkpoint AS eval_id,
    NULL AS log,
    item_id AS id,
    sample + 1 AS epoch,
    question AS input,
    NULL AS choices,
    coalesce(evals.gold, prompts.gold) AS target,
    NULL AS description,
    score AS score_recorded,
    NULL AS model_usage, NULL AS total_tokens, NULL AS total_time, NULL AS working_time, NULL AS message_count,
    NULL AS turn_count, NULL AS token_limit_usage,
    error,
    NULL AS "limit", NULL AS limit_reason, NULL AS retries, NULL AS fallbacks
FROM evals
LEFT JOIN prompts USING (prompt_id)
ORDER BY arm, seed, checkpoint, item_id, sample
