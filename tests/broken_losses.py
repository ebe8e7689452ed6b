"""Custom losses with one mistake each, as somebody could write them; and one without."""

import functools
from types import SimpleNamespace


def custom_loss(loss, *, wrong_side=False, anchor_current=False, sign=1.0, shift=0, mean=False, bounds=None):
    """Return a custom loss of the plan's kind, written apart from ours, with the mistakes that are asked for."""

    import torch

    def evaluate(data, logprobs):
        p = torch.cat(list(logprobs)).double()
        columns = ("sampler_logprobs", "advantages", "mask")
        q, a, mask = (torch.cat([datum.loss_fn_inputs[name].to_torch() for datum in data]).double() for name in columns)
        q, a = torch.roll(q, shift), sign * a
        anchor = p.detach() if anchor_current else q
        if loss.kind == "ratio_clip":
            values = _clipped(loss, torch.exp(p - anchor), a, bounds, wrong_side)
        else:
            values = _masked(loss, p, q, anchor, a, wrong_side)
        total = (values * mask).sum()
        return (total / mask.sum() if mean else total), {"custom/hidden:sum": 0.0}

    return evaluate


def _clipped(loss, ratio, a, bounds, wrong_side):
    import torch

    low, high = bounds or (1.0 - loss.eps, 1.0 + loss.eps)
    clipped = torch.clamp(ratio, low, high)
    return -(torch.maximum if wrong_side else torch.minimum)(ratio * a, clipped * a)


def _masked(loss, p, q, anchor, a, wrong_side):
    import torch

    pi, mu = torch.exp(p), torch.exp(q)
    away = torch.exp(p.detach()) - torch.exp(anchor)
    outward = torch.where(a > 0, away, -away) * (-1.0 if wrong_side else 1.0)
    keep = (~((a != 0) & (outward > loss.delta))).double()
    ratio = pi / mu
    return -a * keep * (ratio.detach() * p if loss.form == "score" else ratio)


BROKEN = {
    "wrong_side": {"wrong_side": True},
    "anchored_to_the_current_policy": {"anchor_current": True},
    "advantage_sign": {"sign": -1.0},
    "off_by_one": {"shift": 1},
    "mean_instead_of_sum": {"mean": True},
}
BROKEN_CLIP = {
    "absolute_threshold_taken_for_eps": {"bounds": (1.0 - 1.2, 1.0 + 1.2)},
    "eps_taken_for_both_thresholds": {"bounds": (0.2, 0.2)},
    "eps_taken_for_the_lower_threshold": {"bounds": (0.2, 1.2)},
}


def builder(**mistakes):
    """Return what makes a custom loss of a plan's loss, with these mistakes."""
    return functools.partial(custom_loss, **mistakes)


def traceable(loss, **mistakes):
    """Return the same as a function that torch.fx traces, which takes one sequence."""
    evaluate = custom_loss(loss, **mistakes)

    def token_loss(logprobs, sampler_logprobs, advantages, mask):
        columns = {"sampler_logprobs": sampler_logprobs, "advantages": advantages, "mask": mask}
        inputs = {name: SimpleNamespace(to_torch=lambda column=column: column) for name, column in columns.items()}
        return evaluate([SimpleNamespace(loss_fn_inputs=inputs)], [logprobs])[0], {}

    return token_loss
