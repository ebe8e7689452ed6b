import json
import re
from xml.etree import ElementTree

import pytest
from made_run import evals, made_plan, right, write_experiment, write_outcomes, write_run

from audits.store.looks import read_looks
from audits.store.reader import open_run


@pytest.fixture
def run(tmp_path):
    return write_experiment(tmp_path, scores={"grpo": right(3), "dppo": right(3)})


@pytest.mark.parametrize("format", ["table", "json", "junit", "github"])
def test_every_format_names_what_does_not_pass_and_the_verdict(audit, run, format):
    audit("check", run, "--format", format)
    assert audit.code in {1, 4}
    assert "verdict" in audit.out
    assert "inconclusive" in audit.out.lower()


def test_the_object_holds_every_check_and_the_decision(audit, run):
    audit("check", run, "--format", "json")
    result = json.loads(audit.out)
    assert {"schema_version", "run", "status", "checks", "reasons", "decision"} <= set(result)
    ids = {check["id"] for check in result["checks"]}
    assert {"manifest", "data_files", "dppo_masked_token_fraction", "pairing", "verdict"} <= ids
    assert result["decision"]["verdict"] == "inconclusive"
    assert result["decision"]["recorded_look"] is True


def test_it_is_a_look_at_the_outcomes(audit, run):
    audit("check", run)
    assert len(read_looks(open_run(run).path)) == 1


def test_a_pilot_shows_no_verdict_and_records_no_look(audit, tmp_path):
    pilot = write_run(tmp_path / "pilot", scores={"grpo": right(3), "dppo": right(3)})
    audit("check", pilot, "--format", "json")
    assert json.loads(audit.out)["decision"] is None
    assert not read_looks(pilot)


def test_the_query_of_a_pilot_s_check_is_asked_of_the_pilot(audit, tmp_path):
    plan = made_plan()
    full = write_experiment(tmp_path, plan)
    log = tmp_path / "pilot/tokens/arm=dppo/seed=0/step=000000.parquet"
    assert log.exists()
    audit("check", full, "--format", "json")
    check = next(c for c in json.loads(audit.out)["checks"] if c["id"] == "dppo_masked_token_fraction")
    assert check["run"] == str(tmp_path / "pilot")
    assert audit("sql", check["run"], check["sql"], "--format", "json").code == 0
    assert json.loads(audit.out)[0]["value"] == check["value"]


def test_passed_checks_are_named_in_one_line_of_the_table(audit, run):
    audit("check", run)
    assert audit.out.count("✓ pass") == 1


def test_every_case_of_the_junit_document_is_a_check(audit, run):
    audit("check", run, "--format", "junit")
    names = [case.get("name") for case in ElementTree.fromstring(audit.out).iter("testcase")]
    assert "verdict" in names
    assert "data_files" in names


def test_exit_zero_is_for_adoption(audit, run):
    assert audit("check", run, "--exit-zero").code == 0


@pytest.fixture
def failed(tmp_path):
    """One evaluation, of which every item failed."""
    return write_outcomes(tmp_path / "run", {"qwen": [evals([0.0] * 20, error=["no tokenizer"] * 20)]})


def test_a_run_without_two_arms_has_its_audits_and_an_inconclusive_verdict_with_the_reason(audit, failed):
    audit("check", failed, "--format", "json")
    assert audit.code == 4
    result = json.loads(audit.out)
    statuses = {check["id"]: check["status"] for check in result["checks"]}
    assert (statuses["evaluation_errors"], statuses["verdict"]) == ("inconclusive", "inconclusive")
    verdict = next(check for check in result["checks"] if check["id"] == "verdict")
    assert "its only arm is qwen" in verdict["reason"]
    assert result["decision"] is None
    assert result["null_reasons"]["decision"] == verdict["reason"]
    assert not read_looks(failed)


def test_an_evaluation_that_failed_whole_comes_first_among_the_inconclusive(audit, failed):
    audit("check", failed)
    named = re.findall(r"^\? inconclusive +(\w+)", audit.out, re.MULTILINE)
    assert named[0] == "evaluation_errors"
    assert len(named) > 3


def test_a_broken_pairing_is_an_error_and_no_verdict(audit, tmp_path):
    broken = {"treatment": [evals(right(0, 3))], "baseline": [evals(right(3, 4))]}
    assert "item-003" in audit.refuses("check", write_outcomes(tmp_path / "run", broken))


def test_a_reader_has_percentage_points_and_a_program_shares(audit, run):
    for format in ("table", "junit", "github"):
        audit("check", run, "--format", format)
        assert re.search(r"\w+ 0\.00 \[−\d+\.\d\d, \+\d+\.\d\d\] pp, alpha 0\.05", audit.out), format
        assert ": 0 [-0." not in audit.out
    audit("check", run, "--format", "json")
    (verdict,) = (check for check in json.loads(audit.out)["checks"] if check["id"] == "verdict")
    assert ": 0 [-0." in verdict["notes"][0]


def test_the_help_names_each_exit_code_once_and_in_order(audit):
    audit("check", "--help")
    codes = " ".join(audit.out.split()).partition("Exit codes:")[2].partition("Arguments:")[0]
    assert re.findall(r"(?:^|; )\s*(\d)", codes) == ["0", "1", "2", "4"]
