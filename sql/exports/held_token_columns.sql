-- How many tokens have a value in the columns that another format may not carry.
SELECT count(surprisal) AS surprisal, count("value") AS "value"
FROM tokens
