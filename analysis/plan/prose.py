"""What a run needs, and the words in which a plan of format 1 or 2 may say it.

A heuristic: regular expressions over sentences. It can miss a wording and it can mistake one; so everything that
rests on it says `from prose (heuristic)`, and nothing runs on what it read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from analysis.plan.legacy import PlanV2
from analysis.plan.parse import AnyPlan
from analysis.plan.walk import texts

_NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|sixteen|thirty-two)"
_SEP = r"(?:\s*[=:]\s*|\s+(?:of|is|at|to)\s+|\s+)"

# The path of the field in format 3, and the wordings; a group, where there is one, is the value.
_WORDINGS: dict[str, tuple[str, ...]] = {
    "rollout.groups_per_batch": (
        rf"\bgroups(?:_per_batch)?\s*[=:]\s*{_NUMBER}",
        rf"{_NUMBER}\s+(?:\w+\s+)?(?:groups|prompts|questions|problems)\s+(?:per|a|an|each|every)\s+(?:batch|step)",
        rf"\b(?:samples?|draws?|takes?)\s+{_NUMBER}\s+(?:[\w-]+\s+){{0,2}}(?:groups|prompts|questions|problems)",
    ),
    "rollout.group_size": (
        rf"\bgroup[_ ]size{_SEP}{_NUMBER}",
        rf"{_NUMBER}\s+(?:rollouts|completions|samples|responses|answers|attempts)\s+(?:per|a|an|each|for\s+(?:each|every))\b",
        rf"\bgroups\s+of\s+{_NUMBER}",
    ),
    "rollout.temperature": (rf"\btemperature{_SEP}{_NUMBER}", rf"\bT\s*=\s*{_NUMBER}"),
    "rollout.max_tokens": (
        rf"\bmax[_ ]tokens{_SEP}{_NUMBER}",
        rf"\b(?:max(?:imum)?(?:\s+of)?|at\s+most|up\s+to|no\s+more\s+than)\s+{_NUMBER}\s+(?:new\s+|completion\s+)?tokens",
    ),
    "rollout.renderer": (r"\brenderer[_ ]name\s*[=:]\s*(\w+)", r"\b(?:renderer|chat\s+template)\b"),
    "rollout.stop": (r"\bstop\s+(?:strings?|sequences?|tokens?)\b", r"\bstop\s*=\s*(\S+)"),
    "rollout.updates_per_batch": (
        rf"{_NUMBER}\s+(?:\w+\s+)?(?:updates|optim_steps?|gradient\s+steps|optimi[sz]er\s+steps)\s+(?:per|on|for|a|each)\s+"
        r"(?:(?:each|every)\s+)?(?:rollout\s+)?batch",
        rf"split\s+into\s+{_NUMBER}\s+minibatches",
        r"\.optim_step\(",
    ),
    "rollout.rollout_batches": (
        rf"{_NUMBER}\s+rollout\s+(?:steps|batches)",
        rf"\bfor\s+step\s+in\s+range\({_NUMBER}\)",
        rf"\bmax_steps\s*=\s*{_NUMBER}",
    ),
    "losses.<baseline>.kind": (
        r"\bclip(?:ped|s)?[- ]ratio\b|\bratio[- ]clip\w*|\bclip\(r",
        r"\b(?:stock|GRPO(?:-style)?)\s+(?:\w+\s+)?loss\b",
    ),
    "losses.<baseline>.eps": (rf"\beps(?:ilon)?{_SEP}{_NUMBER}(?!\d*e)", rf"\bclip\(r,\s*{_NUMBER}"),
    "losses.<treatment>.kind": (
        r"\bmasked\s+out\b|\bkeep_mask\b|\bdivergence[- ]mask\w*",
        r"\bDPPO\s+(?:loss|objective)\b",
    ),
    "losses.<treatment>.divergence": (
        r"\b(total[- ]variation|binary[- ]TV|binary[- ]KL|KL[- ]divergence)\b",
        r"(\|p(?:_current)?\s*-\s*p_\w+\|)",
        r"\bdivergence\b",
    ),
    "losses.<treatment>.delta": (
        rf"\bdelta{_SEP}{_NUMBER}",
        rf"\bthreshold{_SEP}{_NUMBER}",
        r"\b(?:delta|default\s+hyperparameters)\b",
    ),
    "losses.<id>.form": (r"-\(?r\s*\*\s*A\b", r"\bscore[- ]function\b|\bdetach\w*\b|\bstop[- ]gradient\b"),
    "losses.<id>.anchor": (
        r"\bsampler\s+log-?prob\w*|\bsampling\s+policy\b|\bbehaviou?r\s+policy\b|\bp_old\b|\bold_(?:lp|logprobs)\b",
    ),
    "losses.<id>.truncation": (
        rf"\btruncat\w+\s+(?:importance|ratio)\w*(?:\s+\w+){{0,3}}?{_SEP}{_NUMBER}",
        r"\bclip_ratio_c\b|\bTIS\b|\btruncated\s+importance\b",
    ),
    "losses.<id>.reduction": (
        r"\b(?:summed|averaged)\s+over\s+(?:all\s+|the\s+)?(?:\w+\s+)?tokens\b|\btoken[-_](?:sum|mean)\b|\bmean\s+over\s+tokens\b",
    ),
    "arms[].role": (r"\btreatment\b",),
    "arms[].condition": (r"\bbaseline\s*\((\w+)\)", r"\bbaseline\b"),
    "arms[].seed": (rf"\bseed{_SEP}{_NUMBER}", r"\bseed\b"),
    "optimizer.beta1": (rf"\bbeta_?1{_SEP}{_NUMBER}", rf"\bbetas?\s*[=:]?\s*\(?\s*{_NUMBER}\s*,"),
    "optimizer.beta2": (rf"\bbeta_?2{_SEP}{_NUMBER}", rf"\bbetas?\s*[=:]?\s*\(?\s*\S+\s*,\s*{_NUMBER}"),
    "optimizer.eps": (r"\beps\s*[=:]\s*(\d+e-\d+)", r"\badam\w*\s+eps\w*\s+(?:of\s+)?(\S+)"),
    "optimizer.weight_decay": (rf"\bweight[_ ]decay{_SEP}{_NUMBER}", r"\bAdamW\b"),
    "optimizer.grad_clip_norm": (
        rf"\bgrad(?:ient)?[_ ]clip\w*(?:[_ ]norm)?{_SEP}{_NUMBER}",
        r"\bno\s+gradient\s+clipping\b",
    ),
    "task.validation_items": (rf"\bvalidation\s+(?:split|set|items)\s+of\s+{_NUMBER}", r"\bvalidation\b"),
    "evaluation.temperature": (r"\bgreedy\b",),
    "evaluation.max_tokens": (
        r"\b(?:evaluat\w+|greedy\s+decoding|scored)\b[^.]{0,80}?\b"
        rf"(?:max[_ ]tokens\s*=?\s*|up\s+to\s+|at\s+most\s+){_NUMBER}",
    ),
    "evaluation.grader": (
        r"\b(numeric\s+(?:exact[- ]match|answer\s+grader))\b",
        r"\b(sympy|math[-_]verify)\b",
        r"\bexact[- ]match\b",
    ),
    "activation_gate.pilot_steps": (rf"{_NUMBER}[- ]steps?\s+pilot\b", rf"\bpilot\s+of\s+{_NUMBER}\s+steps"),
    "decision_rule": (r"\b(?:at\s+least|lower\s+bound|validated)\b",),
}
_PATTERNS = {
    field: tuple(re.compile(wording, re.IGNORECASE) for wording in wordings) for field, wordings in _WORDINGS.items()
}
_CONTEXT = 30


@dataclass(frozen=True)
class Mention:
    """Where prose says something about a field.

    Attributes:
        field: the field's path in format 3.
        path: the key of the text; None where no text mentions it.
        quote: the words and some around them.
        value: what they seem to say, where they name a value.
    """

    field: str
    path: str | None = None
    quote: str | None = None
    value: str | None = None


def fields_without_a_key(plan: AnyPlan) -> Iterator[Mention]:
    """Yield each field that a run needs and the plan has no key for, with the first words that say it."""
    sentences = [(path, text) for path, text in texts(plan) if " " in text]
    has = _keys_of(plan)
    for field, patterns in _PATTERNS.items():
        if field not in has:
            yield _first(field, patterns, sentences)


def _first(field: str, patterns: tuple[re.Pattern[str], ...], sentences: list[tuple[str, str]]) -> Mention:
    # The patterns stand from telling to vague: a text that names a value wins over one that only mentions it.
    for pattern in patterns:
        for path, text in sentences:
            found = pattern.search(text)
            if found:
                start, end = max(found.start() - _CONTEXT, 0), found.end() + _CONTEXT
                quote = " ".join(text[start:end].split())
                value = next((group for group in found.groups() if group), None)
                return Mention(field, path, quote, value)
    return Mention(field)


def _keys_of(plan: AnyPlan) -> set[str]:
    """Return the format-3 fields that a plan of format 2 has as keys, wherever they stand."""
    if not isinstance(plan, PlanV2):
        return set()
    has = {"rollout.updates_per_batch", "arms[].seed", "decision_rule"}
    if plan.restoration_preflight is not None:
        arms = [arm for group in plan.restoration_preflight.groups for arm in group.arms]
        if arms:
            has |= {f"optimizer.{key}" for key in set.intersection(*(set(arm.optimizer_config) for arm in arms))}
    return has
