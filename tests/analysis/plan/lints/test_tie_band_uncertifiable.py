def test_finds_that_the_two_point_band_of_v1_can_never_be_certified(resolved_v1, found):
    (finding,) = found(resolved_v1, "tie_band_uncertifiable")
    assert finding.path == "decision_rule.criteria[0].band"
    assert "a tie within 2 points can never be certified at n=1319 under paired_hoeffding" in finding.message
    assert "a narrower method certifies it only below about 5% discordant items" in finding.message
    assert "18445 items" in finding.mend
    assert "band of at least 0.0748" in finding.mend


def test_finds_a_band_just_below_the_half_width(resolved_v1, found):
    (finding,) = found(resolved_v1, "tie_band_uncertifiable", {"decision_rule.criteria.0.band": 0.0747})
    assert "can never be certified" in finding.message


def test_finds_the_discordance_limit_of_a_narrower_method(resolved_v1, found):
    (finding,) = found(resolved_v1, "tie_band_uncertifiable", {"decision_rule.method": "paired_fay_lumbard"})
    assert finding.severity == "note"
    assert "never" not in finding.message
    assert "below about 5% discordant items" in finding.message


def test_finds_a_band_that_no_method_certifies(resolved_v1, found):
    (finding,) = found(resolved_v1, "tie_band_uncertifiable", {"decision_rule.criteria.0.band": 0.001})
    assert "no narrower method certifies it either" in finding.message


def test_silent_without_a_band_with_a_wide_one_or_with_enough_items(resolved_v1, resolved_v2, found):
    assert found(resolved_v2, "tie_band_uncertifiable") == []
    assert found(resolved_v1, "tie_band_uncertifiable", {"decision_rule.criteria.0.band": 0.08}) == []
    assert found(resolved_v1, "tie_band_uncertifiable", {"task.test_items": 18445}) == []
    wide = {"decision_rule.method": "paired_tango", "decision_rule.criteria.0.band": 0.08}
    assert found(resolved_v1, "tie_band_uncertifiable", wide) == []
