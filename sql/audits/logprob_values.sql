-- Loss tokens with a number that is none, a probability above 1, or a log-probability of 0 that something contradicts.
-- rows:
WITH judged AS (
    SELECT
        *,
        CASE
            WHEN NOT (
                isfinite(sampler_logprob) AND isfinite(current_logprob) AND isfinite(advantage)
                AND isfinite(coalesce(surprisal, 0)) AND isfinite(coalesce(entropy, 0)) AND isfinite(coalesce(value, 0))
            ) THEN 'not finite'
            WHEN sampler_logprob > 1e-6 OR current_logprob > 1e-6 THEN 'above 0'
            WHEN "update" = 0 AND greatest(sampler_logprob, current_logprob) = 0
                AND least(sampler_logprob, current_logprob) < -1 THEN 'padded zero'
            WHEN current_logprob = 0 AND greatest(entropy, surprisal) > 1 THEN 'padded zero'
            WHEN "update" = 0 AND greatest(sampler_logprob, current_logprob) = 0
                AND least(sampler_logprob, current_logprob) < -0.1 THEN 'doubtful zero'
        END AS fault
    FROM tokens
)
SELECT
    fault, CASE WHEN fault = 'doubtful zero' THEN 'warn' ELSE 'fail' END AS severity,
    arm, seed, step, "update", rollout_id, position,
    concat(
        'sampler_logprob ', sampler_logprob, ', current_logprob ', current_logprob, ', advantage ', advantage,
        ', surprisal ' || surprisal, ', entropy ' || entropy, ', value ' || value
    ) AS detail
FROM judged
WHERE fault IS NOT NULL
ORDER BY ALL
-- notes:
SELECT format(
    '{}: exactly 0 in {:,} (sampler) and {:,} (current) of {:,} loss tokens; at the first update in {:,} and {:,} of {:,}',
    arm,
    count(*) FILTER (WHERE sampler_logprob = 0), count(*) FILTER (WHERE current_logprob = 0), count(*),
    count(*) FILTER (WHERE sampler_logprob = 0 AND "update" = 0),
    count(*) FILTER (WHERE current_logprob = 0 AND "update" = 0),
    count(*) FILTER (WHERE "update" = 0)
)
FROM tokens
GROUP BY arm
ORDER BY arm
