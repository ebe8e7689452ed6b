-- Every loss token of an update, sequence by sequence, with the prompt that stood before it where the run holds it.
SELECT
    t.arm, t.seed, t.step, t."update", t.rollout_id, t.position, t.token_id,
    t.sampler_logprob, t.current_logprob, t.advantage, t.entropy,
    CASE WHEN t.position = 0 THEN prompts.token_ids END AS prompt_ids
FROM tokens AS t
LEFT JOIN (SELECT arm, seed, step, rollout_id, any_value(prompt_id) AS prompt_id FROM rollouts GROUP BY ALL) AS r
    USING (arm, seed, step, rollout_id)
LEFT JOIN prompts USING (prompt_id)
ORDER BY t.arm, t.seed, t.step, t."update", t.rollout_id, t.position
