def test_finds_that_one_update_leaves_both_losses_alike(resolved_v1, found):
    (finding,) = found(resolved_v1, "treatment_cannot_act")
    assert finding.path == "rollout.updates_per_batch"


def test_silent_with_two_updates(resolved_v2, resolved_v1, found):
    assert found(resolved_v2, "treatment_cannot_act") == []
    assert found(resolved_v1, "treatment_cannot_act", {"rollout.updates_per_batch": 2}) == []


def test_silent_where_the_arms_have_one_loss(resolved_v1, found):
    assert found(resolved_v1, "treatment_cannot_act", {"arms.1.loss": "grpo"}) == []
