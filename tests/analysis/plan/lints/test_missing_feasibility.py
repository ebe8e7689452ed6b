def test_finds_that_v2_requires_what_nobody_measured(v2, found):
    (finding,) = found(v2, "missing_feasibility")
    assert finding.severity == "error"
    assert finding.path == "feasibility"
    assert "Measured feasibility not recorded" in finding.message


def test_finds_a_result_whose_status_is_not_a_pass(v2, found):
    (finding,) = found(v2, "missing_feasibility", {"feasibility": {"gpu_hours": 1.5}})
    assert finding.path == "feasibility_check.status"


def test_silent_where_it_is_not_required_or_was_measured(v2, resolved_v2, found):
    assert found(v2, "missing_feasibility", {"feasibility_required": False}) == []
    measured = {"feasibility": {"gpu_hours": 1.5}, "feasibility_check.status": "pass"}
    assert found(v2, "missing_feasibility", measured) == []
    assert found(resolved_v2, "missing_feasibility") == []
