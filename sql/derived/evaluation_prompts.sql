-- One row an evaluated item of a checkpoint: how many samples it has, and its prompt's split and hash where logged.
SELECT arm, seed, checkpoint, item_id, prompt_id, split, prompt_sha256, count(*) AS n_samples
FROM evals
LEFT JOIN (
    SELECT prompt_id, min(split) AS split, min(prompt_sha256) AS prompt_sha256 FROM prompts GROUP BY prompt_id
) USING (prompt_id)
GROUP BY ALL
ORDER BY ALL
