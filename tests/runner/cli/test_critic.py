"""`audit critic` on runs whose critics have a known fault."""

import json

import made_critic
import numpy as np
import pytest
from made_critic import LAST, STATES, constant, scaled, write_critics, zero_mean
from made_run import rewrite, write_run

SIZE = 0.25


def asked(audit, *arguments):
    assert audit("critic", *arguments, "--format", "json").code == 0, audit.err
    result = json.loads(audit.out)
    return result, {arm["arm"]: arm for arm in result["arms"]}


def test_a_constant_error_is_offset_alone_and_one_of_zero_mean_is_residual_alone(audit, tmp_path):
    faults = {"constant": constant(SIZE), "zero_mean": zero_mean(SIZE)}
    _, arms = asked(audit, write_critics(tmp_path / "run", faults))
    of_constant, of_zero_mean = (arms[name]["advantages"] for name in faults)
    for error, parts in ((of_constant, (SIZE**2, 0, 0)), (of_zero_mean, (0, 0, SIZE**2))):
        assert error["root_mean_squared"] == pytest.approx(SIZE)
        assert [error[part] for part in ("offset_squared", "scale", "residual")] == pytest.approx(parts, abs=1e-12)
        assert error["slope"] == pytest.approx(1.0)
    assert of_constant["bias"] == pytest.approx(-SIZE)
    assert of_constant["centered_root_mean_squared"] == pytest.approx(0.0, abs=1e-7)
    assert of_constant["mean_absolute"] == pytest.approx(SIZE)
    assert arms["constant"]["values"]["bias"] == pytest.approx(SIZE)
    assert arms["constant"]["left"]["mean_squared"] == pytest.approx(0.0, abs=1e-12)
    assert arms["zero_mean"]["left"]["mean_squared"] == pytest.approx(SIZE**2)


def test_an_error_of_the_scale_is_named_and_leaves_only_the_squared_mean_beside_it(audit, tmp_path):
    _, arms = asked(audit, write_critics(tmp_path / "run", {"exact": made_critic.exact, "scaled": scaled(1.5)}))
    true = [made_critic.estimates(made_critic.exact, step)[2] for step in range(2)]
    error = arms["scaled"]["advantages"]
    assert error["slope"] == pytest.approx(1.5)
    assert error["scale"] == pytest.approx(0.25 * np.mean([a.var() for a in true]))
    assert error["offset_squared"] == pytest.approx(np.mean([(0.5 * a.mean()) ** 2 for a in true]))
    assert error["residual"] == pytest.approx(0.0, abs=1e-12)
    assert arms["exact"]["advantages"]["mean_squared"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("normalization", "left", "says"),
    [
        ("z_score", 0.0, "removes offset and scale"),
        ("mean", "scale", "removes the offset"),
        ("none", "all", "removes nothing"),
    ],
)
def test_each_normalisation_leaves_its_own_parts_and_says_so(audit, tmp_path, normalization, left, says):
    run = write_critics(
        tmp_path / "run", {"exact": made_critic.exact, "scaled": scaled(1.5)}, normalization=normalization
    )
    _, arms = asked(audit, run)
    error = arms["scaled"]["advantages"]
    expected = {"scale": error["scale"] + error["residual"], "all": error["mean_squared"]}.get(left, left)
    assert arms["scaled"]["left"]["mean_squared"] == pytest.approx(expected, abs=1e-12)
    assert says in arms["scaled"]["reaches"]
    assert "Lambda" not in arms["scaled"]["reaches"]


def test_below_lambda_1_a_constant_error_stays_in_the_update_and_the_report_says_how(audit, tmp_path):
    faults = {"exact": made_critic.exact, "constant": constant(SIZE)}
    _, arms = asked(audit, write_critics(tmp_path / "run", faults, decay=0.8))
    left_behind = -SIZE * 0.8**LAST
    error = arms["constant"]["advantages"]
    assert error["bias"] == pytest.approx(left_behind.mean())
    assert error["mean_squared"] == pytest.approx(np.mean(left_behind**2))
    assert error["offset_squared"] == pytest.approx(left_behind.mean() ** 2)
    assert error["scale"] + error["residual"] == pytest.approx(left_behind.var())
    assert error["residual"] > 0.5 * left_behind.var()
    assert "leaves −c·0.8^(T−1−t) in the advantage" in arms["constant"]["reaches"]


def test_the_noise_of_the_monte_carlo_estimates_is_not_counted_as_the_critics_error(audit, tmp_path):
    run = write_critics(tmp_path / "run", {"a": constant(SIZE), "b": zero_mean(SIZE)}, deviation=0.1)
    _, arms = asked(audit, run)
    assert arms["b"]["advantages"]["noise"] == pytest.approx(0.01)
    assert arms["b"]["advantages"]["mean_squared"] == pytest.approx(SIZE**2 - 0.01)


