import json

import pytest
from made_run import made_plan

from analysis.paired.methods import load_method, method_ids

EVERY = [*method_ids(), *method_ids("training_seeds")]


def test_every_method_is_listed_with_what_a_reader_must_know(audit):
    assert audit("methods", "--format", "json").code == 0
    found = {method["id"]: method for method in json.loads(audit.out)["methods"]}
    assert sorted(found) == sorted(EVERY)
    for method_id, method in found.items():
        info = load_method(method_id).info
        assert method["source"] == info.source
        assert all(method[key] for key in ("title", "guarantee", "assumption", "when", "scores", "seed", "estimand"))
        assert method["unit"] in ("fixed_checkpoint_items", "training_seeds")


def test_the_table_says_the_same_and_puts_proofs_first(audit):
    audit("methods")
    for method_id in EVERY:
        assert f"\n{method_id}\n" in f"\n{audit.out}"
        assert load_method(method_id).info.title.split()[0] in audit.out
    assert audit.out.index("paired_exact_unconditional\n") < audit.out.index("paired_gaffke\n")
    assert audit.out.index("paired_gaffke\n") < audit.out.index("paired_bonett_price\n")
    assert max(map(len, audit.out.splitlines())) <= 100


@pytest.mark.parametrize("method_id", EVERY)
def test_one_method_is_explained_in_full(audit, method_id):
    import importlib

    audit("methods", method_id)
    module = importlib.import_module(load_method(method_id).interval.__module__)
    last_line = module.__doc__.strip().splitlines()[-1]
    assert last_line in audit.out
    audit("methods", method_id, "--format", "json")
    (found,) = json.loads(audit.out)["methods"]
    assert found["documentation"].strip().endswith(last_line)


def _fits(audit, tmp_path, seeds=(0,), **changes):
    plan, path = made_plan(**changes, decision_rule__seeds=list(seeds)), tmp_path / "plan.json"
    plan["arms"] = [arm | {"name": f"{arm['name']}-{seed}", "seed": seed} for arm in plan["arms"] for seed in seeds]
    path.write_text(json.dumps(plan))
    assert audit("methods", "--plan", path, "--format", "json").code == 0
    return {method["id"]: (method["fits"], " ".join(method["reasons"])) for method in json.loads(audit.out)["methods"]}


def test_a_plan_says_which_methods_fit_it(audit, tmp_path):
    fits = _fits(audit, tmp_path)
    assert fits["paired_exact_unconditional"] == (True, "")
    assert fits["paired_betting"] == (False, "the rule registers no resampling_seed")
    assert fits["seed_level_t"][0] is False
    assert "training_seeds" in fits["seed_level_t"][1]
    assert _fits(audit, tmp_path, decision_rule__resampling_seed=7)["paired_betting"] == (True, "")


def test_means_of_samples_are_not_right_or_wrong(audit, tmp_path):
    fits = _fits(audit, tmp_path, evaluation__samples_per_item=4)
    assert fits["paired_exact_unconditional"][0] is False
    assert "mean over samples" in fits["paired_exact_unconditional"][1]
    assert fits["paired_hoeffding"] == (True, "")
    fits = _fits(audit, tmp_path, seeds=[0, 1])
    assert "mean over samples or seeds" in fits["paired_exact_unconditional"][1]


def test_a_claim_about_training_needs_its_methods_and_seeds(audit, tmp_path):
    training = {"decision_rule__unit": "training_seeds"}
    fits = _fits(audit, tmp_path, **training)
    assert "needs 3 seeds" in fits["seed_level_t"][1]
    assert "unit is training_seeds" in fits["paired_hoeffding"][1]
    assert _fits(audit, tmp_path, seeds=[0, 1, 2], **training)["seed_level_t"] == (True, "")


def test_other_bounds_are_not_right_or_wrong(audit, tmp_path):
    plan = made_plan()
    plan["decision_rule"]["criteria"][0]["bounds"] = [0.0, 2.0]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    audit("methods", "paired_tango", "--plan", path)
    assert "no: criterion" in audit.out
    audit("methods", "paired_hoeffding", "--plan", path)
    assert "fits the plan yes" in audit.out


def test_an_unknown_method_or_plan_is_an_error(audit):
    assert 'did you mean "paired_tango"' in audit.refuses("methods", "paired_tang")
    assert "neither a plan file" in audit.refuses("methods", "--plan", "no-such-plan")
