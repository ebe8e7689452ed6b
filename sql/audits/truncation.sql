-- Completions and arms for which it matters that the token cap cut answers off: one row a completion, evaluation or contrast.
-- rows:
WITH lengths AS (
    SELECT
        l.*, caps.cap, caps.cut_is_wrong, arms.role,
        coalesce(says_cut, n_tokens >= cap) AS cut,
        coalesce(says_cut, n_tokens >= cap, false) AS is_cut,
        source || coalesce(' ' || checkpoint, '') AS place
    FROM derived_lengths AS l
    LEFT JOIN derived_token_caps AS caps USING (source, arm, seed)
    LEFT JOIN derived_arms AS arms USING (arm, seed)
    WHERE NOT failed
), finished AS (
    SELECT arm, seed, place, n_tokens, any_value(cap) AS cap, count(*) AS n
    FROM lengths
    WHERE NOT is_cut AND stop_reason IS NOT NULL AND n_tokens IS NOT NULL AND cap IS NOT NULL
    GROUP BY arm, seed, place, n_tokens
), piled AS (
    SELECT
        arm, seed, place, any_value(cap) AS cap, sum(n) AS n,
        coalesce(max(n) FILTER (WHERE n_tokens = cap), 0) AS at_cap,
        coalesce(max(n) FILTER (WHERE n_tokens <> cap), 0) AS elsewhere
    FROM finished
    GROUP BY arm, seed, place
), roles AS (
    SELECT
        role, count(*) AS n, avg(is_cut::INT) AS cut_share,
        avg(score) AS labelled,
        avg(CASE WHEN is_cut THEN 0 ELSE score END) AS cut_wrong,
        avg(score) FILTER (WHERE NOT is_cut) AS cut_excluded
    FROM lengths
    WHERE place = 'evals final' AND isfinite(score)
    GROUP BY role
), contrast AS (
    SELECT
        round(t.labelled - b.labelled, 12) AS labelled,
        round(t.cut_wrong - b.cut_wrong, 12) AS cut_wrong,
        round(t.cut_excluded - b.cut_excluded, 12) AS cut_excluded,
        t.cut_share AS treatment_cut, b.cut_share AS baseline_cut,
        (t.cut_share * t.n + b.cut_share * b.n) / (t.n + b.n) AS pooled,
        1 / t.n + 1 / b.n AS inverse_n
    FROM roles AS t
    JOIN roles AS b ON t.role = 'treatment' AND b.role = 'baseline'
)
SELECT 'beyond the cap' AS fault, 'fail' AS severity, arm, seed, place, step, id, sample,
    n_tokens || ' tokens, the cap is ' || cap AS detail
FROM lengths
WHERE n_tokens > cap
UNION ALL
SELECT 'cut below the cap', 'fail', arm, seed, place, step, id, sample,
    left(stop_reason, 40) || ' after ' || n_tokens || ' tokens, the cap is ' || cap
FROM lengths
WHERE is_cut AND n_tokens < cap
UNION ALL
SELECT 'right though cut', CASE WHEN cut_is_wrong THEN 'fail' ELSE 'warn' END, arm, seed, place, step, id, sample,
    'score ' || score || CASE WHEN cut_is_wrong THEN ', and the run''s grader takes no answer that was cut off' ELSE '' END
FROM lengths
WHERE is_cut AND score > 0 AND isfinite(score) AND source = 'evals'
UNION ALL
SELECT 'cut at several lengths', 'warn', arm, seed, place, NULL, NULL, NULL,
    'no cap is stated, and ' || count(*) || ' cut completions have ' || min(n_tokens) || ' to ' || max(n_tokens) || ' tokens'
FROM lengths
WHERE is_cut AND cap IS NULL
GROUP BY arm, seed, place
HAVING min(n_tokens) < max(n_tokens)
UNION ALL
SELECT 'lengths pile up at the cap', 'warn', arm, seed, place, NULL, NULL, NULL,
    at_cap || ' of ' || n || ' completions that ended by themselves have exactly ' || cap || ' tokens, no other length has more than ' || elsewhere
FROM piled
WHERE at_cap > elsewhere AND at_cap > 1
UNION ALL
SELECT 'most are cut', 'warn', arm, seed, place, NULL, NULL, NULL,
    count(*) FILTER (WHERE is_cut) || ' of ' || count(*) || ' completions are cut: the typical one was never finished'
