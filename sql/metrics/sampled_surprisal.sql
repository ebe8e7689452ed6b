-- name: Mean surprisal of the sampled tokens
-- unit: nats
-- definition: sampled_surprisal@sampler/loss_tokens
-- denominator: loss tokens of all updates, zero advantage included
-- scale: minus log-probability of the sampled token; an estimate of the entropy, not the entropy of the vocabulary
-- anchor: sampler_logprob, the behaviour policy at sampling
-- sign: none
-- zero advantage: counted
-- from: loss_tokens
-- needs: tokens.sampler_logprob
-- arm: all
-- over: mean_of_steps
-- moves by: avg({u})
-- watch: moves by 0.3
-- if it moves: a collapse (falls) or an explosion (rises) of the policy; read it with the reward
-- source: tinker-cookbook's optim/entropy is this figure
-- partials:
sum(-sampler_logprob) AS total,
count(*) AS denominator
-- finish:
sum(total) / sum(denominator)
