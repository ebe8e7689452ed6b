def test_finds_more_prompts_than_items(resolved_v2, found):
    (finding,) = found(resolved_v2, "train_items_reused", {"task.train_items": 1599})
    assert "1600 prompts" in finding.message


def test_silent_where_each_item_is_used_once_or_the_number_is_open(resolved_v2, demo, found):
    assert found(resolved_v2, "train_items_reused") == []
    assert found(demo, "train_items_reused") == []
