"""What a plan demands of generated training data."""

import pytest
from asked_run import answers, prompts, together
from audit_runs.generation_audit import MET, run_with
from made_run import made_plan, write_outcomes, write_run
from ran_audit import faults, ran

from audits.store.writer import RunWriter

AUDIT_ID = "generation_audit"


def test_it_applies_only_where_a_plan_demands_it(tmp_path):
    cases = {
        "no plan is sealed": write_outcomes(tmp_path / "imported", {"treatment": [answers(2)]}),
        "no generation_audit": write_run(tmp_path / "none", made_plan(), tokens_of=None),
        "not required": run_with(tmp_path / "optional", {"label_errors": 9}, required=False),
    }
    for reason, path in cases.items():
        check = ran(path, AUDIT_ID).check
        assert check.status == "not_applicable"
        assert reason in check.reason


@pytest.mark.parametrize("found", [None, {}, "unresolved", {"sample_size": "unresolved", "label_errors": True}])
def test_without_a_usable_result_it_is_inconclusive(found, tmp_path):
    findings = ran(run_with(tmp_path / "run", found), AUDIT_ID)
    assert (findings.check.status, findings.check.rows_examined) == ("inconclusive", 4)
    assert faults(findings) == {("not recorded", "inconclusive"): 4}


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        ({"sample_size": 99}, "sample_size"),
        ({"label_errors": 2}, "label_errors"),
        ({"eval_overlaps": 1}, "eval_overlaps"),
        ({"answer_comparison": "sympy"}, "answer_comparison"),
    ],
)
def test_each_demand_is_held_to_its_limit(found, fault, tmp_path):
    findings = ran(run_with(tmp_path / "run", MET | found), AUDIT_ID)
    assert faults(findings) == {(f"{fault} not met", "fail"): 1}


def test_one_result_that_is_missing_is_named(tmp_path):
    found = {name: value for name, value in MET.items() if name != "sample_size"}
    findings = ran(run_with(tmp_path / "run", found), AUDIT_ID)
    assert [row[:3] for row in findings.rows] == [("not recorded", "inconclusive", "sample_size")]
    for value in (-1, float("inf")):
        assert (
            ran(run_with(tmp_path / str(value), MET | {"sample_size": value}), AUDIT_ID).check.status == "inconclusive"
        )


def test_overlaps_are_counted_in_the_logs_and_the_larger_number_holds(tmp_path):
    path = run_with(tmp_path / "run", MET)
    writer = RunWriter.reopen(path)
    writer.write_prompts(together(prompts(["Who is it?", "Else?"]), prompts(["who is it"], split="train")))
    writer.write_evals("dppo", 0, "final", answers(2))
    findings = ran(path, AUDIT_ID)
    assert [row[:3] for row in findings.rows] == [("eval_overlaps not met", "fail", "eval_overlaps")]
    assert "eval_overlaps 1 (logs), demanded at most 0" in findings.check.notes
    assert ran(run_with(tmp_path / "met", MET, max_eval_overlaps=1), AUDIT_ID).check.status == "pass"
