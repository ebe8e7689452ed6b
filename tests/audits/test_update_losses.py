"""Losses of updates that are no numbers or of no token."""

import math

import pytest
from made_run import updates, write_run

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("loss", math.nan, "not finite"),
        ("loss", math.inf, "not finite"),
        ("loss", -math.inf, "not finite"),
        ("n_loss_tokens", 0, "no token"),
        ("loss", 0.0, None),
        ("loss", -1e300, None),
    ],
)
def test_an_update_is_named_with_its_loss(column, value, fault, tmp_path):
    def updates_of(arm, seed, step):
        columns = updates(step)
        if (arm, step) == ("dppo", 1):
            columns[column][1] = value
        return columns

    run = open_run(write_run(tmp_path / "run", updates_of=updates_of))
    with connect(run) as connection:
        found = run_audit(connection, run, "update_losses")
    assert found.check.status == ("fail" if fault else "pass")
    assert [row[:5] for row in found.rows] == ([(fault, "dppo", 0, 1, 1)] if fault else [])
    assert found.check.rows_examined == 8
