"""Minibatches are whole groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import AuditError
from runner.loop.training import minibatches


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 12))
def test_every_rollout_once_every_group_whole_and_sizes_even(groups, size, updates):
    group_ids = np.repeat(np.arange(groups), size)
    if updates > groups:
        with pytest.raises(AuditError, match="updates_per_batch"):
            minibatches(group_ids, updates)
        return
    parts = minibatches(group_ids, updates)
    assert np.concatenate(parts).tolist() == list(range(groups * size))
    found = [set(group_ids[part].tolist()) for part in parts]
    assert sum(len(part) for part in found) == groups
    assert max(map(len, found)) - min(map(len, found)) <= 1
