-- Tokens that a rule counts whatever the digits are that rounding took, and tokens that it may count: the rule is asked at
-- both ends, where the two log-probabilities are furthest apart each way. No rule of ours turns in between. An advantage
-- that reads 0 may have either sign. The number of a variant stands in the place of token_id, which the view passes on.
WITH variants(number, shift, side) AS (
    VALUES (0, 0.0, 0.0), (1, 1.0, 0.0), (2, -1.0, 0.0), (3, 1.0, 1.0), (4, -1.0, -1.0)
), shifted AS (
    SELECT
        arm, seed, step, "update", rollout_id, position, number AS token_id,
        least(sampler_logprob::DOUBLE - shift * {u}, greatest(sampler_logprob::DOUBLE, 0)) AS sampler_logprob,
        least(current_logprob::DOUBLE + shift * {u}, greatest(current_logprob::DOUBLE, 0)) AS current_logprob,
        CASE WHEN advantage = 0 THEN side ELSE advantage::DOUBLE END AS advantage
    FROM main.tokens
    CROSS JOIN variants
    WHERE {where}
), found AS (
    WITH tokens AS (SELECT * FROM shifted)
    {view}
)
SELECT count(*) FILTER (WHERE times = 5), count(*)
FROM (
    SELECT count(*) AS times
    FROM found
    WHERE {counted}
    GROUP BY arm, seed, step, "update", rollout_id, position
)
