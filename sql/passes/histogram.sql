-- Exact pooled quantiles where a range holds too many values to be kept: counts in 4096 equal parts of it, -1 below it.
SELECT
    CASE
        WHEN value < {lowest} THEN -1
        WHEN value > {highest} THEN 4096
        ELSE least(4095, floor(4096 * ((value - {lowest}) / ({highest} - {lowest}))))::INTEGER
    END AS part,
    count(*) AS n,
    min(value) AS lowest,
    max(value) AS highest
FROM (SELECT seed, ({value})::DOUBLE AS value FROM {source} WHERE {where})
GROUP BY part
