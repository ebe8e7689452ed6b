def test_finds_an_uneven_split(demo, found):
    (finding,) = found(demo, "minibatches_split_by_group", {"rollout.groups_per_batch": 33})
    assert finding.severity == "warn"


def test_finds_an_update_without_data(demo, found):
    (finding,) = found(demo, "minibatches_split_by_group", {"rollout.groups_per_batch": 1})
    assert finding.severity == "error"


def test_silent_on_an_even_split(demo, found):
    assert found(demo, "minibatches_split_by_group") == []
