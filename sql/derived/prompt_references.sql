-- The prompts and golds that evaluations and rollouts name, each once with its number of rows.
SELECT 'evals' AS source, arm, seed, checkpoint, prompt_id, gold, count(*) AS n_rows
FROM evals
GROUP BY ALL
UNION ALL
SELECT 'rollouts', arm, seed, NULL, prompt_id, gold, count(*)
FROM rollouts
GROUP BY ALL
