-- The most by which a figure moves where each log-probability moves by as much as its rounding may have taken.
SELECT avg(moved)
FROM (SELECT {moves} AS moved FROM {source} WHERE {where} GROUP BY {keys})
