def test_finds_that_format_1_registers_no_method(v1, found):
    (finding,) = found(v1, "no_decision_rule")
    assert finding.severity == "error"
    assert "no method" in finding.message


def test_silent_on_plans_with_a_rule(v2, resolved_v1, found):
    assert found(v2, "no_decision_rule") == []
    assert found(resolved_v1, "no_decision_rule") == []
