"""What the shipped plans say, checked against the files that they resolve."""

import hashlib
import json
import math
from pathlib import Path

import pytest
import rfc8785

from analysis.plan.model import Plan
from analysis.plan.parse import parse_plan_text
from analysis.plan.walk import texts
from runner.loop.plans import shipped_plans

SPECS = Path(__file__).parents[2] / "data" / "specs"
SHIPPED = shipped_plans()


def _plan(name):
    return parse_plan_text(SHIPPED[name].read_text(encoding="utf-8"), source=name)


def test_the_three_plans_are_shipped():
    assert {"dppo_vs_grpo_v1", "dppo_vs_grpo_v2", "demo"} <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_plans_are_runnable(name):
    assert isinstance(_plan(name), Plan)


@pytest.mark.parametrize("name", ["dppo_vs_grpo_v1", "dppo_vs_grpo_v2"])
def test_a_resolved_plan_names_the_one_that_it_replaces(name):
    document = json.loads((SPECS / f"{name}.json").read_text(encoding="utf-8"))
    assert _plan(name).supersedes == hashlib.sha256(rfc8785.dumps(document)).hexdigest()


@pytest.mark.parametrize("name", ["dppo_vs_grpo_v1", "dppo_vs_grpo_v2"])
def test_a_resolved_plan_keeps_what_the_file_has_as_fields(name):
    spec = json.loads((SPECS / f"{name}.json").read_text(encoding="utf-8"))
    plan = _plan(name)
    assert (plan.title, plan.hypothesis) == (spec["title"], spec["hypothesis"])
    assert (plan.base_model, plan.lora_rank) == (spec["base_model"], spec["lora_rank"])
    assert plan.optimizer.learning_rate == spec["optimizer"]["lr"]
    assert plan.task.test_items == spec["eval"]["n_examples"]
    assert plan.rollout.groups_per_batch * plan.rollout.group_size == spec["batch_size"]
    assert plan.rollout.rollout_batches * plan.rollout.updates_per_batch == spec["steps"]
    assert plan.budget.model_dump() == spec["budget"]


def test_v2_is_resolved_as_decided():
    spec = json.loads((SPECS / "dppo_vs_grpo_v2.json").read_text(encoding="utf-8"))
    plan = _plan("dppo_vs_grpo_v2")
    dppo, grpo = plan.losses["dppo"], plan.losses["grpo"]
    assert (dppo.form, dppo.divergence, dppo.delta) == ("ratio", "binary_tv", 0.15)
    assert (grpo.form, grpo.eps) == ("ratio", 0.2)
    assert {(loss.anchor, loss.truncation, loss.reduction) for loss in (dppo, grpo)} == {("sampler", None, "token_sum")}
    adam = plan.optimizer
    assert (adam.beta1, adam.beta2, adam.eps, adam.weight_decay, adam.grad_clip_norm) == (0.9, 0.95, 1e-8, 0, 0)
    checks = [check.model_dump(include={"metric", "min", "max", "one_of"}) for check in plan.activation_gate.checks]
    wanted = [
        {key: check.get(key) for key in ("metric", "min", "max", "one_of")}
        for check in spec["activation_gate"]["checks"]
    ]
    assert checks == wanted
    assert plan.generation_audit is not None
    assert plan.generation_audit.model_dump() == spec["generation_audit"]
    assert all(getattr(plan.preflights, name).required for name in ("correctness", "restoration", "feasibility"))
    (path,) = plan.preflights.correctness.settings["paths"]
    assert path["tolerances"] == spec["correctness_preflight"]["paths"][0]["tolerances"]
    assert "c6af1d119c0fe30d16dd9a837d35fdf695acd226" in path["reference_revision"]
    assert "9dfcc3a2cf44432d621a01005073dc6d76a1e87a" in path["baseline_revision"]


@pytest.mark.parametrize("name", ["dppo_vs_grpo_v1", "dppo_vs_grpo_v2", "smollm2_gsm8k"])
def test_plans_on_gsm8k_read_the_box_and_take_the_cookbooks_order(name):
    plan = _plan(name)
    assert (plan.evaluation.grader, plan.task.order) == ("boxed_number", "as_given")
    assert (plan.dataset.hf_path, plan.dataset.config) == ("openai/gsm8k", "main")


