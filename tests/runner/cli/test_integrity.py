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
