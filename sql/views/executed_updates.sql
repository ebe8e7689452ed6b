-- Optimiser steps as they were executed, with all settings in one text.
SELECT
    *,
    format(
        'adamw lr={} beta1={} beta2={} eps={} weight_decay={} grad_clip_norm={}',
        learning_rate, beta1, beta2, eps, weight_decay, grad_clip_norm
    ) AS optimizer
FROM updates
