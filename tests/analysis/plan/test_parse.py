import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import AuditError
from analysis.plan.legacy import PlanV1, PlanV2
from analysis.plan.model import Plan
from analysis.plan.parse import format_of, parse_plan, parse_plan_text
from runner.loop.plans import shipped_plans

SPECS = Path(__file__).parents[2] / "data" / "specs"
FILES = {**{path.stem + " as written": path for path in SPECS.glob("*.json")}, **shipped_plans()}
DOCUMENTS = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in FILES.items()}

# Mappings whose keys the plan's author chooses.
FREE = {"settings", "losses", "advantages", "weights", "learning_rates"}
FREE_LEGACY = {"phases", "optimizer_config", "tolerances", "weights", "feasibility"}


def problems(document):
    with pytest.raises(AuditError) as caught:
        parse_plan(document, source="p.json")
    assert caught.value.exit_code == 2
    return caught.value.message.splitlines()


def _changed(document, path, value):
    document = json.loads(json.dumps(document))
    *parents, last = path
    target = document
    for part in parents:
        target = target[part]
    target[last] = value
    return document


def test_formats_are_recognised_without_a_key(v1, v2, demo):
    assert isinstance(parse_plan(v1, source="p"), PlanV1)
    assert isinstance(parse_plan(v2, source="p"), PlanV2)
    assert isinstance(parse_plan(demo, source="p"), Plan)
    assert [format_of(parse_plan(d, source="p")) for d in (v1, v2, demo)] == [1, 2, 3]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_files_are_the_author_s(version):
    name = f"dppo_vs_grpo_{version}.json"
    original = Path(__file__).parents[4] / "shared" / "specs" / name
    if not original.exists():
        pytest.skip("the author's originals are not beside this checkout")
    assert (SPECS / name).read_bytes() == original.read_bytes()


@pytest.mark.parametrize("value", [1, 2, 4, "3", True, None, [3]])
def test_another_format_is_refused(demo, value):
    (line,) = problems({**demo, "format": value})
    assert "This version reads 3" in line


def test_a_format_3_plan_without_its_key_is_told_so(demo):
    del demo["format"]
    assert problems(demo) == ['p.json: format: missing. A plan with rollout or losses needs "format": 3.']


@pytest.mark.parametrize("document", [[], "x", 3, None, True])
def test_what_is_not_an_object_is_refused(document):
    assert "a plan is a JSON object" in problems(document)[0]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("losses", "dppo", "detla"), 0.1, 'losses.dppo.detla: unknown key; did you mean "delta"?'),
        (("rollout", "group_size"), 1, "rollout.group_size: 1 is not >= 2"),
        (("rollout", "temperature"), 0, "rollout.temperature: 0 is not > 0.0"),
        (("optimizer", "beta1"), 1, "optimizer.beta1: 1 is not < 1.0"),
        (("arms", 0, "role"), "treatmnt", "did you mean \"treatment\"?"),
        (("arms", 1, "sed"), 1, 'arms[1].sed: unknown key; did you mean "seed"?'),
        (("preflights", "feasibility", "requird"), True, 'preflights.feasibility.requird: unknown key; did you mean "'),
        (("activation_gate", "checks", 2, "mn"), 1, 'activation_gate.checks[2].mn: unknown key; did you mean "min"?'),
        (("zzz",), 1, "zzz: unknown key. Known: activation_gate, advantage_measurement,"),
        (("rollout", "max_tokens"), "8", "rollout.max_tokens: '8' is not valid: input should be a valid integer"),
        (("optimizer", "learning_rate"), "3e-4", "optimizer.learning_rate: '3e-4' is not valid"),
        (("lora_rank",), True, "lora_rank: true is not valid"),
        (("rollout", "rollout_batches"), 20.5, "rollout.rollout_batches: 20.5 is not valid"),
        (("task",), None, "task: null is not valid"),
        (("budget",), [], "budget: an array is not valid"),
        (("supersedes",), "abc", "supersedes: 'abc' is not valid"),
        (("arms", 1, "loss"), "dpo", "plan: arm 'dppo_seed0' names loss 'dpo'"),
        (("arms", 1, "name"), "grpo_seed0", "plan: two arms share a name"),
        (("arms", 0, "condition"), "base", "arms[0]: condition base is the base model's own"),
        (("losses", "grpo", "truncation"), 1.1, "losses.grpo: truncation below 1 + eps"),
        (("arms", 0, "seed"), 10**15, "arms[0].seed: 1000000000000000 is not <= 999999999999999"),
        (("rollout", "updates_per_batch"), 128, "rollout.updates_per_batch: 128 is not <= 127"),
        (("losses", "dppo", "eps"), 0.2, "losses.dppo: a divergence_mask loss has divergence and delta"),
        (("losses", "dppo", "top_k"), 4, "losses.dppo: topk_tv and topk_kl need top_k, and nothing else has it"),
        (("losses", "dppo", "divergence"), "topk_kl", "losses.dppo: topk_tv and topk_kl need top_k"),
        (("losses", "grpo", "top_k"), 4, "losses.grpo: topk_tv and topk_kl need top_k"),
        (("losses", "dppo", "top_k"), 21, "losses.dppo.top_k: 21 is not <= 20"),
        (("losses", "grpo", "beta"), 0.1, "losses.grpo: beta and the anchor base belong to a preference loss"),
        (("losses", "grpo", "anchor"), "base", "losses.grpo: beta and the anchor base belong to a preference loss"),
        (("losses", "grpo", "kind"), "preference", "losses.grpo: a preference loss has beta, and neither eps"),
        (("losses", "dppo", "kl_coefficient"), 0.1, "losses.dppo: kl_coefficient belongs to a ratio_clip loss"),
        (("arms", 0, "advantage"), "ppo", "plan: arm 'grpo_seed0' names advantage 'ppo', which is not"),
        (("losses", "grpo", "form"), "score", "losses.grpo: a ratio_clip loss exists in the ratio form only"),
        (("sweep",), {"learning_rates": {"grp": [1e-4]}}, "plan: sweep names condition 'grp'"),
        (("decision_rule", "seeds"), [7], "plan: decision_rule.seeds names a seed that no arm has"),
        (("\x1b[2J",), 1, r"'\x1b[2J': unknown key"),
    ],
)  # fmt: skip
def test_each_problem_has_its_path(demo, path, value, line):
    lines = problems(_changed(demo, path, value))
    assert any(line in text for text in lines), lines
    assert all(text.startswith("p.json: ") for text in lines)
    assert "\x1b" not in "".join(lines)


