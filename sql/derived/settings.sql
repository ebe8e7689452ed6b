-- Settings that the logs show: one row a setting, arm, seed and value that occurs. `relation` is `at most` where the
-- log gives only a bound; `planned` stands where another log says what the value should be.
WITH batches AS (
    SELECT arm, seed, step, count(DISTINCT optim_step) AS n_updates, sum(n_loss_tokens) AS n_loss_tokens
    FROM updates
    GROUP BY arm, seed, step
), groups AS (
    SELECT arm, seed, step, group_id, count(*) AS size
    FROM rollouts
    GROUP BY arm, seed, step, group_id
), sampled AS (
    SELECT
        arm, seed, step,
        count(DISTINCT group_id) AS n_groups,
        sum(n_tokens) AS n_tokens
    FROM rollouts
    GROUP BY arm, seed, step
), evaluated AS (
    SELECT * FROM evals WHERE checkpoint IN ('base', 'final')
), items AS (
    SELECT arm, seed, item_id, count(DISTINCT sample) AS n_samples
    FROM evaluated
    GROUP BY arm, seed, item_id
), lengths AS (
    SELECT
        'rollout.max_tokens' AS setting, 'rollouts' AS source, arm, seed,
        max(n_tokens) AS longest, max(n_tokens) FILTER (WHERE stop_reason = 'length') AS cut
    FROM rollouts
    GROUP BY arm, seed
    UNION ALL
    SELECT
        'evaluation.max_tokens', 'evals', arm, seed,
        max(n_tokens), max(n_tokens) FILTER (WHERE stop_reason = 'length')
    FROM evaluated
    GROUP BY arm, seed
), sent AS (
    UNPIVOT (
        SELECT arm, seed, learning_rate, beta1, beta2, eps, weight_decay, grad_clip_norm FROM updates
    ) ON learning_rate, beta1, beta2, eps, weight_decay, grad_clip_norm INTO NAME name VALUE value
), seen AS (
    SELECT 'arms' AS setting, arm, seed, 'run' AS value, NULL AS planned, 'updates and evals' AS source
    FROM (SELECT arm, seed FROM updates UNION SELECT arm, seed FROM evals WHERE arm <> 'base')
    UNION
    SELECT 'rollout.rollout_batches', arm, seed, count(*)::VARCHAR, NULL, 'updates' FROM batches GROUP BY arm, seed
    UNION
    SELECT 'rollout.rollout_batches', arm, seed, count(*)::VARCHAR, NULL, 'rollouts'
    FROM sampled WHERE NOT EXISTS (FROM updates) GROUP BY arm, seed
    UNION
    SELECT 'rollout.updates_per_batch', arm, seed, n_updates::VARCHAR, NULL, 'updates' FROM batches
    UNION
    SELECT 'rollout.group_size', arm, seed, size::VARCHAR, NULL, 'rollouts' FROM groups
    UNION
    SELECT 'rollout.groups_per_batch', arm, seed, n_groups::VARCHAR, NULL, 'rollouts' FROM sampled
    UNION
    SELECT 'optimizer.' || name, arm, seed, value::VARCHAR, NULL, 'updates' FROM sent
    UNION
    SELECT 'base_model', arm, seed, base_model, NULL, 'updates' FROM updates
    UNION
    SELECT 'arms.loss', arm, seed, loss_id, NULL, 'updates' FROM updates
    UNION
    SELECT 'losses.' || loss_id, arm, seed, loss_config, NULL, 'updates' FROM updates
    UNION
    SELECT
        'loss tokens', arm, seed, sum(n_loss_tokens)::BIGINT::VARCHAR, sum(n_tokens)::BIGINT::VARCHAR,
        'updates against rollouts'
    FROM batches JOIN sampled USING (arm, seed, step) GROUP BY arm, seed
    UNION
    SELECT 'evaluation.samples_per_item', arm, seed, n_samples::VARCHAR, NULL, 'evals' FROM items
    UNION
    SELECT 'evaluation.items', arm, seed, count(*)::VARCHAR, NULL, 'evals' FROM items GROUP BY arm, seed
    UNION
    SELECT 'evaluation.split', evaluated.arm, evaluated.seed, split, NULL, 'evals and prompts'
    FROM evaluated JOIN prompts USING (prompt_id)
    UNION
    SELECT 'task.' || split || '_items', NULL, NULL, count(DISTINCT prompt_id)::VARCHAR, NULL, 'prompts'
    FROM prompts GROUP BY split
)
SELECT setting, arm, seed, value, planned, 'equal' AS relation, source FROM seen
UNION ALL
SELECT setting, arm, seed, cut::VARCHAR, NULL, 'equal', source || ' stopped at the cap'
FROM lengths WHERE cut IS NOT NULL
UNION ALL
SELECT setting, arm, seed, longest::VARCHAR, NULL, 'at most', source || ', the longest completion'
FROM lengths WHERE cut IS NULL AND longest IS NOT NULL
ORDER BY ALL
