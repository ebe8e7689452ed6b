import pytest

from analysis.plan.explain import explain
from analysis.plan.parse import parse_plan


def words(document):
    paragraphs = explain(parse_plan(document, source="p"))
    return {paragraph.heading: paragraph.text for paragraph in paragraphs}


def test_a_format_3_plan_is_explained_with_its_numbers(resolved_v2):
    text = words(resolved_v2)
    assert "grpo (the baseline, seed 0)" in text["What is compared"]
    assert "r clipped to [0.8, 1.2]" in text["What is compared"]
    assert "|pi - mu| exceeds 0.15" in text["What is compared"]
    assert "50 rollout batches of 32 prompts x 8 samples" in text["How it is trained"]
    assert "2 updates on each, so 100 optimiser steps" in text["How it is trained"]
    assert "which is Adam" in text["How it is trained"]
    assert "correctness, restoration, feasibility" in text["What must hold before the full run"]
    assert "dppo_masked_token_fraction from 0.001 to 0.3" in text["What must hold before the full run"]
    assert "executed_updates_per_batch exactly 2" in text["What must hold before the full run"]
    assert "95% interval by paired_hoeffding" in text["What counts as proof"]
    assert "validated: L > 0. refuted: U < 0. tie is not registered" in text["What the verdicts mean for primary"]
    assert "not about what another training seed" in text["What the claim does not cover"]


def test_the_floor_is_minus_the_margin_where_none_is_given(resolved_v1):
    resolved_v1["decision_rule"]["criteria"][0]["floor"] = None
    assert "refuted: U < -0.02." in words(resolved_v1)["What the verdicts mean for primary"]


def test_margin_floor_and_band_are_said_with_their_signs(resolved_v1):
    text = words(resolved_v1)
    verdicts = text["What the verdicts mean for primary"]
    assert "validated: L > +0.02. refuted: U < -0.02." in verdicts
    assert "tie: the whole interval lies inside [-0.02, +0.02]" in verdicts
    assert "1 update on each" in text["How it is trained"]
    assert "No activation gate applies" in text["What must hold before the full run"]


@pytest.mark.parametrize(
    ("change", "heading", "wanted"),
    [
        (lambda d: d["losses"]["dppo"].update(divergence="binary_kl"), "What is compared", "binary KL(mu || pi)"),
        (lambda d: d["losses"]["dppo"].update(divergence="topk_kl", top_k=4), "What is compared",
         "KL(mu || pi) over the sampler's 4 most probable tokens, the sampled one and the rest together"),
        (lambda d: d["losses"]["dppo"].update(truncation=5), "What is compared", "r truncated at 5"),
        (lambda d: d["optimizer"].update(weight_decay=0.1, grad_clip_norm=1), "How it is trained", "norm at most 1"),
        (lambda d: d["evaluation"].update(temperature=0.7, samples_per_item=4), "What counts as proof", "(4 answers"),
        (lambda d: d["decision_rule"].update(unit="training_seeds"), "What the claim does not cover", "seed (1 an"),
        (
            lambda d: d["activation_gate"]["checks"][1].update(arm=None, update=None),
            "What must hold before the full run",
            "at the second update)",
        ),
        (
            lambda d: d["decision_rule"]["criteria"].append({**d["decision_rule"]["criteria"][0], "id": "b"}),
            "What counts as proof",
            "There are 2 criteria; all criteria must be validated",
        ),
    ],
)  # fmt: skip
def test_a_changed_plan_is_explained_otherwise(demo, change, heading, wanted):
    assert wanted not in words(demo)[heading]
    change(demo)
    assert wanted in words(demo)[heading]


def test_older_formats_are_explained_and_said_not_to_run(v1, v2):
    for document, version in ((v1, 1), (v2, 2)):
        text = words(document)
        assert f"No: this is plan format {version}" in text["Can it run?"]
    assert "half-width is 0.0748" in words(v2)["What counts as proof"]
    assert "No decision rule is registered" in words(v1)["What counts as proof"]
    assert "dppo_seed0: loss dppo_divergence_mask" in words(v2)["What is compared"]


def test_a_paragraph_is_one_line(v1, v2, demo):
    for document in (v1, v2, demo):
        assert all(paragraph.heading for paragraph in explain(parse_plan(document, source="p")))
    assert "\n" not in words(v2)["How it is trained"]


def test_only_arms_without_a_critic_and_without_pairs_are_said_to_have_group_means(demo):
    import json

    from runner.loop.plans import shipped_plans

    assert "The advantage is the reward minus the group's mean." in words(demo)["How it is trained"]
    study = json.loads(shipped_plans()["critic_study"].read_text(encoding="utf-8"))
    assert "The advantage of grpo is the reward minus the group's mean." in words(study)["How it is trained"]
    study["arms"] = [arm for arm in study["arms"] if arm["condition"] != "grpo"]
    roles = iter(["baseline", "treatment"])
    for condition in dict.fromkeys(arm["condition"] for arm in study["arms"]):
        role = next(roles, "other")
        for arm in study["arms"]:
            if arm["condition"] == condition:
                arm["role"] = role
    assert "group's mean" not in words(study)["How it is trained"]
