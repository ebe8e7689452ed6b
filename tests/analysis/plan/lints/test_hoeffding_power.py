def test_finds_what_v2_can_show_at_1319_items(v2, resolved_v2, found):
    for document in (v2, resolved_v2):
        (finding,) = found(document, "hoeffding_power")
        assert finding.severity == "note"
        assert "half-width 0.0748" in finding.message
        assert "80% power only for a true gap of 8.2 to 8.5 points (discordance 10 to 20%; never at 5%)" in (
            finding.message
        )


def test_finds_the_numbers_of_this_plan_not_of_another(resolved_v2, found):
    (finding,) = found(resolved_v2, "hoeffding_power", {"task.test_items": 18445})
    assert "half-width 0.0200" in finding.message
    assert "discordance 5 to 20%)" in finding.message


def test_finds_that_a_tiny_test_never_reaches_power(resolved_v2, found):
    (finding,) = found(resolved_v2, "hoeffding_power", {"task.test_items": 50})
    assert "never reaches 80% power" in finding.message


def test_finds_the_half_width_alone_for_scores_that_are_not_right_or_wrong(resolved_v2, found):
    (finding,) = found(resolved_v2, "hoeffding_power", {"decision_rule.criteria.0.bounds": [0, 10]})
    assert "half-width 0.7479" in finding.message
    assert "power" not in finding.message


def test_finds_the_share_of_alpha_that_holm_leaves(resolved_v2, found):
    first = resolved_v2["decision_rule"]["criteria"][0]
    two = {"decision_rule.criteria": [first, {**first, "id": "second"}], "decision_rule.combine": "holm"}
    messages = [finding.message for finding in found(resolved_v2, "hoeffding_power", two)]
    assert len(messages) == 2
    assert all("half-width 0.0815" in message for message in messages)


def test_silent_on_another_method(resolved_v2, found):
    assert found(resolved_v2, "hoeffding_power", {"decision_rule.method": "paired_fay_lumbard"}) == []
