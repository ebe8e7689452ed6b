import json
from pathlib import Path

import pytest
from made_run import change_json, evals, right, write_experiment, write_outcomes, write_run

from analysis.plan.model import Plan

GSM8K = Path(__file__).parents[2] / "data" / "gsm8k" / "outcomes.csv"


@pytest.mark.parametrize(
    ("baseline", "treatment", "estimate", "limits", "gains", "losses", "verdict", "code"),
    [
        ("175b_finetuning", "6b_verification", 0.0432, (-0.0316, 0.1180), 209, 152, "inconclusive", 4),
        ("6b_finetuning", "6b_verification", 0.1736, (0.0988, 0.2484), 293, 64, "validated", 0),
        ("6b_verification", "6b_finetuning", -0.1736, (-0.2484, -0.0988), 64, 293, "refuted", 1),
    ],
)
def test_published_gsm8k_outcomes_give_the_known_verdicts(
    audit, tmp_path, baseline, treatment, estimate, limits, gains, losses, verdict, code
):
    arms = ["--arm", f"baseline={baseline}_correct", "--arm", f"treatment={treatment}_correct"]
    assert audit("import", "outcomes", GSM8K, *arms, "--out", tmp_path / "run").code == 0
    audit("decide", tmp_path / "run", "--format", "json")
    result = json.loads(audit.out)
    assert (audit.code, result["verdict"], result["n_items"]) == (code, verdict, 1319)
    (criterion,) = result["criteria"]
    assert criterion["estimate"] == pytest.approx(estimate, abs=5e-5)
    assert (criterion["lower"], criterion["upper"]) == pytest.approx(limits, abs=5e-5)
    assert (criterion["counts"]["only_treatment"], criterion["counts"]["only_baseline"]) == (gains, losses)
    assert criterion["counts"]["both"] + criterion["counts"]["neither"] == 1319 - gains - losses


@pytest.fixture
def outcomes(tmp_path):
    return write_outcomes(tmp_path / "run", {"treatment": [evals(right(20))], "baseline": [evals(right(0))]})


@pytest.mark.parametrize("format", ["table", "json", "junit", "github"])
def test_every_format_says_the_verdict_and_exits_with_it(audit, outcomes, format):
    audit("decide", outcomes, "--format", format)
    assert audit.code == 0
    assert "paired_hoeffding" in audit.out
    # A JUnit case that passes has no word of its own.
    assert "validated" in audit.out.lower() or "<testcase" in audit.out


def test_the_options_reach_the_rule(audit, outcomes):
    options = ["--alpha", "0.01", "--margin", "0.1", "--floor", "-0.2", "--band", "0.3"]
    audit("decide", outcomes, *options, "--weights", "treatment=1, baseline=-1", "--format", "json")
    result = json.loads(audit.out)
    (criterion,) = result["criteria"]
    assert (result["alpha"], criterion["margin"], criterion["floor"], criterion["band"]) == (0.01, 0.1, -0.2, 0.3)


@pytest.mark.parametrize(
    "weights", ["", "treatment", "treatment=x,baseline=-1", "treatment=1",
                "treatment=1,treatment=1,baseline=-2", "=1,baseline=-1", "treatment=nan,baseline=-1",
                "treatment=inf,baseline=-inf",
                "treatment=1,,baseline=-1"],
)  # fmt: skip
def test_weights_that_are_none_are_refused(audit, outcomes, weights):
    assert "--weights" in audit.refuses("decide", outcomes, "--weights", weights)


@pytest.mark.parametrize("option", ["alpha", "margin", "floor", "band"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "x"])
def test_a_number_that_is_none_is_refused(audit, outcomes, option, value):
    assert option in audit.refuses("decide", outcomes, f"--{option}={value}")


def test_exit_zero_changes_the_code_only(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(0))], "baseline": [evals(right(20))]})
    assert audit("decide", run, "--format", "json").code == 1
    refuted = audit.out
    assert audit("decide", run, "--format", "json", "--exit-zero").code == 0
    assert audit.out == refuted


def test_a_broken_pairing_is_an_error_in_spite_of_exit_zero(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(0, 3))], "baseline": [evals(right(3, 4))]})
    assert "item-003" in audit.refuses("decide", run, "--exit-zero")
    assert not (run / "looks.jsonl").exists()


def test_each_look_is_recorded(audit, outcomes, tmp_path):
    from audits.store.looks import read_looks

    audit("decide", outcomes)
    audit("decide", outcomes, "--method", "paired_bootstrap")
    first, second = read_looks(outcomes)
    assert (first["method"], first["registered"], first["verdict"], first["n_items"]) == (
        "paired_hoeffding", False, "validated", 20,
    )  # fmt: skip
    assert second["method"] == "paired_bootstrap"
    full = write_experiment(tmp_path)
    audit("decide", full)
    audit("decide", full, "--method", "paired_bootstrap")
    assert [look["registered"] for look in read_looks(full)] == [True, False]
    # No item tells the bootstrap anything here: all differ alike, so that it would have no width.
    assert [look["verdict"] for look in read_looks(full)] == ["validated", "inconclusive"]


