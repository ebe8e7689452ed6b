def test_finds_the_three_open_texts_of_v2(v2, found):
    paths = {finding.path for finding in found(v2, "unresolved_pins")}
    assert paths == {
        "correctness_preflight.status",
        "correctness_preflight.paths[0].reference_revision",
        "correctness_preflight.paths[0].baseline_revision",
    }
    assert {finding.severity for finding in found(v2, "unresolved_pins")} == {"error"}


def test_finds_an_open_pin_in_the_settings_of_format_3(resolved_v2, found):
    change = {"preflights.correctness.settings.paths.0.reference_revision": "TBD"}
    (finding,) = found(resolved_v2, "unresolved_pins", change)
    assert finding.path == "preflights.correctness.settings.paths[0].reference_revision"


def test_finds_a_required_preflight_without_revisions(resolved_v2, found):
    messages = [f.message for f in found(resolved_v2, "unresolved_pins", {"preflights.correctness.settings": {}})]
    assert len(messages) == 2
    assert "reference_revision" in messages[0]


def test_silent_on_the_resolved_plans_and_on_prose_about_open_matters(resolved_v2, demo, found):
    assert found(resolved_v2, "unresolved_pins") == []
    assert found(demo, "unresolved_pins") == []
    about = {"hypothesis": "Whether masks help is unresolved in the literature."}
    assert found(resolved_v2, "unresolved_pins", about) == []
    assert found(resolved_v2, "unresolved_pins", {"notes": ["Unresolved in the earlier plan, pinned here."]}) == []


def test_silent_on_v2_once_pinned(v2, found):
    pinned = {
        "correctness_preflight.status": "pinned",
        "correctness_preflight.paths.0.reference_revision": "c6af1d1",
        "correctness_preflight.paths.0.baseline_revision": "9dfcc3a",
    }
    assert found(v2, "unresolved_pins", pinned) == []
