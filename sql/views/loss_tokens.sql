-- Every loss token with probabilities, ratio and divergences ready; log-probabilities are widened before exp.
-- is_valid: finite, and no probability above 1 beyond what float32 rounds to.
-- binary_kl carries the official code's 1e-8 inside both logarithms of the complement (Stable-RL, compute_policy_loss_with_mask).
WITH widened AS (
    SELECT
        arm, seed, step, "update", rollout_id, position, token_id,
        advantage::DOUBLE AS advantage,
        sampler_logprob::DOUBLE AS sampler_logprob,
        current_logprob::DOUBLE AS current_logprob
    FROM tokens
), probabilities AS (
    SELECT
        *,
        current_logprob - sampler_logprob AS log_ratio,
        exp(sampler_logprob) AS p_sampler,
        exp(current_logprob) AS p_current
    FROM widened
)
SELECT
    *,
    p_current - p_sampler AS p_difference,
    abs(p_current - p_sampler) AS binary_tv,
    p_sampler * (sampler_logprob - current_logprob)
        + (1 - p_sampler) * ln((greatest(1 - p_sampler, 0) + 1e-8) / (greatest(1 - p_current, 0) + 1e-8)) AS binary_kl,
    exp(log_ratio) AS ratio,
    isfinite(sampler_logprob) AND isfinite(current_logprob) AND isfinite(advantage)
        AND sampler_logprob <= 1e-6 AND current_logprob <= 1e-6 AS is_valid
FROM probabilities
