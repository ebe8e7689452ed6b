"""Numbers of loss tokens: which are none, which zeros are doubted, and which healthy extremes are let through."""

import math

import pytest
from made_logprobs import imported_run, sequence_columns, sequences
from made_run import rewrite, tokens, write_run

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "logprob_values")


def with_rows(path, rows, **extra):
    """An imported run of tokens (update, sampler, current, advantage); extra columns by name."""
    return imported_run(path, [{"tokens": tokens(rows) | extra}])


SOUND = (0, -0.5, -0.5, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("column", ["sampler_logprob", "current_logprob", "advantage", "surprisal", "entropy", "value"])
def test_a_number_that_is_none_is_found_in_every_column(column, bad, tmp_path):
    columns = tokens([SOUND] * 3) | {name: [0.5] * 3 for name in ("surprisal", "entropy", "value")}
    columns[column][1] = bad
    found = audit_of(imported_run(tmp_path / "run", [{"tokens": columns}]))
    (row,) = found.rows
    assert (found.check.status, row[:2], row[6]) == ("fail", ("not finite", "fail"), 1)
    assert f"{column} {'nan' if math.isnan(bad) else '-inf' if bad < 0 else 'inf'}" in row[-1]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ((0, 0.0, -1.5, 1.0), "padded zero"),
        ((0, -1.5, 0.0, 1.0), "padded zero"),
        ((0, -0.0, -1.5, 1.0), "padded zero"),
        ((0, 0.0, -0.5, 1.0), "doubtful zero"),
        ((0, 0.0, -0.05, 1.0), None),  # rounding of a nearly certain token
        ((0, 0.0, 0.0, 1.0), None),
        ((1, 0.0, -1.5, 1.0), None),  # the policy may have moved
        ((0, -80.0, -75.0, 1.0), None),
        ((0, -1e-9, -1.5, 1.0), None),  # a mismatch, and no zero
        ((0, 0.01, -0.5, 1.0), "above 0"),
        ((1, -0.5, 2e-6, 1.0), "above 0"),
        ((1, -0.5, 1e-7, 1.0), None),
        ((1, 1e-7, -0.5, 1.0), None),
        ((0, -0.5, -0.5, -1e30), None),
    ],
)
def test_zeros_and_values_above_0(row, fault, tmp_path):
    found = audit_of(with_rows(tmp_path / "run", [SOUND, row]))
    assert [found_row[0] for found_row in found.rows] == ([fault] if fault else [])
    assert found.check.status == ("pass" if fault is None else "warn" if fault == "doubtful zero" else "fail")


@pytest.mark.parametrize(
    ("column", "value", "status"),
    [("entropy", 1.5, "fail"), ("surprisal", 2.0, "fail"), ("entropy", 0.9, "pass"), ("surprisal", 0.0, "pass")],
)
def test_zeros_on_both_sides_are_told_by_entropy_or_surprisal(column, value, status, tmp_path):
    found = audit_of(with_rows(tmp_path / "run", [SOUND, (1, 0.0, 0.0, 1.0)], **{column: [0.5, value]}))
    assert (found.check.status, len(found.rows)) == (status, int(status == "fail"))


def test_the_share_of_zeros_is_printed_and_is_no_fault_however_large(tmp_path):
    found = audit_of(with_rows(tmp_path / "run", [(0, 0.0, 0.0, 1.0)] * 9 + [(1, 0.0, -0.2, 1.0)]))
    assert found.check.status == "pass"
    assert found.check.notes == (
        "dppo: exactly 0 in 10 (sampler) and 9 (current) of 10 loss tokens; at the first update in 9 and 9 of 9",
    )


def test_a_run_mended_by_hand_passes(tmp_path):
    def tokens_of(arm, seed, step):
        columns = sequence_columns(step, sequences(step))
        columns["sampler_logprob"][5] = 0.0
        columns["current_logprob"][5] = -3.0
        return columns

    path = write_run(tmp_path / "run", steps=1, tokens_of=tokens_of)
    assert audit_of(path).check.value == 2.0
    for arm in ("grpo", "dppo"):
        rewrite(
            path,
            f"tokens/arm={arm}/seed=0/step=000000.parquet",
            lambda table: table.set_column(
                table.schema.get_field_index("sampler_logprob"),
                table.schema.field("sampler_logprob"),
                table["current_logprob"],
            ),
        )
    assert audit_of(path).check.status == "pass"
