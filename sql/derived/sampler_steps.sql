-- One row a rollout step: which weights sampled it, in which earlier step they had sampled already, and by how much
-- sampler and trainer log-probabilities differ at its first update.
WITH versions AS (
    SELECT arm, seed, step, sampler_version
    FROM rollouts
    WHERE sampler_version IS NOT NULL
    GROUP BY ALL
), followed AS (
    SELECT *, lag(step) OVER (PARTITION BY arm, seed, sampler_version ORDER BY step) AS seen_before FROM versions
), versions_of_step AS (
    SELECT
        arm, seed, step,
        count(*) AS n_versions,
        left(min(sampler_version), 80) AS first_version,
        max(seen_before) AS seen_before,
        left(arg_max(sampler_version, seen_before), 80) AS version_seen_before
    FROM followed
    GROUP BY ALL
), sampled AS (
    SELECT arm, seed, step, count(*) AS n_rollouts, count(sampler_version) AS n_rollouts_with_version
    FROM rollouts
    GROUP BY ALL
), differences AS (
    SELECT
        arm, seed, step,
        count(*) AS n_tokens,
        avg(abs(current_logprob::DOUBLE - sampler_logprob)) AS mismatch,
        stddev_pop(abs(current_logprob::DOUBLE - sampler_logprob)) / sqrt(count(*)) AS mismatch_error
    FROM tokens
    WHERE "update" = 0 AND isfinite(sampler_logprob) AND isfinite(current_logprob)
    GROUP BY ALL
)
SELECT
    arm, seed, step, n_rollouts, n_rollouts_with_version, n_versions, first_version, seen_before, version_seen_before,
    n_tokens, mismatch, mismatch_error
FROM sampled
LEFT JOIN versions_of_step USING (arm, seed, step)
FULL JOIN differences USING (arm, seed, step)
ORDER BY arm, seed, step
