-- Exact pooled quantiles over a batch of files: how many values lie below a range, and the values inside it.
SELECT
    seed,
    count(*) AS n,
    count(*) FILTER (WHERE value < {lowest}) AS n_below,
    list(value) FILTER (WHERE value BETWEEN {lowest} AND {highest}) AS inside
FROM (SELECT seed, ({value})::DOUBLE AS value FROM {source} WHERE {where})
GROUP BY seed
