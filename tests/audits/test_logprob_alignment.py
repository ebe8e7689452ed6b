"""Whether a shift by a token is seen and named, and what healthy noise is let through."""

import numpy as np
import pytest
from made_logprobs import LENGTH, imported_run, sequence_columns, sequences, write_sequences
from made_run import rewrite

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "logprob_alignment")


def rows_of(found):
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def in_treatment(change):
    return lambda arm, step, made: change(step, made) if arm == "dppo" else None


@pytest.mark.parametrize("lag", [-2, -1, 1, 2])
def test_a_shift_is_named_by_its_lag_for_the_run_and_each_step(lag, tmp_path):
    def shift(step, made):
        made["current"] = np.roll(made["current"], lag, axis=1)

    found = audit_of(write_sequences(tmp_path / "run", in_treatment(shift)))
    assert found.check.status == "fail"
    named = {(row["fault"], row["arm"], row["step"], row["best_lag"]) for row in rows_of(found)}
    assert named == {("shifted", "dppo", step, lag) for step in (0, 1, None)}
    assert "at lag 0" in found.rows[0][-1]


def test_a_shift_that_begins_with_a_later_step_is_found_there(tmp_path):
    def shift(step, made):
        if step == 7:
            made["sampler"] = np.roll(made["sampler"], 1, axis=1)

    found = audit_of(write_sequences(tmp_path / "run", in_treatment(shift), steps=8))
    assert [(row["step"], row["best_lag"]) for row in rows_of(found)] == [(7, -1)]


def test_values_of_other_tokens_altogether_are_unrelated(tmp_path):
    def mix(step, made):
        made["current"] = np.random.default_rng(9).permutation(made["current"].ravel()).reshape(made["current"].shape)

    found = audit_of(write_sequences(tmp_path / "run", in_treatment(mix)))
    assert {row["fault"] for row in rows_of(found)} == {"unrelated"}
    assert {row["best_lag"] for row in rows_of(found)} == {None}


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.02, 0.1, 0.5])
def test_noise_between_the_engines_up_to_half_a_nat_is_no_shift(noise, tmp_path):
    assert audit_of(write_sequences(tmp_path / "run", steps=6, noise=noise)).check.status == "pass"


def test_a_repeating_completion_correlates_at_several_lags_and_is_no_shift(tmp_path):
    def repeat(arm, step, made):
        made["sampler"][:] = made["sampler"][:, :1]
        made["current"][:] = made["sampler"]

    assert audit_of(write_sequences(tmp_path / "run", repeat)).check.status == "pass"


def test_a_lag_that_is_ahead_by_chance_is_no_shift(tmp_path):
    """Values that are alike along a completion correlate as well at every lag, but for the noise."""

    def repeat(arm, step, made):
        made["sampler"][:] = made["sampler"][:, :1]
        noise = np.random.default_rng([8, step]).normal(size=made["sampler"].shape)
        made["current"][:] = made["sampler"] + 0.5 * made["sampler"].std() * noise

    assert audit_of(write_sequences(tmp_path / "run", repeat, steps=8)).check.status == "pass"


@pytest.mark.parametrize("place", [0, 1, LENGTH - 2, LENGTH - 1])
def test_completions_that_vary_at_one_place_only_are_no_shift(place, tmp_path):
    def still(arm, step, made):
        varied = made["sampler"][:, place].copy()
        made["sampler"][:] = -0.5
        made["sampler"][:, place] = varied
        made["current"][:] = made["sampler"]
        made["current"][:, place] += 0.5 * np.random.default_rng(step).normal(size=len(varied))

    assert audit_of(write_sequences(tmp_path / "run", still)).check.status == "pass"


def test_drift_of_a_later_update_is_not_looked_at(tmp_path):
    made = sequences()
    first, second = sequence_columns(0, made), sequence_columns(0, made, update=1)
    second["current_logprob"] = list(reversed(second["current_logprob"]))
    both = {name: [*first[name], *second[name]] for name in first}
    assert audit_of(imported_run(tmp_path / "run", [{"tokens": both}])).check.status == "pass"


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        ({"n_rollouts": 4, "length": 12}, "too few tokens"),
        ({"n_rollouts": 400, "length": 1}, "too few tokens"),
        ({"spread": 0.0}, "no variation"),
        ({"spread": 0.01}, "no variation"),
    ],
)
def test_what_cannot_be_told_is_inconclusive(made, fault, tmp_path):
    found = audit_of(write_sequences(tmp_path / "run", steps=2, **made))
    assert (found.check.status, {row["fault"] for row in rows_of(found)}) == ("inconclusive", {fault})
    assert len(found.rows) == 2


def test_numbers_that_are_none_leave_the_others_to_be_judged_and_are_no_pass_alone(tmp_path):
    def spoil(arm, step, made):
        made["current"][0, 0], made["sampler"][1, 3] = np.nan, -np.inf

    assert audit_of(write_sequences(tmp_path / "few", spoil)).check.status == "pass"
    found = audit_of(write_sequences(tmp_path / "all", lambda arm, step, made: made["current"].fill(np.nan)))
    assert {row["fault"] for row in rows_of(found)} == {"too few tokens"}


def test_only_the_first_update_counts_as_evidence(tmp_path):
    columns = sequence_columns(0, sequences(), update=1)
    found = audit_of(imported_run(tmp_path / "run", [{"tokens": columns}]))
    assert (found.check.status, found.check.rows_examined) == ("inconclusive", 0)


def test_thousands_of_rollouts_are_sampled_and_gaps_in_positions_are_no_neighbours(tmp_path):
    columns = sequence_columns(0, sequences(n_rollouts=3000))
    columns["position"] = [2 * position for position in columns["position"]]
    found = audit_of(imported_run(tmp_path / "run", [{"tokens": columns}]))
    assert [row["fault"] for row in rows_of(found)] == ["too few tokens"]
    assert ", 0 pairs of neighbours" in found.rows[0][-1]
    assert found.rows[0][-1].startswith("6000 tokens")


def test_a_run_mended_by_hand_passes_and_the_note_says_the_correlation(tmp_path):
    def shift(step, made):
        made["current"] = np.roll(made["current"], 1, axis=1)

    path = write_sequences(tmp_path / "run", in_treatment(shift))
    assert audit_of(path).check.status == "fail"
    for step in range(2):
        rewrite(
            path,
            f"tokens/arm=dppo/seed=0/step={step:06d}.parquet",
            lambda table, step=step: table.set_column(
                table.schema.get_field_index("current_logprob"),
                table.schema.field("current_logprob"),
                [sequences(step)["current"].ravel().astype(np.float32)],
            ),
        )
    found = audit_of(path)
    assert found.check.status == "pass"
    assert found.check.notes[0] == (
        "dppo seed 0: correlation 1.0000 at the same position, over 960 tokens of the first update"
    )
