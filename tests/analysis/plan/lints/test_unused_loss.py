def test_finds_a_leftover_loss(demo, found):
    (finding,) = found(demo, "unused_loss", {"losses.spare": demo["losses"]["grpo"]})
    assert finding.path == "losses.spare"


def test_silent_where_each_loss_has_an_arm(demo, found):
    assert found(demo, "unused_loss") == []
