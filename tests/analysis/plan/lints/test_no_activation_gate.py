def test_finds_that_nothing_shows_that_the_treatment_acted(v1, resolved_v1, found):
    assert len(found(v1, "no_activation_gate")) == 1
    (finding,) = found(resolved_v1, "no_activation_gate")
    assert finding.severity == "warn"


def test_finds_a_gate_that_was_switched_off(demo, found):
    assert len(found(demo, "no_activation_gate", {"activation_gate.applicable": False})) == 1


def test_silent_where_a_gate_applies(v2, demo, found):
    assert found(v2, "no_activation_gate") == []
    assert found(demo, "no_activation_gate") == []
