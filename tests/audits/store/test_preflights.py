"""Results of preflights on disk, and which directories may take a pilot."""

import json

import pytest

from analysis.errors import AuditError
from audits.store.preflights import (
    Comparison,
    PreflightResult,
    read_result,
    read_results,
    require_free,
    result_path,
    write_result,
)

PLAN, OTHER = "a" * 64, "b" * 64


def result(**changes):
    values = {"id": "restoration", "status": "pass", "plan_sha256": PLAN}
    return PreflightResult(**{**values, **changes})


def test_a_result_is_read_as_it_was_written_and_replaced_whole(tmp_path):
    comparison = Comparison(path="a/b", metric="loss", status="fail", largest_deviation=0.5, limit={"max": 0.1}, n=3)
    write_result(tmp_path, result(comparisons=[comparison], seconds=1.5))
    assert read_result(tmp_path, "restoration").comparisons == [comparison]
    write_result(tmp_path, result(status="fail"))
    assert read_results(tmp_path)["restoration"].status == "fail"
    assert [path.name for path in (tmp_path / "preflight").iterdir()] == ["restoration.json"]


def test_a_missing_result_is_none(tmp_path):
    assert read_result(tmp_path, "correctness") is None
    assert read_results(tmp_path) == {}


def test_a_result_under_another_s_name_is_refused(tmp_path):
    written = write_result(tmp_path, result())
    written.rename(written.with_name("correctness.json"))
    with pytest.raises(AuditError, match=r"correctness\.json.*of 'restoration'"):
        read_result(tmp_path, "correctness")


def test_keys_of_a_later_version_are_kept_and_a_status_that_is_none_is_refused(tmp_path):
    path = write_result(tmp_path, result())
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | {"signed_by": "x"}), encoding="utf-8")
    assert read_result(tmp_path, "restoration").signed_by == "x"
    path.write_text(json.dumps(data | {"status": "fine"}), encoding="utf-8")
    with pytest.raises(AuditError, match=r"restoration\.json: not a preflight result \(status"):
        read_result(tmp_path, "restoration")


def test_a_pilot_may_be_made_where_only_its_own_preflights_are(tmp_path):
    require_free(tmp_path / "absent", PLAN)
    require_free(tmp_path, PLAN)
    write_result(tmp_path, result())
    require_free(tmp_path, PLAN)
    with pytest.raises(AuditError, match="was made for plan aaaa"):
        require_free(tmp_path, OTHER)
    with pytest.raises(AuditError, match="not empty"):
        require_free(tmp_path, None)
    (tmp_path / "note.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(AuditError, match="not empty"):
        require_free(tmp_path, PLAN)


def test_what_a_killed_writer_left_is_no_result(tmp_path):
    write_result(tmp_path, result())
    (result_path(tmp_path, "x").parent / ".correctness.json.abc.tmp").write_text("{", encoding="utf-8")
    assert set(read_results(tmp_path)) == {"restoration"}
    require_free(tmp_path, PLAN)


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "run").write_text("mine", encoding="utf-8")
    with pytest.raises(AuditError, match="not empty"):
        require_free(tmp_path / "run", PLAN)
