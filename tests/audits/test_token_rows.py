"""Token rows against their rollouts: missing, twice, too many, of no rollout, with another advantage."""

import math

import numpy as np
import pytest
from made_logprobs import imported_run, sequence_columns, sequence_rollouts, sequences
from made_run import rewrite, updates, write_run

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run

MADE = sequences(n_rollouts=6, length=8)


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "token_rows")


def made_with(path, change, *, plan=True, n_loss_tokens=(48,)):
    """A run of 6 rollouts of 8 tokens whose token and rollout columns were changed in place."""

    def both(arm="dppo"):
        columns, rollouts = sequence_columns(0, MADE), sequence_rollouts(0, MADE)
        if arm == "dppo":
            change(columns, rollouts)
        return columns, rollouts

    if not plan:
        columns, rollouts = both()
        return imported_run(path, [{"tokens": columns, "rollouts": rollouts}])
    trained = {"n_loss_tokens": list(n_loss_tokens)}
    return write_run(
        path,
        steps=1,
        tokens_of=lambda arm, seed, step: both(arm)[0],
        rollouts_of=lambda arm, seed, step: both(arm)[1],
        updates_of=lambda arm, seed, step: updates(step, n=len(n_loss_tokens)) | trained,
    )


def drop(columns, keep):
    for name, values in columns.items():
        columns[name] = [value for number, value in enumerate(values) if keep(number)]


CASES = {
    "first token missing": (lambda t, r: drop(t, lambda n: n != 8), "rows missing", "7 token rows at positions 1 to 7"),
    "last token missing": (lambda t, r: drop(t, lambda n: n != 15), "rows missing", "7 token rows at positions 0 to 6"),
    "gap": (lambda t, r: drop(t, lambda n: n != 11), "rows missing", "7 token rows at positions 0 to 7"),
    "position twice": (lambda t, r: t["position"].__setitem__(11, 2), "position twice", "8 token rows"),
    "two swapped away": (
        lambda t, r: (t["position"].__setitem__(11, 2), t["position"].__setitem__(12, 5)),
        "position twice",
        "8 token rows at positions 0 to 7",
    ),
    "too many": (lambda t, r: r["n_tokens"].__setitem__(1, 7), "too many rows", "7 tokens sampled"),
    "tokens that were not sampled": (lambda t, r: r["n_tokens"].__setitem__(1, 9), "rows missing", "9 tokens sampled"),
    "no such rollout": (lambda t, r: drop(r, lambda n: n != 1), "no such rollout", "no tokens sampled"),
    "advantage": (lambda t, r: t["advantage"].__setitem__(11, -0.5), "another advantage", "have -0.5 to 0.5"),
    "advantage NaN": (lambda t, r: t["advantage"].__setitem__(11, math.nan), "another advantage", "0.5 to nan"),
    "advantage infinite": (lambda t, r: t["advantage"].__setitem__(11, -math.inf), "another advantage", "-inf"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_fault_is_one_row_that_names_the_rollout(name, tmp_path):
    change, fault, detail = CASES[name]
    found = audit_of(made_with(tmp_path / "run", change))
    (row,) = found.rows
    assert (found.check.status, row[0], row[2], row[6]) == ("fail", fault, "dppo", 1)
    assert detail in row[-1]


def test_two_rollouts_of_one_id_are_found(tmp_path):
    found = audit_of(made_with(tmp_path / "run", lambda t, r: r["rollout_id"].__setitem__(5, 1)))
    assert {row[0] for row in found.rows} == {"rollout twice", "no such rollout"}


@pytest.mark.parametrize("name", ["gap", "advantage"])
def test_what_other_tools_do_on_purpose_is_a_warning_in_an_imported_run(name, tmp_path):
    assert audit_of(made_with(tmp_path / "run", CASES[name][0], plan=False)).check.status == "warn"


def test_a_token_twice_is_a_failure_in_an_imported_run_too(tmp_path):
    change = CASES["position twice"][0]
    assert audit_of(made_with(tmp_path / "run", change, plan=False)).check.status == "fail"


def test_a_critics_advantages_are_by_token_and_are_not_compared(tmp_path):
    def by_token(columns, rollouts):
        columns["value"] = [0.1] * len(columns["step"])
        columns["advantage"] = [float(position) for position in columns["position"]]

    assert audit_of(made_with(tmp_path / "run", by_token)).check.status == "pass"


def test_a_batch_that_both_updates_see_whole_has_each_token_once_an_update(tmp_path):
    def twice(columns, rollouts):
        again = sequence_columns(0, MADE, update=1)
        for name in columns:
            columns[name] = [*columns[name], *again[name]]

    assert audit_of(made_with(tmp_path / "run", twice)).check.status == "pass"


def test_a_rollout_that_was_trained_on_and_has_no_token_row_is_found(tmp_path):
    found = audit_of(made_with(tmp_path / "run", lambda t, r: drop(t, lambda number: number >= 8)))
    (row,) = found.rows
    assert (found.check.status, row[:7]) == ("fail", ("rollouts missing", "fail", "dppo", 0, 0, 0, None))
    assert row[-1] == "40 token rows of 5 rollouts, the update had 48 loss tokens"


def test_an_update_without_any_token_row_is_found(tmp_path):
    found = audit_of(made_with(tmp_path / "run", lambda t, r: None, n_loss_tokens=(48, 48)))
    assert [(row[0], row[5]) for row in found.rows] == [("rollouts missing", 1)] * 2


def test_a_rollout_without_token_rows_that_was_not_trained_on_is_counted_and_is_no_fault(tmp_path):
    def filtered(columns, rollouts):
        drop(columns, lambda number: number >= 8)
        rollouts["n_tokens"][5] = 0
        drop(columns, lambda number: number < 32)

    found = audit_of(made_with(tmp_path / "run", filtered, n_loss_tokens=(32,)))
    assert found.check.status == "pass"
    assert found.check.notes[0] == "dppo: 1 of 5 rollouts with a completion token have no token row"


def test_a_run_mended_by_hand_passes(tmp_path):
    path = made_with(tmp_path / "run", CASES["position twice"][0])
    assert audit_of(path).check.status == "fail"
    rewrite(
        path,
        "tokens/arm=dppo/seed=0/step=000000.parquet",
        lambda table: table.set_column(
            table.schema.get_field_index("position"),
            table.schema.field("position"),
            [np.tile(np.arange(8, dtype=np.int32), 6)],
        ),
    )
    assert audit_of(path).check.status == "pass"
