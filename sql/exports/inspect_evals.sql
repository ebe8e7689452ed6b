-- Every evaluation, with those columns of evals_df of inspect_ai 0.3.285 that a run fills. An evaluation with samples
-- that have no score has no headline score: the mean of the others would be another figure.
SELECT
    arm || '/' || seed || '/' || checkpoint AS eval_id,
    arm || '/' || seed AS model,
    checkpoint AS task_name,
    count(DISTINCT item_id) AS dataset_samples,
    max(sample) + 1 AS epochs,
    CASE WHEN count(*) FILTER (WHERE score IS NULL) = 0 THEN 'success' ELSE 'error' END AS status,
    count(*) AS total_samples,
    count(score) AS completed_samples,
    'recorded' AS score_headline_name,
    'mean' AS score_headline_metric,
    CASE WHEN count(score) = count(*) THEN avg(score) END AS score_headline_value
FROM evals
GROUP BY arm, seed, checkpoint
ORDER BY arm, seed, checkpoint
