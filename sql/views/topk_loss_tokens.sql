-- Every loss token whose candidates were logged, with its top-k divergences: over the candidates, and all other tokens
-- together as one more, of probability 1e-12 or more (arXiv:2602.04879v3, equations 15 and 16; Stable-RL's clamp).
-- is_valid: all numbers finite, no probability above 1 beyond what float32 rounds to, each candidate once and one sampled.
WITH widened AS (
    SELECT
        arm, seed, step, "update", rollout_id, position, is_sampled,
        token_id AS candidate,
        advantage::DOUBLE AS pushed_by,
        sampler_logprob::DOUBLE AS log_mu,
        current_logprob::DOUBLE AS log_pi,
        exp(sampler_logprob::DOUBLE) AS mu,
        exp(current_logprob::DOUBLE) AS pi
    FROM candidates
), tokens_of_candidates AS (
    SELECT
        arm, seed, step, "update", rollout_id, position,
        max(candidate) FILTER (WHERE is_sampled) AS token_id,
        max(pushed_by) AS advantage,
        max(log_mu) FILTER (WHERE is_sampled) AS sampler_logprob,
        max(log_pi) FILTER (WHERE is_sampled) AS current_logprob,
        count(*) AS n_candidates,
        sum(abs(mu - pi)) AS tv_sum,
        sum(mu * (log_mu - log_pi)) AS kl_sum,
        greatest(1 - sum(mu), 1e-12) AS rest_sampler,
        greatest(1 - sum(pi), 1e-12) AS rest_current,
        bool_and(
            isfinite(log_mu) AND isfinite(log_pi) AND isfinite(pushed_by)
            AND log_mu <= 1e-6 AND log_pi <= 1e-6
        )
        AND count(*) FILTER (WHERE is_sampled) = 1
        AND count(DISTINCT candidate) = count(*)
        AND min(pushed_by) = max(pushed_by) AS is_valid
    FROM widened
    GROUP BY arm, seed, step, "update", rollout_id, position
)
SELECT
    arm, seed, step, "update", rollout_id, position, token_id, advantage, sampler_logprob, current_logprob,
    n_candidates,
    exp(current_logprob) - exp(sampler_logprob) AS p_difference,
    0.5 * (tv_sum + abs(rest_sampler - rest_current)) AS topk_tv,
    kl_sum + rest_sampler * ln(rest_sampler / rest_current) AS topk_kl,
    is_valid
FROM tokens_of_candidates
