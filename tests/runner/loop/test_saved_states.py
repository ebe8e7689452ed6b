"""Two states an arm, written in turn, of which the one before the last is always whole."""

import pytest

from analysis.errors import AuditError
from runner.loop.saved_states import SavedState, SavedStates


def _saved(states, *steps):
    for step in steps:
        states.add(SavedState(step, f"tinker://r/weights/{step}", states.next_slot))
    return states


def test_the_name_to_write_next_is_never_that_of_the_latest_state(tmp_path):
    states = SavedStates(tmp_path, "grpo", 0)
    taken = []
    for step in range(5):
        taken.append(states.next_slot)
        _saved(states, step)
    assert taken == [0, 1, 0, 1, 0]


def test_the_state_to_go_on_from_has_all_its_rows_logged(tmp_path):
    _saved(SavedStates(tmp_path, "grpo", 0), 1, 3, 5)
    states = SavedStates(tmp_path, "grpo", 0)
    assert states.usable(5).step == 5
    assert states.usable(4).step == 3
    assert states.usable(9).step == 5
    assert states.usable(2) is None, "the state of step 1 was written over"
    assert SavedStates(tmp_path, "grpo", 1).usable(5) is None, "another seed's"


def test_a_state_that_is_forgotten_gives_its_name_to_the_next(tmp_path):
    states = _saved(SavedStates(tmp_path, "grpo", 0), 0, 1)
    latest = states.usable(1)
    states.forget_after(0)
    assert states.next_slot == latest.slot
    assert SavedStates(tmp_path, "grpo", 0).usable(1).step == 0


def test_a_broken_record_is_named(tmp_path):
    _saved(SavedStates(tmp_path, "grpo", 0), 0)
    (path,) = (tmp_path / "state").rglob("*.json")
    path.write_text('{"states": [{"step": 1}]}')
    with pytest.raises(AuditError, match=r"seed=0\.json: not a record of saved states"):
        SavedStates(tmp_path, "grpo", 0)
