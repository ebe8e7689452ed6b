-- Mean score of every evaluated checkpoint: one row an arm, seed and checkpoint. A stepNNNNNN is a point of the mid-run
-- curve, on validation items; step 0, the base model, is of arm base.
WITH items AS (
    SELECT
        arm, seed, checkpoint, item_id,
        count(*) FILTER (WHERE score IS NULL OR NOT isfinite(score)) AS unscored,
        avg(score) AS score
    FROM evals
    GROUP BY arm, seed, checkpoint, item_id
)
SELECT
    arm, seed, checkpoint,
    count(*) AS items,
    sum(unscored)::BIGINT AS unscored,
    bool_and(score IN (0, 1)) AS right_or_wrong,
    CASE WHEN sum(unscored) = 0 THEN avg(score) END AS score
FROM items
GROUP BY arm, seed, checkpoint