def test_the_small_plan_is_the_large_one_with_other_sizes():
    small, large = (_plan(name).model_dump() for name in ("smollm2_gsm8k", "dppo_vs_grpo_v2"))
    assert small["losses"] == large["losses"]
    assert small["arms"] == large["arms"]
    assert small["preflights"] == large["preflights"]
    assert {**small["optimizer"], "learning_rate": None} == {**large["optimizer"], "learning_rate": None}
    limits = [(check["metric"], check["min"], check["max"]) for check in small["activation_gate"]["checks"]]
    assert limits == [(check["metric"], check["min"], check["max"]) for check in large["activation_gate"]["checks"]]
    n_items = small["task"]["test_items"]
    assert f"{math.sqrt(2 * math.log(40) / n_items):.4f}" in " ".join(small["notes"])


def test_v1_gets_an_interval_for_its_two_points():
    plan = _plan("dppo_vs_grpo_v1")
    (criterion,) = plan.decision_rule.criteria
    assert (criterion.margin, criterion.floor, criterion.band) == (0.02, -0.02, 0.02)
    assert plan.rollout.updates_per_batch == 1
    assert not plan.activation_gate.applicable


def test_the_demo_requires_no_preflight_and_has_the_gate_of_v2():
    plan = _plan("demo")
    assert not any(getattr(plan.preflights, name).required for name in ("correctness", "restoration", "feasibility"))
    other = _plan("dppo_vs_grpo_v2").activation_gate.checks
    assert [c.metric for c in plan.activation_gate.checks] == [c.metric for c in other]
    assert plan.activation_gate.checks[-1].one_of == [plan.base_model]
    assert f"{math.sqrt(2 * math.log(40) / plan.task.test_items):.4f}" in " ".join(plan.notes)


def test_the_plan_for_one_gpu_is_the_demo_with_another_model_and_question():
    gpu, demo = (_plan(name).model_dump() for name in ("smollm2_addition", "demo"))
    for part in ("losses", "arms", "preflights"):
        assert gpu[part] == demo[part]
    assert gpu["decision_rule"]["criteria"] == demo["decision_rule"]["criteria"]
    limits = [
        [(check["metric"], check["min"], check["max"]) for check in plan["activation_gate"]["checks"]]
        for plan in (gpu, demo)
    ]
    assert limits[0] == limits[1]
    assert gpu["activation_gate"]["checks"][-1]["one_of"] == [gpu["base_model"]]
    assert f"{math.sqrt(2 * math.log(40) / gpu['task']['test_items']):.4f}" in " ".join(gpu["notes"])


@pytest.mark.parametrize("name", [name for name in SHIPPED if not name.startswith("critic_study")])
def test_both_conditions_share_everything_but_the_loss(name):
    plan = _plan(name)
    assert [(arm.condition, arm.role, arm.seed) for arm in plan.arms] == [
        ("grpo", "baseline", 0),
        ("dppo", "treatment", 0),
    ]
    assert all("\n" not in text for path, text in texts(plan) if path.startswith("notes"))


@pytest.mark.parametrize(("name", "seeds"), [("critic_study_demo", 2), ("critic_study", 3)])
def test_the_critic_study_has_four_capacities_beside_grpo_and_dpo_on_the_same_seeds(name, seeds):
    plan = _plan(name)
    conditions = ["grpo", "ppo_none", "ppo_small", "ppo_medium", "ppo_large", "dpo"]
    assert [(arm.condition, arm.seed) for arm in plan.arms] == [
        (condition, seed) for condition in conditions for seed in range(seeds)
    ]
    assert {part.critic.capacity for part in plan.advantages.values()} == {"none", "small", "medium", "large"}
    assert len({part.model_copy(update={"critic": None}) for part in plan.advantages.values()}) == 1
    assert plan.preflights.feasibility.required == (name == "critic_study")