FROM lengths
GROUP BY arm, seed, place
HAVING count(*) FILTER (WHERE is_cut) > count(*) / 2
UNION ALL
SELECT 'end not logged', 'inconclusive', arm, seed, place, NULL, NULL, NULL,
    count(*) FILTER (WHERE cut IS NULL) || ' of ' || count(*) || ' completions have no stop reason, and no length beside a stated cap'
FROM lengths
WHERE source = 'evals'
GROUP BY arm, seed, place
HAVING count(*) FILTER (WHERE cut IS NULL) > 0
UNION ALL
SELECT 'sign rests on cut answers', 'fail', NULL, NULL, 'evals final', NULL, NULL, NULL,
    format('treatment minus baseline is {:+.4f} as labelled and {:+.4f} with cut answers counted wrong', labelled, cut_wrong)
FROM contrast
WHERE labelled * cut_wrong < 0
UNION ALL
SELECT 'sign turns without cut answers', 'warn', NULL, NULL, 'evals final', NULL, NULL, NULL,
    format('treatment minus baseline is {:+.4f} as labelled and {:+.4f} without cut answers', labelled, cut_excluded)
FROM contrast
WHERE labelled * cut_excluded < 0
UNION ALL
SELECT 'arms are cut unequally', 'warn', NULL, NULL, 'evals final', NULL, NULL, NULL,
    format('{:.4f} of the treatment''s and {:.4f} of the baseline''s answers are cut; the accuracies differ by {:+.4f}', treatment_cut, baseline_cut, labelled)
FROM contrast
WHERE abs(treatment_cut - baseline_cut) >= abs(labelled)
    AND abs(treatment_cut - baseline_cut) > 2 * sqrt(pooled * (1 - pooled) * inverse_n)
ORDER BY ALL
-- notes:
WITH lengths AS (
    SELECT l.*, caps.cap, coalesce(says_cut, n_tokens >= cap) AS is_cut
    FROM derived_lengths AS l
    LEFT JOIN derived_token_caps AS caps USING (source, arm, seed)
    WHERE NOT failed AND isfinite(score)
), evaluated AS (
    SELECT
        arm, checkpoint, any_value(cap) AS cap, count(*) AS n,
        count(*) FILTER (WHERE is_cut) AS cut, count(*) FILTER (WHERE is_cut IS NULL) AS unknown,
        sum(score) AS points,
        coalesce(sum(score) FILTER (WHERE is_cut), 0) AS cut_points
    FROM lengths
    WHERE source = 'evals' AND checkpoint IN ('base', 'final')
    GROUP BY arm, checkpoint
), sampled AS (
    SELECT
        arm, any_value(cap) AS cap, count(*) AS n,
        count(*) FILTER (WHERE is_cut) AS cut, count(*) FILTER (WHERE is_cut IS NULL) AS unknown,
        avg(score) FILTER (WHERE is_cut) AS cut_reward, avg(score) FILTER (WHERE NOT is_cut) AS other_reward
    FROM lengths
    WHERE source = 'rollouts'
    GROUP BY arm
), facts AS (
    SELECT
        arm, 1 AS place, checkpoint,
        format(
            '{} {}: {:,} of {:,} cut (cap {}); accuracy {:.4f} ({:.6g}/{:,})',
            arm, checkpoint, cut, n, coalesce(cap::VARCHAR, 'not stated'), points / n, points, n
        ) || CASE
            WHEN cut = 0 THEN ''
            ELSE format(
                ' as labelled, {:.4f} ({:.6g}/{:,}) with cut counted wrong, ', (points - cut_points) / n, points - cut_points, n
            )
        END || CASE
            WHEN cut = 0 THEN ''
            WHEN cut = n THEN 'none is not cut'
            ELSE format('{:.4f} ({:.6g}/{:,}) without cut', (points - cut_points) / (n - cut), points - cut_points, n - cut)
        END AS note,
        unknown
    FROM evaluated
    UNION ALL
    SELECT
        arm, 2, NULL,
        format('{} rollouts: {:,} of {:,} cut (cap {})', arm, cut, n, coalesce(cap::VARCHAR, 'not stated'))
            || CASE WHEN cut BETWEEN 1 AND n - 1 THEN format('; mean reward {:.4f} of the cut, {:.4f} of the others', cut_reward, other_reward) ELSE '' END,
        unknown
    FROM sampled
)
SELECT note || CASE WHEN unknown = 0 THEN '' ELSE format('; of {:,} it is not known how they ended', unknown) END
FROM facts
ORDER BY place, checkpoint, arm