def test_cosine_budget_accuracy_and_size_stand_by_seed(audit, tmp_path):
    run = write_critics(tmp_path / "run", {"grpo": None, "ppo": constant(SIZE)}, seeds=(0, 1))
    _, arms = asked(audit, run)
    # 7 = 3 + 4 is the same direction, 5 = hypot(3, 4) a right angle.
    assert arms["ppo"]["cosine"] == pytest.approx(0.5)
    assert (arms["ppo"]["cosine_steps"], arms["ppo"]["advantages"]["batches"]) == (4, 4)
    assert arms["ppo"]["advantages"]["states"] == 4 * STATES
    second = arms["ppo"]["seeds"][1]
    assert (second["seed"], second["accuracy"], second["parameters"]) == (1, 0.55, 0)
    assert (second["sampled_tokens"], second["optimizer_updates"]) == (2 * STATES, 4)
    assert arms["grpo"]["values"] is None
    assert arms["grpo"]["null_reasons"]["values"] == "its advantages are not a critic's"


def test_the_printed_queries_give_the_same_figures(audit, tmp_path):
    run = write_critics(
        tmp_path / "run", {"grpo": None, "a": scaled(0.7), "b": zero_mean(SIZE)}, seeds=(0, 1), deviation=0.05
    )
    result, arms = asked(audit, run)
    assert audit("sql", run, result["sql"]["errors"], "--format", "json").code == 0
    rows = json.loads(audit.out)
    assert len(rows) == (3 + 2) * 3
    for row in rows:
        owner = arms[row["arm"]]
        if row["seed"] is not None:
            (owner,) = (own for own in owner["seeds"] if own["seed"] == row["seed"])
        error = owner["advantages" if row["quantity"] == "advantage" else "values"]
        for name in ("states", "batches", "bias", "mean_absolute", "mean_squared", "noise", "correlation", "slope",
                     "offset_squared", "scale", "residual"):  # fmt: skip
            assert row[name] == pytest.approx(error[name], rel=1e-9, abs=1e-12), (row, name)


def test_a_run_without_the_measurement_is_inconclusive_and_says_what_provides_it(audit, tmp_path):
    for run in (
        write_run(tmp_path / "plain"),
        write_critics(tmp_path / "run", {"a": constant(1), "b": None}, measured=False),
    ):
        assert audit("critic", run).code == 4
        assert "table state_values was never logged" in audit.out
        assert "`audit run` writes it where the plan has an advantage_measurement" in audit.out
        assert audit("critic", run, "--format", "json").code == 4
        assert json.loads(audit.out)["status"] == "inconclusive"
        assert audit("critic", run, "--exit-zero").code == 0


def test_a_number_that_is_none_leaves_its_arm_without_figures_and_is_counted(audit, tmp_path):
    run = write_critics(tmp_path / "run", {"good": constant(SIZE), "bad": zero_mean(SIZE)})

    def spoilt(table):
        advantages = [float("inf"), *table["advantage"].to_pylist()[1:]]
        return table.set_column(table.schema.get_field_index("advantage"), "advantage", [advantages])

    rewrite(run, "state_values/arm=bad/seed=0/step=000001.parquet", spoilt)
    _, arms = asked(audit, run)
    assert arms["bad"]["advantages"] is None
    assert f"1 of {2 * STATES} measured states have a number that is none" in arms["bad"]["null_reasons"]["advantages"]
    assert arms["good"]["advantages"]["states"] == 2 * STATES


def test_it_does_not_draw_a_crossover_from_two_seeds(audit, tmp_path):
    run = write_critics(tmp_path / "run", {"a": constant(SIZE), "b": zero_mean(SIZE)}, seeds=(0, 1))
    result, _ = asked(audit, run)
    assert not result["crossover"]["drawn"]
    assert audit("critic", run).code == 0
    assert "No crossover is drawn: seeds a critic: a 2, b 2, and an interval over seeds needs at least 3." in audit.out


def test_it_names_the_cells_that_did_not_finish(audit, tmp_path):
    run = write_critics(
        tmp_path / "run", {"a": constant(SIZE), "b": zero_mean(SIZE)}, seeds=(0, 1, 2),
        accuracy=lambda arm, seed: 12 if (arm, seed) in {("a", 0), ("b", 2)} else None,
    )  # fmt: skip
    asked(audit, run)
    audit("critic", run)
    assert "finished 2 of 6: missing a seed 1, a seed 2, b seed 0, b seed 1." in audit.out


def test_a_whole_study_has_its_crossover_by_measured_size(audit, tmp_path):
    run = write_critics(tmp_path / "run", {"a": constant(SIZE), "b": zero_mean(SIZE), "c": None}, seeds=(0, 1, 2))
    result, _ = asked(audit, run)
    assert result["crossover"]["drawn"]
    first, second = result["crossover"]["points"]
    assert (first["arm"], first["parameters"], second["parameters"]) == ("a", 0, 65)
    assert first["error"] == pytest.approx(0.0, abs=1e-6)
    assert second["error"] == pytest.approx(SIZE)
    assert second["error_is"] == "root of the residual of the MSE"
    # .5, .55, .6: standard error .05 / sqrt(3), t quantile 4.303 with 2 degrees of freedom.
    assert second["accuracy"]["lower"] == pytest.approx(0.55 - 4.302653 * 0.05 / 3**0.5, abs=1e-6)
    assert audit("critic", run).code == 0
    assert "error: root of the residual of the MSE; accuracy: mean over training seeds" in audit.out
