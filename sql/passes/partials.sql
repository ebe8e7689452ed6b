-- One scan over a batch of files: the partials of every metric that reads this source, by arm, seed and step.
SELECT
    arm, seed, step,{by_update}
    count(*) AS n_rows,
    count(*) FILTER (WHERE {invalid}) AS invalid{columns}
FROM {source}
WHERE {where}
GROUP BY ALL
