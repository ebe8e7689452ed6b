"""Which temperatures between sampler and trainer are found and named, and which noise is not taken for one."""

import numpy as np
import pytest
from made_logprobs import imported_run, sequence_columns, sequences, write_sequences
from made_run import rewrite
from scaled_logprobs import scaled_sequences

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "sampler_temperature")


def run_of(path, made):
    return imported_run(path, [{"tokens": sequence_columns(0, made)}])


def rows_of(found):
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


@pytest.mark.parametrize("temperature", [0.5, 0.7, 0.85, 1.2, 1.5, 2.0])
def test_a_sampler_at_another_temperature_is_found_and_the_temperature_named(temperature, tmp_path):
    made = scaled_sequences(temperature, n_rollouts=400)
    found = audit_of(run_of(tmp_path / "run", made))
    (row,) = rows_of(found)
    assert (found.check.status, row["fault"], row["arm"]) == ("fail", "another temperature", "dppo")
    assert row["temperature"] == pytest.approx(temperature, rel=0.1 if temperature < 2 else 0.25)
    assert min(1, temperature) < row["slope"] < max(1, temperature)
    assert f"divided by a temperature of {row['temperature']:.2f}" in row["detail"]


def test_a_trainer_at_another_temperature_is_found_as_well(tmp_path):
    made = scaled_sequences(0.7, n_rollouts=400)
    turned = {"sampler": made["current"], "current": made["sampler"]}
    (row,) = rows_of(audit_of(run_of(tmp_path / "run", turned)))
    assert "or the trainer by 0.7" in row["detail"]


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("side", ["sampler", "current"])
def test_noise_on_one_side_is_no_slope(noise, side, tmp_path):
    made = scaled_sequences(1.0, n_rollouts=400)
    made[side] = made[side] + noise * np.random.default_rng(5).normal(size=made[side].shape)
    assert audit_of(run_of(tmp_path / "run", made)).check.status == "pass"


@pytest.mark.parametrize("n_rollouts", [9, 12, 20])
def test_few_tokens_are_no_slope_by_chance(n_rollouts, tmp_path):
    made = scaled_sequences(1.0, n_rollouts=n_rollouts)
    made["current"] = made["current"] + 0.2 * np.random.default_rng(6).normal(size=made["current"].shape)
    assert audit_of(run_of(tmp_path / "run", made)).check.status == "pass"


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (sequences(n_rollouts=8), "too few tokens"),
        (sequences(spread=0.0), "no variation"),
        (sequences(spread=0.01), "no variation"),
        (sequences(spread=0.2, noise=1.0), "too noisy"),
    ],
)
def test_what_cannot_be_told_is_inconclusive(made, fault, tmp_path):
    found = audit_of(run_of(tmp_path / "run", made))
    assert (found.check.status, [row["fault"] for row in rows_of(found)]) == ("inconclusive", [fault])


def test_values_of_other_tokens_are_too_noisy_and_name_no_temperature(tmp_path):
    made = sequences()
    found = audit_of(run_of(tmp_path / "run", made | {"current": np.roll(made["current"], 1, axis=1)}))
    assert [row["fault"] for row in rows_of(found)] == ["too noisy"]


def test_with_few_likely_tokens_the_slope_is_found_without_a_name_for_the_temperature(tmp_path):
    made = sequences()
    found = audit_of(run_of(tmp_path / "run", {"sampler": made["sampler"] - 1, "current": 0.8 * made["sampler"] - 1}))
    (row,) = rows_of(found)
    assert (row["slope"], row["temperature"]) == (pytest.approx(0.8, abs=1e-3), None)
    assert "too few likely tokens" in row["detail"]


def test_numbers_that_are_none_are_passed_over_and_drift_of_later_updates_is_not_looked_at(tmp_path):
    made = sequences()
    made["current"][0, 0], made["sampler"][1, 1] = np.nan, -np.inf
    first, second = sequence_columns(0, made), sequence_columns(0, made, update=1)
    second["current_logprob"] = [0.5 * value for value in second["current_logprob"]]
    both = {name: [*first[name], *second[name]] for name in first}
    assert audit_of(imported_run(tmp_path / "run", [{"tokens": both}])).check.status == "pass"


def test_a_run_mended_by_hand_passes_and_the_note_says_the_slope(tmp_path):
    def scale(arm, step, made):
        if arm == "dppo":
            made["current"] = 0.7 * made["sampler"]

    path = write_sequences(tmp_path / "run", scale, steps=1)
    found = audit_of(path)
    assert found.check.status == "fail"
    assert found.check.notes[0] == (
        "dppo seed 0: standard deviation of current_logprob 0.7000 times that of sampler_logprob, over 480 tokens"
    )
    rewrite(
        path,
        "tokens/arm=dppo/seed=0/step=000000.parquet",
        lambda table: table.set_column(
            table.schema.get_field_index("current_logprob"),
            table.schema.field("current_logprob"),
            table["sampler_logprob"],
        ),
    )
    assert audit_of(path).check.status == "pass"
