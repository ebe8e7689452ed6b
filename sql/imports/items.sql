-- How many items the rows hold, and how many rows have an empty id.
SELECT count(DISTINCT item_id) AS items, count(*) FILTER (WHERE item_id = '') AS without_id
FROM rows