def test_looks_at_other_questions_leave_other_lines(audit, tmp_path):
    from audits.store.looks import read_looks

    arms = {"treatment": [evals(right(20))], "baseline": [evals(right(5))], "third": [evals(right(0))]}
    run = write_outcomes(tmp_path / "run", arms)
    audit("decide", run)
    audit("decide", run, "--margin", "0.1", "--floor", "-0.2", "--band", "0.3")
    audit("decide", run, "--weights", "treatment=1,third=-1")
    asked = ("margin", "floor", "band", "weights", "estimate")
    plain = {"treatment": 1.0, "baseline": -1.0}
    looks = read_looks(run)
    assert [tuple(look["criteria"][0][name] for name in asked) for look in looks] == [
        (0.0, 0.0, None, plain, 0.75),
        (0.1, -0.2, 0.3, plain, 0.75),
        (0.0, 0.0, None, {"treatment": 1.0, "third": -1.0}, 1.0),
    ]
    assert all(look["criteria"][0]["lower"] < 1.0 <= look["criteria"][0]["upper"] for look in looks)
    assert {look["unit"] for look in looks} == {"fixed_checkpoint_items"}


def test_a_look_holds_the_interval_of_the_method_that_was_looked_at(audit, tmp_path):
    from audits.store.looks import read_looks

    full = write_experiment(tmp_path, scores={"grpo": right(12), "dppo": right(20)})
    for method in ("paired_hoeffding", "paired_exact_unconditional", "seed_level_t"):
        audit("decide", full, "--method", method)
    first, second, third = (look["criteria"][0] for look in read_looks(full))
    assert second["lower"] > first["lower"]
    assert third["lower"] is None
    assert third["weights"] == first["weights"] != {}


def test_a_look_holds_the_verdict_of_the_method_that_was_looked_at(audit, tmp_path):
    from audits.store.looks import read_looks

    full = write_experiment(tmp_path, scores={"grpo": right(12), "dppo": right(20)})
    for method in ("paired_hoeffding", "paired_exact_unconditional", "seed_level_t"):
        audit("decide", full, "--method", method)
    assert [(look["method"], look["verdict"]) for look in read_looks(full)] == [
        ("paired_hoeffding", "inconclusive"), ("paired_exact_unconditional", "validated"), ("seed_level_t", "none"),
    ]  # fmt: skip


def test_a_read_only_run_is_decided_and_says_that_nothing_was_recorded(audit, outcomes, monkeypatch):
    def read_only(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("audits.store.looks.append_lines", read_only)
    audit("decide", outcomes, "--format", "json")
    assert (audit.code, json.loads(audit.out)["recorded_look"]) == (0, False)
    assert "read-only" in audit.err
    assert "not recorded" in audit.err
    assert not (outcomes / "looks.jsonl").exists()


def test_a_directory_in_the_place_of_the_looks_hinders_no_decision(audit, outcomes):
    (outcomes / "looks.jsonl").mkdir()
    assert audit("decide", outcomes).code == 0
    assert "not recorded" in audit.err


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"1" * 5000, b"[" * 100_000])
def test_looks_that_somebody_changed_are_an_error_to_their_reader(tmp_path, content):
    from analysis.errors import AuditError
    from audits.store.looks import read_looks

    (tmp_path / "looks.jsonl").write_bytes(content + b"\n")
    with pytest.raises(AuditError, match=r"looks\.jsonl"):
        read_looks(tmp_path)


@pytest.fixture
def vote(outcomes):
    run = json.loads((outcomes / "run.json").read_text())
    for arm in run["arms"]:
        arm["settings"] = {"aggregation": "majority_of_5" if arm["role"] == "treatment" else "single"}
    change_json(outcomes / "run.json", arms=run["arms"])
    return outcomes


def test_an_audit_that_fails_stands_beside_a_validated_verdict_and_changes_neither_word_nor_code(audit, vote):
    assert audit("decide", vote).code == 0
    said = " ".join(audit.out.split())
    assert said.startswith("✓ VALIDATED")
    assert "against it integrity audit comparable_arms fails" in said
    assert f"(auditintegrity{vote}--onlycomparable_arms)" in "".join(audit.out.split())
    assert not audit.err
    audit("decide", vote, "--format", "json")
    result = json.loads(audit.out)
    assert [(found["id"], found["status"]) for found in result["against"]] == [("comparable_arms", "fail")]
    assert {"comparable_arms", "evaluation_errors", "executed_settings", "pairing"} <= set(result["audited"])
    for format in ("junit", "github"):
        audit("decide", vote, "--format", format)
        assert "against it: integrity audit comparable_arms fails" in audit.out


