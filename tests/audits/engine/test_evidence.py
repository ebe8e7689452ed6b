"""What a failing check leaves in the run."""

import json
import stat

import pyarrow.parquet as pq
import pytest
from made_run import active_tokens, gate_check, made_plan, tokens, write_run

from analysis.errors import AuditError
from audits.engine import evidence
from audits.engine.ask import answer_all
from audits.engine.check import Limit
from audits.engine.evidence import leave_evidence
from audits.engine.gate import evaluate_gate
from audits.engine.judge import Question
from audits.engine.metric import parse_metric
from audits.store.reader import open_run
from audits.store.sandbox import query
from audits.store.schema import SQL_FOLDER


def failing(tmp_path, metric="dppo_masked_token_fraction", tokens_of=active_tokens, **limit):
    plan = made_plan()
    check = gate_check(plan, metric)
    check.pop("max", None)
    check.update(limit)
    run = open_run(write_run(tmp_path / "run", plan, tokens_of=tokens_of))
    report = evaluate_gate(run, run.sealed.plan, evidence=True)
    (found,) = (check for check in report.checks if check.id == metric and check.arm == "dppo")
    assert found.status == "fail"
    return run, found


def test_too_few_masked_tokens_leave_those_that_could_have_been(tmp_path):
    run, check = failing(tmp_path, min=0.5)
    assert check.evidence == "evidence/dppo_masked_token_fraction.parquet"
    table = pq.read_table(run.path / check.evidence)
    # In each of the two steps 4 tokens are pushed far and 16 calm ones with a negative advantage drift on.
    assert table.num_rows == 2 * (4 + 16)
    assert all(
        a * d > 0 for a, d in zip(*(table.column(n).to_pylist() for n in ("advantage", "p_difference")), strict=True)
    )


def test_a_check_that_passes_keeps_its_answer_beside_a_failing_one_on_the_same_metric(tmp_path):
    plan = made_plan()
    plan["activation_gate"]["checks"].append(gate_check(plan, "policy_drift_abs_p_q90") | {"min": 0.9})
    run = open_run(write_run(tmp_path / "run", plan))
    found = [check for check in evaluate_gate(run, run.sealed.plan, evidence=True).checks if "abs_p" in check.id]
    assert [(check.limit.min, check.status, check.evidence is None) for check in found] == [
        (0.005, "pass", True),
        (0.9, "fail", False),
    ]


def test_too_many_masked_tokens_leave_the_masked_ones(tmp_path):
    run, check = failing(tmp_path, min=0.0, max=0.01)
    table = pq.read_table(run.path / check.evidence)
    assert table.num_rows == check.numerator == 8
    assert min(table.column("binary_tv").to_pylist()) > 0.15


def test_rows_that_are_no_numbers_are_left_and_nothing_else(tmp_path):
    def broken(arm, seed, step):
        columns = active_tokens(arm, seed, step)
        return columns | {"current_logprob": [float("nan"), *columns["current_logprob"][1:-1], float("inf")]}

    run, check = failing(tmp_path, tokens_of=broken)
    assert pq.read_table(run.path / check.evidence).num_rows == 2
    assert check.value is None


def test_a_metric_of_any_table_leaves_its_rows(tmp_path):
    text = (SQL_FOLDER / "metrics" / "mean_reward.sql").read_text(encoding="utf-8")
    metric = parse_metric("phase_seconds", text.replace("rollouts", "phases").replace("reward", "seconds"))
    run = open_run(write_run(tmp_path / "run"))
    question = Question(run, metric, {}, "dppo", (0,), 2, None, Limit(min=1e9), "seconds a phase")
    (check,) = leave_evidence(run, list(zip([question], answer_all(run, [question]), strict=True)))
    assert check.status == "fail"
    assert set(pq.read_table(run.path / check.evidence).column("step").to_pylist()) == {0, 1}


def test_a_sample_is_capped_seeded_and_says_how_many_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "ROWS_KEPT", 5)
    kept = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        run, check = failing(tmp_path / name, min=0.5)
        table = pq.read_table(run.path / check.evidence)
        assert table.schema.metadata[b"runaudit.total_rows"] == b"40"
        assert any("5 of 40 rows" in note for note in check.notes)
        kept.append(table.to_pylist())
    assert kept[0] == kept[1]
    assert len(kept[0]) == 5


