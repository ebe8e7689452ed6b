-- From the partials of all files to a metric's figures: all rows together (depth 0), each seed (1), each step (2).
SELECT
    CASE GROUPING(seed, step) WHEN 3 THEN 0 WHEN 1 THEN 1 ELSE 2 END AS depth,
    seed, step{by_update},
    {columns}
FROM (SELECT seed, step{by_update}, n_rows, invalid, {held} FROM partials WHERE {rows})
GROUP BY GROUPING SETS ((seed, step{by_update}), (seed), ())
ORDER BY ALL NULLS FIRST