def test_it_says_which_audits_were_asked_where_none_fails(audit, outcomes):
    audit("decide", outcomes)
    assert "against it" not in audit.out
    assert "comparable_arms" in audit.out
    assert "all of them: audit check" in " ".join(audit.out.split())


def test_audits_that_cannot_be_asked_stop_no_decision(audit, outcomes):
    (outcomes / "policy.json").write_text("{")
    assert audit("decide", outcomes).code == 0
    assert "not audited here" in audit.out
    assert "policy.json" in "".join(audit.out.split())
    audit("decide", outcomes, "--format", "json")
    result = json.loads(audit.out)
    assert (result["against"], result["audited"]) == (None, None)
    assert "policy.json" in result["null_reasons"]["audited"]


def test_a_vote_is_no_checkpoint(audit, vote, tmp_path):
    audit("decide", vote)
    said = " ".join(audit.out.split())
    assert "This speaks of these outcomes" in said
    assert "treatment is a majority vote over 5 answers an item, not one checkpoint." in said


def test_other_weights_name_the_arms_that_they_weigh(audit, tmp_path):
    arms = {"treatment": [evals(right(20))], "baseline": [evals(right(5))], "third": [evals(right(0))]}
    run = write_outcomes(tmp_path / "run", arms)
    audit("decide", run)
    assert "treatment against baseline" in audit.out
    audit("decide", run, "--weights", "baseline=1,third=-1")
    assert "compared    baseline minus third" in audit.out
    audit("decide", run, "--weights", "treatment=1,baseline=-0.5,third=-0.5")
    assert "compared    treatment minus 0.5 times baseline minus 0.5 times third" in audit.out


def test_the_command_to_see_it_again_keeps_the_method_that_was_asked_for(audit, tmp_path):
    full = write_experiment(tmp_path)
    audit("decide", full, "--method", "paired_bootstrap")
    assert f"auditdecide{full}--methodpaired_bootstrap" in "".join(audit.out.split())


def test_the_newest_full_or_imported_run_is_taken_and_said(audit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    full = write_experiment(tmp_path / "runs")
    for number, path in enumerate((full, tmp_path / "runs" / "pilot")):
        data = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps(data | {"started_at": f"2026-0{number + 1}-01T00:00:00+00:00"}))
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{")
    audit("decide", "--format", "json")
    assert json.loads(audit.out)["registered"] is True
    assert f"{Path('runs') / 'full'} (the newest)" in audit.err
    assert "passed over: runs" in audit.err
    audit("gate")
    assert f"{Path('runs') / 'pilot'} (the newest)" in audit.err


def test_without_any_run_it_says_how_to_make_one(audit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "audit demo" in audit.refuses("decide")


def test_hostile_text_of_a_model_reaches_no_terminal_as_a_command(audit, tmp_path):
    bad = evals([None, 1.0], error=["\x1b[31m\u202eboo\x07", None])
    run = write_outcomes(tmp_path / "run", {"treatment": [bad], "baseline": [evals([1.0, 1.0])]})
    said = audit.refuses("decide", run)
    assert "boo" in said
    assert not {"\x1b", "\u202e", "\x07"} & set(said)


def test_arms_of_other_roles_are_named_with_the_line_to_type(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"base": [evals(right(5))], "treat": [evals(right(20))]})
    said = audit.refuses("decide", run)
    assert "its arms are base, treat" in said
    assert "--arm baseline=… --arm treatment=…" in said
    typed = said.partition("--weights ")[2].split("`")[0]
    assert typed == "treat=1,base=-1"
    assert audit("decide", run, "--weights", typed).code == 0


def test_one_arm_is_nothing_to_compare_and_is_named(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"qwen": [evals(right(5))]})
    said = audit.refuses("decide", run)
    assert "its only arm is qwen" in said
    assert "--weights" not in said


def test_a_run_of_the_pilot_only_has_nothing_to_decide_on(audit, tmp_path):
    assert "nothing to decide on" in audit.refuses("decide", write_run(tmp_path / "pilot"))


def test_every_part_of_a_plan_may_be_changed_and_the_verdict_is_void(audit, tmp_path):
    assert {"decision_rule", "activation_gate"} <= set(Plan.model_fields)
    full = write_experiment(tmp_path)
    text = (full / "plan.json").read_text()
    assert '"alpha":0.05' in text
    (full / "plan.json").write_text(text.replace('"alpha":0.05', '"alpha":0.5'))
    assert audit("decide", full).code == 4
    assert "VOID" in audit.out