def test_a_missing_key_is_named(demo):
    del demo["rollout"]["renderer"]
    assert problems(demo) == ["p.json: rollout.renderer: missing"]


def test_all_problems_are_listed_and_unknown_keys_come_first(demo):
    demo["rollout"]["gruop_size"] = demo["rollout"].pop("group_size")
    demo["losses"]["dppo"]["delta"] = -1
    assert problems(demo) == [
        'p.json: rollout.gruop_size: unknown key; did you mean "group_size"?',
        "p.json: rollout.group_size: missing",
        "p.json: losses.dppo.delta: -1 is not > 0.0",
    ]


def test_a_document_with_nan_is_refused(demo):
    demo["preflights"]["feasibility"]["settings"] = {"x": float("nan")}
    assert "cannot be written as JSON" in problems(demo)[0]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_plan_survives_a_round_trip(name):
    plan = parse_plan(DOCUMENTS[name], source=name)
    again = parse_plan_text(plan.model_dump_json(), source=name)
    assert again == plan


@given(
    groups=st.integers(1, 10**6),
    temperature=st.floats(1e-3, 1e3),
    rate=st.floats(1e-12, 1.0),
    text=st.text(st.characters(codec="utf-8")),
    band=st.none() | st.floats(1e-9, 1.0),
)
@settings(max_examples=50, deadline=None)
def test_any_values_survive_a_round_trip(groups, temperature, rate, text, band):
    document = _changed(DOCUMENTS["demo"], ("rollout", "groups_per_batch"), groups)
    document["rollout"]["temperature"] = temperature
    document["optimizer"]["learning_rate"] = rate
    document["hypothesis"] = text
    document["decision_rule"]["criteria"][0]["band"] = band
    plan = parse_plan_text(json.dumps(document), source="p")
    assert (plan.rollout.groups_per_batch, plan.rollout.temperature) == (groups, temperature)
    assert (plan.optimizer.learning_rate, plan.hypothesis) == (rate, text)
    assert plan.decision_rule.criteria[0].band == band
    assert parse_plan_text(plan.model_dump_json(), source="p") == plan


def _closed_objects(value, free, path=()):
    """Yield the path of every object whose keys are the format's, not the author's."""
    if isinstance(value, dict):
        closed = not path or path[-1] not in free
        if closed:
            yield path
        for key, item in value.items():
            # Below the author's own keys only losses and tolerances are the format's again.
            if closed or path[-1] in {"losses", "tolerances"}:
                yield from _closed_objects(item, free, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _closed_objects(item, free, (*path, index))


PLACES = [
    (name, path)
    for name, document in DOCUMENTS.items()
    for path in _closed_objects(document, FREE if "format" in document else FREE_LEGACY)
]


def test_there_are_many_places_for_an_unknown_key():
    assert len(PLACES) > 80


@given(place=st.sampled_from(PLACES), key=st.from_regex(r"[a-z_]{1,12}x9", fullmatch=True))
@settings(max_examples=200, deadline=None)
def test_an_unknown_key_is_refused_at_any_depth(place, key):
    name, path = place
    lines = problems(_changed(DOCUMENTS[name], (*path, key), 1))
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (*path, key)).lstrip(".")
    assert lines[0].startswith(f"p.json: {shown}: unknown key")
