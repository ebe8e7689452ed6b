import json
import re

import pytest
from made_run import evals, gate_check, made_plan, right, write_outcomes, write_run
from prime_rl_log import write_exports


@pytest.mark.parametrize("format", ["table", "json", "junit", "github"])
def test_every_format_names_every_figure(audit, tmp_path, format):
    plan = made_plan()
    gate_check(plan, "dppo_masked_token_fraction")["min"] = 0.2
    run = write_run(tmp_path / "run", plan)
    assert audit("gate", run, "--format", format).code == 1
    assert "dppo_masked_token_fraction" in audit.out
    assert "0.2" in audit.out


def test_the_json_object_keeps_its_contract(audit, tmp_path):
    audit("gate", write_run(tmp_path / "run"), "--format", "json")
    result = json.loads(audit.out)
    assert list(result) == sorted(result)
    assert {"schema_version", "status", "checks"} <= set(result)
    keys = {
        "id", "status", "value", "limit", "numerator", "denominator", "rows_examined", "definition", "arm", "reason",
        "evidence", "sql",
    }  # fmt: skip
    for check in result["checks"]:
        assert keys <= set(check)
        watched = check["id"] in {"first_update_mismatch", "zero_variance_group_fraction"}
        assert watched == (check["limit"] is None)
        assert watched or set(check["limit"]) == {"min", "max", "one_of"}


def test_its_query_gives_the_figure_again_on_the_command_line(audit, tmp_path):
    run = write_run(tmp_path / "run")
    audit("gate", run, "--format", "json")
    checks = [check for check in json.loads(audit.out)["checks"] if check["sql"]]
    assert len(checks) == 11
    for check in checks:
        assert audit("sql", run, check["sql"], "--format", "json").code == 0
        rows = json.loads(audit.out)
        assert {row["value"] for row in rows} == {check["value"]}


@pytest.mark.parametrize(("steps", "code"), [(None, 0), (1, 4)])
def test_the_exit_code_is_the_status(audit, tmp_path, steps, code):
    run = write_run(tmp_path / "run", steps=steps)
    assert audit("gate", run).code == code
    assert audit("gate", run, "--exit-zero").code == 0


def test_outcomes_without_a_plan_have_no_gate(audit, tmp_path):
    run = write_outcomes(tmp_path / "run", {"baseline": [evals(right(2))]})
    assert "no plan is sealed" in audit.refuses("gate", run)


def test_a_damaged_file_is_one_error_that_names_it(audit, tmp_path):
    run = write_run(tmp_path / "run")
    path = run / "tokens/arm=dppo/seed=0/step=000000.parquet"
    path.write_bytes(path.read_bytes()[:100])
    assert "step=000000.parquet" in audit.refuses("gate", run)
    assert "step=000000.parquet" in audit.refuses("gate", run, "--exit-zero")


def test_a_place_that_is_no_run_is_one_error(audit, tmp_path):
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "none", tmp_path, tmp_path / "file"):
        audit.refuses("gate", place)


def test_it_writes_nothing_into_the_run(audit, tmp_path):
    run = write_run(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    audit("gate", run)
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


@pytest.fixture
def imported(audit, tmp_path):
    """Token exports of another tool as a run whose only arm is the treatment."""
    write_exports(tmp_path / "prime", steps=2)
    assert audit("import", "--arm", f"treatment={tmp_path / 'prime'}", "--out", tmp_path / "run").code == 0
    return tmp_path / "run"


def test_an_imported_run_is_held_against_a_plan_that_is_named_and_what_it_lacks_is_missing(audit, imported):
    assert audit("gate", imported, "--plan", "demo", "--format", "json").code == 1
    result = json.loads(audit.out)
    checks = {(check["id"], check["arm"]): check for check in result["checks"]}
    masked = checks["dppo_masked_token_fraction", "treatment"]
    # The plan's figure is of the second update, and such a log has one.
    assert masked["status"] == "fail"
    assert "the rule cannot fire" in masked["reason"]
    assert "not sealed in this run: nothing was registered" in result["reasons"][0]
    assert checks["executed_updates_per_batch", "treatment"]["status"] == "inconclusive"


def test_a_plan_for_one_update_finds_the_mask_in_an_imported_log(audit, imported, tmp_path):
    plan = made_plan(rollout__rollout_batches=2)
    gate_check(plan, "dppo_masked_token_fraction").update(update=0, min=0.01, max=0.9)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    audit("gate", imported, "--plan", tmp_path / "plan.json", "--format", "json")
    masked = next(check for check in json.loads(audit.out)["checks"] if check["id"] == "dppo_masked_token_fraction")
    assert masked["status"] == "pass"
    assert masked["value"] > 0.01


def test_without_a_plan_an_imported_run_has_no_gate_and_a_sealed_one_takes_no_other(audit, imported, tmp_path):
    assert "name the plan: --plan PLAN" in audit.refuses("gate", imported)
    sealed = write_run(tmp_path / "sealed")
    assert "no other is held against it" in audit.refuses("gate", sealed, "--plan", "demo")


def test_an_import_without_roles_cannot_be_held_against_a_plan(audit, tmp_path):
    write_exports(tmp_path / "prime", steps=1)
    audit("import", tmp_path / "prime", "--out", tmp_path / "run")
    assert "a gate speaks of baseline and treatment" in audit.refuses("gate", tmp_path / "run", "--plan", "demo")


def test_the_table_says_what_a_figure_is_taken_over(audit, tmp_path):
    audit("gate", write_run(tmp_path / "run"))
    said = " ".join(audit.out.split())
    assert "rollout steps, limit ≥ 2 over 2 arms," in said
    assert re.search(r"over \d+ rollout batches,", said)
    assert not re.search(r"limit \S+ \S+ of \d+,", said)
