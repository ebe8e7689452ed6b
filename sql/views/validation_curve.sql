-- Points of the mid-run curve, on validation items: one row an arm, seed and rollout step; the base model is step 0 of arm base.
WITH items AS (
    SELECT
        arm, seed, checkpoint[5:]::INTEGER AS step, item_id,
        count(*) AS samples,
        count(*) FILTER (WHERE score IS NULL OR NOT isfinite(score)) AS unscored,
        avg(score) AS score
    FROM evals
    WHERE regexp_full_match(checkpoint, 'step[0-9]{6}')
    GROUP BY arm, seed, checkpoint, item_id
)
SELECT
    arm, seed, step,
    count(*) AS items,
    max(samples) AS samples_per_item,
    sum(unscored)::BIGINT AS unscored,
    bool_and(score IN (0, 1)) AS right_or_wrong,
    CASE WHEN sum(unscored) = 0 THEN avg(score) END AS score
FROM items
GROUP BY arm, seed, step