def test_its_query_gives_all_rows_through_audit_sql(tmp_path):
    run, check = failing(tmp_path, min=0.5)
    metadata = pq.read_schema(run.path / check.evidence).metadata
    with query(run, metadata[b"runaudit.query"].decode()) as relation:
        assert len(relation.fetchall()) == int(metadata[b"runaudit.total_rows"])


def test_two_failing_arms_stand_in_one_file(tmp_path):
    plan = made_plan()
    gate_check(plan, "executed_base_model")["one_of"] = ["another"]
    run = open_run(write_run(tmp_path / "run", plan))
    report = evaluate_gate(run, run.sealed.plan, evidence=True)
    paths = {check.evidence for check in report.checks if check.id == "executed_base_model"}
    assert paths == {"evidence/executed_base_model.parquet"}
    assert set(pq.read_table(run.path / paths.pop()).column("arm").to_pylist()) == {"dppo", "grpo"}


def test_a_passing_gate_and_a_gate_that_only_decides_leave_nothing(tmp_path):
    run = open_run(write_run(tmp_path / "run"))
    assert evaluate_gate(run, run.sealed.plan, evidence=True).status == "pass"
    plan = made_plan()
    gate_check(plan, "dppo_masked_token_fraction")["min"] = 0.2
    other = open_run(write_run(tmp_path / "other", plan))
    assert evaluate_gate(other, other.sealed.plan).status == "fail"
    assert not (run.path / "evidence").exists()
    assert not (other.path / "evidence").exists()


def test_a_run_that_cannot_be_written_to_is_audited_and_says_that_nothing_was_left(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(evidence, "write_evidence", refuse)
    run, check = failing(tmp_path, min=0.5)
    assert check.evidence is None
    assert any("no evidence was left" in note and "Permission denied" in note for note in check.notes)
    assert stat.S_ISDIR(run.path.stat().st_mode)


def test_a_failing_run_behind_a_url_is_audited_and_nothing_is_written_there(tmp_path):
    pytest.importorskip("upath")
    from audits.store.location import locate

    plan = made_plan()
    gate_check(plan, "grpo_clip_fraction")["min"] = 0.9
    path = write_run(tmp_path / "run", plan)
    run = open_run(locate(path.as_uri()))
    report = evaluate_gate(run, run.sealed.plan, evidence=True)
    (check,) = (check for check in report.checks if check.status == "fail")
    assert check.evidence is None
    assert any("behind a URL is only read" in note for note in check.notes)
    assert not (path / "evidence").exists()


def test_a_folder_that_is_a_link_takes_no_row(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    plan = made_plan()
    gate_check(plan, "grpo_clip_fraction")["min"] = 0.9
    run = open_run(write_run(tmp_path / "run", plan))
    (run.path / "evidence").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditError, match="is a link"):
        evaluate_gate(run, run.sealed.plan, evidence=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_command_prints_where_the_rows_are(audit, tmp_path):
    plan = made_plan()
    gate_check(plan, "grpo_clip_fraction")["min"] = 0.9
    run = write_run(tmp_path / "run", plan)
    assert audit("gate", run, "--format", "json").code == 1
    (check,) = (check for check in json.loads(audit.out)["checks"] if check["status"] == "fail")
    assert (run / check["evidence"]).is_file()
    assert audit("gate", run).code == 1
    assert "evidence: 40 of 40 rows" in " ".join(audit.out.split())


@pytest.mark.parametrize("check_id", ["../x", "a/b", ""])
def test_no_check_id_leads_out_of_the_folder(tmp_path, check_id):
    from audits.store.evidence import EvidenceFile, write_evidence

    with pytest.raises(ValueError, match="no check id"):
        write_evidence(tmp_path, check_id, EvidenceFile(None, 0, "", 0))


def test_a_dead_clip_shows_the_tokens_that_stayed_inside(tmp_path):
    def calm(arm, seed, step):
        return tokens([(u, -0.5, -0.501 + 0.002 * (n % 2), 1.0) for u in (0, 1) for n in range(10)], step)

    run, check = failing(tmp_path, "grpo_clip_fraction", tokens_of=calm)
    assert "the rule did not fire" in check.reason
    assert max(abs(ratio - 1) for ratio in pq.read_table(run.path / check.evidence).column("ratio").to_pylist()) < 0.2
