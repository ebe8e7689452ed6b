-- Items of `rows` that `others` does not hold; `total` counts them all, `shared` those that both hold.
SELECT
    first.item_id,
    count(*) OVER () AS total,
    (SELECT count(DISTINCT item_id) FROM rows WHERE item_id IN (SELECT item_id FROM others)) AS shared
FROM (SELECT DISTINCT item_id FROM rows) AS first
ANTI JOIN others USING (item_id)
ORDER BY first.item_id
LIMIT 9
