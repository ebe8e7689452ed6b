-- One row an arm and item: the mean of its final scores over seeds and samples, without a value where one has no score.
SELECT
    arm, item_id, count(*) AS samples,
    CASE WHEN count(*) FILTER (WHERE score IS NULL OR NOT isfinite(score)) = 0 THEN avg(score) END AS score
FROM evals
WHERE checkpoint = 'final'
GROUP BY arm, item_id
