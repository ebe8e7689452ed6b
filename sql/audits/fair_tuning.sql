-- What is unequal or unfinished in how the arms' learning rates were tuned.
-- rows:
WITH contrast AS (
    SELECT *
    FROM derived_tuning
    WHERE role IN ('baseline', 'treatment')
        OR NOT EXISTS (FROM derived_tuning WHERE role IN ('baseline', 'treatment'))
), grids AS (
    SELECT
        condition, results,
        count(*) FILTER (WHERE in_grid) AS n_rates,
        min(learning_rate) FILTER (WHERE in_grid) AS lowest,
        max(learning_rate) FILTER (WHERE in_grid) AS highest,
        string_agg(learning_rate, ' ' ORDER BY learning_rate) FILTER (WHERE in_grid) AS grid,
        string_agg(learning_rate, ' ' ORDER BY learning_rate) FILTER (WHERE used) AS used_rates
    FROM contrast
    GROUP BY condition, results
), run AS (
    SELECT
        max(n_rates) AS n_rates, any_value(results) AS results,
        count(DISTINCT coalesce(grid, 'none')) AS n_grids,
        string_agg(condition || ': ' || coalesce(grid, 'none'), '; ' ORDER BY condition) AS all_grids,
        string_agg(condition || ': ' || used_rates, '; ' ORDER BY condition) AS all_used
    FROM grids
), best AS (
    SELECT condition, learning_rate, score
    FROM contrast
    WHERE in_grid AND eligible AND score IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY condition ORDER BY score DESC, learning_rate) = 1
), budgets AS (
    SELECT
        learning_rate, count(DISTINCT (seeds, items)) AS n_budgets, max(seeds) AS most_seeds,
        string_agg(format('{}: seeds {}, items {}', condition, seeds, items), '; ' ORDER BY condition) AS said
    FROM contrast
    WHERE in_grid
    GROUP BY learning_rate
)
SELECT
    'untuned rate' AS fault, 'warn' AS severity, NULL AS arm, NULL AS learning_rate,
    'the rate in use was chosen by no grid of the plan (' || all_used || '): the comparison holds at this rate alone'
    AS detail
FROM run WHERE n_rates = 0
UNION ALL
SELECT 'grid of one rate', 'warn', condition, lowest, 'one rate is no choice: the comparison holds at this rate alone'
FROM grids WHERE n_rates = 1
UNION ALL
SELECT 'unequal grids', 'fail', NULL, NULL, all_grids
FROM run WHERE n_grids > 1
UNION ALL
SELECT 'rate not in grid', 'fail', condition, learning_rate, 'in use, and not in the grid ' || grid
FROM contrast JOIN grids USING (condition)
WHERE used AND NOT in_grid AND n_rates > 0
UNION ALL
SELECT
    'rate on the edge', CASE grids.results WHEN 'held' THEN 'fail' ELSE 'warn' END, condition, learning_rate,
    'in use, and an end of the grid ' || grid
FROM contrast JOIN grids USING (condition)
WHERE used AND n_rates > 1 AND learning_rate IN (lowest, highest)
UNION ALL
SELECT
    'best on the edge', 'fail', condition, learning_rate,
    format('this arm''s best score {:.3f} is at an end of the grid {}', score, grid)
FROM best JOIN grids USING (condition)
WHERE n_rates > 1 AND learning_rate IN (lowest, highest)
UNION ALL
SELECT DISTINCT
    'not the chosen rate', 'fail', condition, learning_rate,
    'in use; the sweep chose ' || coalesce(chosen::VARCHAR, 'none')
FROM contrast
WHERE used AND results = 'held' AND learning_rate IS DISTINCT FROM chosen
UNION ALL
SELECT 'unequal budget', 'fail', NULL, learning_rate, said
FROM budgets, run
WHERE results = 'held' AND n_budgets > 1
UNION ALL
SELECT 'not scored', 'inconclusive', NULL, learning_rate, 'sweep.json has no score at this rate'
FROM budgets, run
WHERE results = 'held' AND most_seeds = 0
UNION ALL
SELECT DISTINCT 'not on validation', 'fail', NULL, NULL, 'sweep.json was scored on ' || split
FROM contrast
WHERE results = 'held' AND split <> 'validation'
UNION ALL
SELECT
    'no results', 'inconclusive', NULL, NULL,
    CASE results
        WHEN 'absent' THEN 'the run directory holds no sweep.json, so nobody can say which rate was best'
        ELSE 'sweep.json is of a plan that is neither this one nor the one it supersedes'
    END
FROM run
WHERE n_rates > 1 AND results <> 'held'
ORDER BY ALL
-- notes:
SELECT
    condition || ': ' || string_agg(
        learning_rate || CASE WHEN used THEN ' (in use)' ELSE '' END
        || CASE WHEN score IS NULL THEN '' ELSE format(' scores {:.3f} (items: {:,})', score, items) END,
        ', ' ORDER BY learning_rate
    )
FROM derived_tuning
GROUP BY condition
ORDER BY condition
