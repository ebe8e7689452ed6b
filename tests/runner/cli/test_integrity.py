import json

import pytest
from made_run import evals, right, write_outcomes


@pytest.fixture
def broken(tmp_path):
    return write_outcomes(tmp_path / "run", {"treatment": [evals(right(3, 19))], "baseline": [evals(right(4))]})


@pytest.mark.parametrize("format", ["table", "json", "junit", "github"])
def test_every_format_names_the_finding_and_what_to_do(audit, broken, format):
    assert audit("integrity", broken, "--only", "pairing", "--format", format).code == 1
    assert "pairing" in audit.out
    assert "1 missing" in audit.out


def test_its_query_gives_the_rows_again(audit, broken):
    audit("integrity", broken, "--only", "pairing", "--format", "json")
    (check,) = json.loads(audit.out)["checks"]
    assert (check["status"], check["value"], check["evidence"]) == ("fail", 1.0, "evidence/pairing.parquet")
    assert audit("sql", broken, check["sql"], "--format", "json").code == 0
    assert [row["item_id"] for row in json.loads(audit.out)] == ["item-019"]


def test_an_unknown_audit_is_a_mistake_of_the_caller(audit, broken):
    assert "pairing" in audit.refuses("integrity", broken, "--only", "pairng")


def test_exit_zero_is_for_adoption(audit, broken):
    assert audit("integrity", broken, "--only", "pairing", "--exit-zero").code == 0


def test_without_a_run_there_is_nothing_to_audit(audit, tmp_path):
    assert "no such run" in audit.refuses("integrity", tmp_path / "nothing")


def test_every_row_behind_a_finding_is_one_command(audit, broken):
    audit("integrity", broken, "--only", "pairing")
    assert f"audit integrity {broken} --rows pairing" in " ".join(audit.out.split())
    assert audit("integrity", broken, "--rows", "pairing").code == 0
    assert "item-019" in audit.out
    audit("integrity", broken, "--rows", "pairing", "--format", "json")
    assert [row["item_id"] for row in json.loads(audit.out)] == ["item-019"]
    assert "json" in audit.refuses("integrity", broken, "--rows", "pairing", "--format", "junit")
    assert "pairing" in audit.refuses("integrity", broken, "--rows", "pairng")


def test_audits_that_lack_the_same_evidence_share_a_line_of_the_table(audit, broken):
    audit("integrity", broken)
    said = " ".join(audit.out.split())
    assert (
        "? inconclusive logprob_alignment, logprob_values, sampler_temperature, token_rows "
        "needs table tokens, which this run does not have (audit run writes it)"
    ) in said
    assert said.count("needs table tokens,") == 1
    audit("integrity", broken, "--format", "json")
    lacking = [check for check in json.loads(audit.out)["checks"] if "needs table tokens," in (check["reason"] or "")]
    assert len(lacking) == 4


def test_the_rows_of_an_audit_without_a_finding_are_said_to_be_none(audit, tmp_path):
    clean = write_outcomes(tmp_path / "clean", {"treatment": [evals(right(3))], "baseline": [evals(right(4))]})
    audit("integrity", clean, "--rows", "pairing")
    assert audit.out == "no offending rows\n"
    audit("integrity", clean, "--only", "pairing")
    assert "denominator" not in audit.out
