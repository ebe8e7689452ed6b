"""Patterns over sentences, so tried on wordings that the author of v2 did not use."""

import pytest

LINT = "fields_only_in_prose"

V2_VALUES = {
    "rollout.groups_per_batch": "(32)",
    "rollout.group_size": "(8)",
    "rollout.temperature": "(1.0)",
    "rollout.max_tokens": "(512)",
    "rollout.rollout_batches": "(50)",
    "losses.<baseline>.eps": "(0.2)",
    "losses.<treatment>.divergence": "(|p - p_old|)",
    "evaluation.grader": "(numeric answer grader)",
    "activation_gate.pilot_steps": "(5)",
}
V2_WITHOUT_VALUE = {
    "rollout.renderer",
    "losses.<baseline>.kind",
    "losses.<treatment>.kind",
    "losses.<treatment>.delta",
    "losses.<id>.form",
    "losses.<id>.anchor",
    "arms[].role",
    "optimizer.weight_decay",
    "evaluation.temperature",
}
V2_NOWHERE = {
    "rollout.stop",
    "losses.<id>.truncation",
    "losses.<id>.reduction",
    "optimizer.grad_clip_norm",
    "task.validation_items",
    "evaluation.max_tokens",
}

PLAIN = {
    "method": (
        "Every step draws 24 GSM8K questions; there are 6 completions for each question, sampled at a temperature "
        "of 0.7 with at most 300 new tokens. The run has 40 rollout batches. One arm uses the clipped ratio with an "
        "epsilon of 0.1; the other drops tokens whose total variation exceeds a threshold of 0.15. Token losses are "
        "summed over all loss tokens. Weight decay is 0.01 and gradient clip norm 1.0. Checkpoints are evaluated "
        "with up to 256 tokens."
    ),
    "command": "none",
    "baseline": "as above",
}
TERSE = {
    "method": (
        "groups=16, group_size: 4, T=0.8, max tokens 128, max_steps=25, renderer_name=role_colon, eps = 0.3, "
        "delta = 0.25, binary-KL, truncated importance ratio at 5, averaged over tokens, weight_decay=0, "
        "grad_clip_norm=0.5, validation split of 300, sympy"
    ),
    "command": "none",
    "baseline": "as above",
}
WORDS = {
    "method": (
        "We take thirty-two problems a step in groups of eight. The stop sequence is a newline. Ratios are measured "
        "against the behaviour policy and multiplied with a detached factor (a score-function estimator). "
        "The room temperature was pleasant."
    ),
    "command": "none",
    "baseline": "as above",
    "activation_gate.reason": "A pilot of six steps decides.",
}


def _by_field(findings):
    return {finding.path: finding.message for finding in findings}


def test_finds_each_field_that_v2_has_only_in_prose(v2, found):
    messages = _by_field(found(v2, LINT))
    for field, value in V2_VALUES.items():
        assert f"only prose says it {value}" in messages[field], field
    for field in V2_WITHOUT_VALUE:
        assert "without a value" in messages[field], field
    for field in V2_NOWHERE:
        assert "says it nowhere" in messages[field], field
    assert messages.keys() == {*V2_VALUES, *V2_WITHOUT_VALUE, *V2_NOWHERE, "arms[].condition"}


def test_finds_more_in_v1_because_it_has_fewer_keys(v1, v2, found):
    fields = _by_field(found(v1, LINT)).keys()
    assert _by_field(found(v2, LINT)).keys() < fields
    assert {"decision_rule", "arms[].seed", "rollout.updates_per_batch", "optimizer.beta1"} <= fields


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (
            PLAIN,
            {
                "rollout.groups_per_batch": "24",
                "rollout.group_size": "6",
                "rollout.temperature": "0.7",
                "rollout.max_tokens": "300",
                "rollout.rollout_batches": "40",
                "losses.<baseline>.eps": "0.1",
                "losses.<treatment>.divergence": "total variation",
                "losses.<treatment>.delta": "0.15",
                "optimizer.weight_decay": "0.01",
                "optimizer.grad_clip_norm": "1.0",
                "evaluation.max_tokens": "256",
            },
        ),
        (
            TERSE,
            {
                "rollout.groups_per_batch": "16",
                "rollout.group_size": "4",
                "rollout.temperature": "0.8",
                "rollout.max_tokens": "128",
                "rollout.rollout_batches": "25",
                "rollout.renderer": "role_colon",
                "losses.<baseline>.eps": "0.3",
                "losses.<treatment>.divergence": "binary-KL",
                "losses.<treatment>.delta": "0.25",
                "losses.<id>.truncation": "5",
                "optimizer.weight_decay": "0",
                "optimizer.grad_clip_norm": "0.5",
                "task.validation_items": "300",
                "evaluation.grader": "sympy",
            },
        ),
        (
            WORDS,
            {
                "rollout.groups_per_batch": "thirty-two",
                "rollout.group_size": "eight",
                "activation_gate.pilot_steps": "six",
            },
        ),
    ],
    ids=["plain", "terse", "words"],
)
def test_finds_the_values_in_a_reworded_plan(v2, found, texts, values):
    messages = _by_field(found(v2, LINT, texts))
    for field, value in values.items():
        assert f"only prose says it ({value})" in messages[field], messages[field]


def test_finds_a_mention_without_a_value_in_words(v2, found):
    messages = _by_field(found(v2, LINT, WORDS))
    for field in ("rollout.stop", "losses.<id>.anchor", "losses.<id>.form"):
        assert "without a value" in messages[field], field
    assert "says it nowhere" in messages["rollout.temperature"]


def test_silent_on_format_3_and_on_what_v2_has_as_keys(v2, resolved_v2, found):
    assert found(resolved_v2, LINT) == []
    fields = _by_field(found(v2, LINT)).keys()
    assert not fields & {"rollout.updates_per_batch", "arms[].seed", "optimizer.beta1", "optimizer.eps"}
