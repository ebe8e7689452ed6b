import math
import shutil

import pytest
from made_run import active_tokens, gate_check, made_plan, rewrite, sealed, tokens, updates, write_run

from analysis.errors import AuditError
from audits.engine.check import Limit, combine
from audits.engine.gate import evaluate_gate, loss_parameters
from audits.engine.metric import Metric
from audits.store.reader import open_run


def gate(path, plan=None, **options):
    run = open_run(write_run(path / "run", plan, **options))
    report = evaluate_gate(run, run.sealed.plan)
    return report, {(check.id, check.arm): check for check in report.checks}


def masked(checks):
    return checks["dppo_masked_token_fraction", "dppo"]


def only(metric_id, /, **changes):
    """Return a plan whose gate has this check alone."""
    plan = made_plan()
    plan["activation_gate"]["checks"] = [gate_check(plan, metric_id) | changes]
    return plan


def test_an_active_pilot_passes_with_every_figure_and_its_denominator(tmp_path):
    report, checks = gate(tmp_path)
    assert (report.status, report.exit_code) == ("pass", 0)
    assert set(checks) == {
        ("executed_steps", None), ("dppo_masked_token_fraction", "dppo"), ("policy_drift_abs_p_q90", "dppo"),
        ("grpo_clip_fraction", "dppo"), ("executed_updates_per_batch", "dppo"), ("executed_updates_per_batch", "grpo"),
        ("executed_base_model", "dppo"), ("executed_base_model", "grpo"),
        ("first_update_mismatch", "dppo"), ("first_update_mismatch", "grpo"),
        ("zero_variance_group_fraction", "dppo"), ("zero_variance_group_fraction", "grpo"),
    }  # fmt: skip
    assert (masked(checks).value, masked(checks).numerator, masked(checks).denominator) == (0.1, 8, 80)
    assert masked(checks).definition == "dppo_binary_tv@sampler/loss_tokens"
    planned = [check for check in report.checks if check.limit is not None]
    assert all(check.rows_examined and check.reason is None for check in planned)
    assert any("non-zero advantage" in note for note in masked(checks).notes)


@pytest.mark.parametrize(
    ("limits", "said"),
    [({"min": 0.2, "max": 0.3}, "below the smallest"), ({"min": 0.001, "max": 0.05}, "above the largest")],
)
def test_a_share_outside_its_limits_fails_and_keeps_its_value(tmp_path, limits, said):
    report, checks = gate(tmp_path, only("dppo_masked_token_fraction", **limits))
    assert (report.status, report.exit_code, masked(checks).status) == ("fail", 1, "fail")
    assert said in masked(checks).reason
    assert masked(checks).value == 0.1


def test_a_value_on_its_limit_passes(tmp_path):
    report, _ = gate(tmp_path, only("dppo_masked_token_fraction", min=0.1, max=0.1))
    assert report.status == "pass"


def one_update(arm, seed, step):
    return tokens([(0, -0.5, -0.501, 1.0)] * 10, step)


def test_with_one_update_a_batch_the_gate_fails_and_says_that_the_rule_cannot_fire(tmp_path):
    report, checks = gate(tmp_path, tokens_of=one_update, updates_of=lambda arm, seed, step: updates(step, n=1))
    assert report.status == "fail"
    for metric in ("dppo_masked_token_fraction", "policy_drift_abs_p_q90", "grpo_clip_fraction"):
        check = checks[metric, "dppo"]
        assert (check.status, check.value) == ("fail", None)
        assert "cannot fire" in check.reason
        assert "executed 1 update a batch" in check.reason
    assert checks["executed_updates_per_batch", "dppo"].status == "fail"


def test_a_check_on_a_later_update_than_any_says_how_many_are_needed(tmp_path):
    _, checks = gate(tmp_path, only("dppo_masked_token_fraction", update=2))
    assert "executed 2 updates a batch" in masked(checks).reason
    assert "updates_per_batch to 3" in masked(checks).reason


def test_steps_that_never_came_to_the_second_update_are_not_left_out_of_the_mean(tmp_path):
    def first_step_only(arm, seed, step):
        return active_tokens(arm, seed, step) if step == 0 else one_update(arm, seed, step)

    for number, metric in enumerate(("dppo_masked_token_fraction", "policy_drift_abs_p_q90")):
        report, checks = gate(tmp_path / str(number), only(metric), tokens_of=first_step_only)
        assert report.status == "fail"
        assert "in 1 of 2 steps" in checks[metric, "dppo"].reason


def test_a_mask_that_is_never_reached_fails_and_names_the_largest_divergence(tmp_path):
    def calm(arm, seed, step):
        return tokens([(0, -0.5, -0.5, 1.0)] * 5 + [(1, -0.5, -0.45, 1.0)] * 5, step)

    _, checks = gate(tmp_path, tokens_of=calm)
    largest = math.exp(-0.45) - math.exp(-0.5)
    assert (masked(checks).status, masked(checks).value) == ("fail", 0.0)
    assert "did not fire" in masked(checks).reason
    assert f"{largest:.3g}" in masked(checks).reason
    assert "0.15" in masked(checks).reason


def test_a_mask_without_any_token_that_could_be_masked_fails(tmp_path):
    def no_advantage(arm, seed, step):
        return tokens([(0, -0.5, -0.5, 0.0)] * 5 + [(1, -0.5, -0.1, 0.0)] * 5, step)

    _, checks = gate(tmp_path, tokens_of=no_advantage)
    assert masked(checks).status == "fail"
    assert "no token's advantage" in masked(checks).reason


def test_tables_that_were_never_logged_are_inconclusive_and_say_who_provides_them(tmp_path):
    report, checks = gate(tmp_path, tokens_of=None)
    assert (report.status, report.exit_code) == ("inconclusive", 4)
    for check in report.checks:
        assert check.status == "inconclusive"
        assert check.rows_examined == 0
    assert "never logged" in masked(checks).reason
    assert "`audit run`" in masked(checks).mend


def test_an_arm_that_was_never_logged_is_inconclusive(tmp_path):
    run = write_run(tmp_path / "run")
    lines = (run / "files.jsonl").read_text().splitlines()
    (run / "files.jsonl").write_text("".join(line + "\n" for line in lines if "arm=dppo" not in line))
    opened = open_run(run)
    report = evaluate_gate(opened, opened.sealed.plan)
    checks = {(check.id, check.arm): check for check in report.checks}
    assert masked(checks).status == "inconclusive"
    assert "no row of arm dppo" in masked(checks).reason


def test_an_unfinished_pilot_is_inconclusive_and_names_the_missing_steps(tmp_path):
    plan = made_plan(activation_gate__pilot_steps=5)
    report, checks = gate(tmp_path, plan, steps=2, status="interrupted")
    steps = checks["executed_steps", None]
    assert (report.status, steps.status, steps.value) == ("inconclusive", "inconclusive", 2.0)
    assert "dppo_seed0: 2 of 5 steps are whole, missing 2, 3, 4" in steps.reason
    assert "interrupted" in steps.reason
    assert "--resume" in steps.mend


def test_an_imported_run_that_lacks_steps_cannot_be_resumed(tmp_path):
    plan = made_plan(activation_gate__pilot_steps=5)
    opened = open_run(write_run(tmp_path / "run", plan, kind="imported", steps=2))
    steps = next(check for check in evaluate_gate(opened, opened.sealed.plan).checks if check.id == "executed_steps")
    assert steps.status == "inconclusive"
    assert steps.mend.startswith("import a source that holds")


def test_more_missing_steps_than_a_line_holds_are_cut(tmp_path):
    _, checks = gate(tmp_path, made_plan(activation_gate__pilot_steps=50), steps=1)
    assert "10, …" in checks["executed_steps", None].reason


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, 0.4])
def test_a_number_that_is_not_finite_fails_and_shows_no_figure(tmp_path, broken):
    def with_one(arm, seed, step):
        columns = active_tokens(arm, seed, step)
        columns["current_logprob"][-1] = broken
        return columns

    report, checks = gate(tmp_path, tokens_of=with_one)
    assert report.status == "fail"
    for metric in ("dppo_masked_token_fraction", "policy_drift_abs_p_q90", "grpo_clip_fraction"):
        assert (checks[metric, "dppo"].status, checks[metric, "dppo"].value) == ("fail", None)
        assert "2 of 80 rows are NaN, infinite or a probability above 1" in checks[metric, "dppo"].reason


def test_a_mean_that_rests_on_less_than_half_of_the_steps_warns(tmp_path):
    def first_step_only(arm, seed, step):
        calm = tokens([(0, -0.5, -0.5, 1.0)] * 5 + [(1, -0.5, -0.45, 1.0)] * 5, step)
        return active_tokens(arm, seed, step) if step == 0 else calm

    report, checks = gate(tmp_path, made_plan(activation_gate__pilot_steps=3), tokens_of=first_step_only)
    assert (masked(checks).status, report.exit_code) == ("warn", 0)
    assert "2 of 3" in masked(checks).reason
    (tmp_path / "half").mkdir()
    _, checks = gate(tmp_path / "half", tokens_of=first_step_only)
    assert masked(checks).status == "pass"
    assert "1 of 2 steps at zero" in masked(checks).notes


@pytest.mark.parametrize(("factor", "status"), [(1.45, "warn"), (1.55, "pass")])
def test_drift_that_hardly_exceeds_the_first_update_s_noise_warns(tmp_path, factor, status):
    def noisy(arm, seed, step):
        first, second = (math.log(0.5 + gap) for gap in (0.01, 0.01 * factor))
        return tokens([(0, math.log(0.5), first, 1.0)] * 5 + [(1, math.log(0.5), second, 1.0)] * 5, step)

    _, checks = gate(tmp_path, tokens_of=noisy)
    check = checks["policy_drift_abs_p_q90", "dppo"]
    assert check.status == status
    assert any("first update" in note for note in check.notes)
    if status == "warn":
        assert "1.45 times" in check.reason


def test_drift_without_any_at_the_first_update_is_no_division_by_zero(tmp_path):
    def exact(arm, seed, step):
        return tokens([(0, -0.5, -0.5, 1.0)] * 5 + [(1, -0.5, -0.3, 1.0)] * 5, step)

    _, checks = gate(tmp_path, tokens_of=exact)
    assert checks["policy_drift_abs_p_q90", "dppo"].status == "pass"


def test_another_base_model_fails_in_the_arm_that_had_it(tmp_path):
    def other_in_one_arm(arm, seed, step):
        return updates(step, base_model="other" if arm == "grpo" and step == 1 else "tiny-addition")

    _, checks = gate(tmp_path, updates_of=other_in_one_arm)
    assert checks["executed_base_model", "dppo"].status == "pass"
    wrong = checks["executed_base_model", "grpo"]
    assert (wrong.status, wrong.value) == ("fail", "other and tiny-addition")
    assert "step 1: other" in wrong.reason


def test_one_and_three_updates_are_not_two(tmp_path):
    def mixed(arm, seed, step):
        return updates(step, n=1 if step == 0 else 3)

    _, checks = gate(tmp_path, updates_of=mixed)
    check = checks["executed_updates_per_batch", "dppo"]
    assert check.status == "fail"
    assert "2 of 2 batches are outside" in check.reason


def test_where_each_step_has_to_keep_the_limit_the_figure_is_the_one_furthest_outside(tmp_path):
    def mixed(arm, seed, step):
        return updates(step, n=2 if step == 0 else 5)

    _, checks = gate(tmp_path, updates_of=mixed)
    check = checks["executed_updates_per_batch", "dppo"]
    assert (check.status, check.value, check.limit.max) == ("fail", 5.0, 2.0)
    assert "1 of 2 batches are outside; the first is step 1: 5" in check.reason


def test_steps_at_zero_are_no_warning_where_zero_is_inside_the_limit(tmp_path):
    plan = only("grpo_clip_fraction", metric="truncated_fraction", min=None, max=0.1, update=None)
    _, checks = gate(tmp_path, plan)
    check = checks["truncated_fraction", "dppo"]
    assert (check.status, check.value) == ("pass", 0.0)
    assert "2 of 2 steps at zero" in check.notes


@pytest.mark.parametrize("metric", ["kl_k3", "mean_reward", "policy_drift_abs_p_q90", "dppo_masked_token_fraction"])
def test_a_number_that_is_none_of_several_fails_and_says_so(tmp_path, metric):
    limits = {"metric": metric, "min": None, "max": None, "one_of": ["tiny-addition", "2"], "update": None}
    _, checks = gate(tmp_path, only("grpo_clip_fraction", **limits))
    check = checks[metric, "dppo"]
    assert (check.status, check.reason) == ("fail", "none of the values that the plan allows")


def test_a_plan_without_a_gate_is_not_applicable(tmp_path):
    plan = made_plan(activation_gate={"applicable": False, "reason": "one arm", "checks": [], "pilot_steps": 2})
    report, checks = gate(tmp_path, plan)
    assert (report.status, report.exit_code, checks) == ("not_applicable", 0, {})
    assert "one arm" in report.reasons[0]


def test_a_check_on_a_role_that_no_arm_has_is_inconclusive_and_never_left_out(tmp_path):
    plan = only("dppo_masked_token_fraction", arm="treatment")
    for arm in plan["arms"]:
        arm["role"] = "baseline" if arm["role"] == "baseline" else "other"
    plan["decision_rule"]["criteria"][0]["weights"] = {"other": 1, "baseline": -1}
    report, checks = gate(tmp_path, plan)
    assert report.status == "inconclusive"
    assert "no arm of the plan has that role" in checks["dppo_masked_token_fraction", None].reason


def test_a_figure_of_the_whole_batch_is_not_taken_from_one_update(tmp_path):
    report, checks = gate(tmp_path, only("executed_updates_per_batch", update=1, min=1, max=1))
    assert report.status == "inconclusive"
    assert "whole rollout batch" in checks["executed_updates_per_batch", None].reason


def test_a_name_compared_with_a_number_is_inconclusive(tmp_path):
    report, checks = gate(tmp_path, only("executed_base_model", one_of=None, min=1))
    assert report.status == "inconclusive"
    assert "needs one_of" in checks["executed_base_model", None].reason


def test_a_number_may_be_one_of_several(tmp_path):
    for allowed, status in ((["2", "4"], "pass"), (["1", "3"], "fail")):
        folder = tmp_path / status
        folder.mkdir()
        report, _ = gate(folder, only("executed_updates_per_batch", min=None, max=None, one_of=allowed))
        assert report.status == status


def test_an_unknown_metric_in_the_gate_is_an_error(tmp_path):
    plan = only("dppo_masked_token_fraction", metric="dppo_masked_fraction")
    with pytest.raises(AuditError, match="did you mean"):
        gate(tmp_path, plan)


def test_a_gate_on_a_full_run_wants_every_planned_step(tmp_path):
    _, checks = gate(tmp_path, kind="full", steps=2)
    assert checks["executed_steps", None].limit == Limit(min=3.0)
    assert checks["executed_steps", None].status == "inconclusive"


def test_every_seed_of_the_treatment_counts(tmp_path):
    plan = made_plan()
    plan["arms"] += [arm | {"seed": 1, "name": arm["name"].replace("0", "1")} for arm in plan["arms"]]

    def second_seed_is_calm(arm, seed, step):
        calm = tokens([(0, -0.5, -0.5, 1.0)] * 40 + [(1, -0.5, -0.45, 1.0)] * 40, step)
        return calm if seed == 1 else active_tokens(arm, seed, step)

    _, checks = gate(tmp_path, plan, tokens_of=second_seed_is_calm)
    assert masked(checks).value == pytest.approx(0.05)
    assert len(masked(checks).steps) == 4


def test_a_wider_logprob_column_changes_nothing(tmp_path):
    import pyarrow as pa

    run = write_run(tmp_path / "run")

    def widen(table):
        return table.set_column(5, "sampler_logprob", table.column("sampler_logprob").cast(pa.float64()))

    rewrite(run, "tokens/arm=dppo/seed=0/step=000000.parquet", widen)
    opened = open_run(run)
    assert evaluate_gate(opened, opened.sealed.plan).status == "pass"


@pytest.mark.parametrize(
    ("statuses", "together"),
    [
        ([], "inconclusive"),
        (["pass"], "pass"),
        (["pass", "warn"], "warn"),
        (["pass", "waived"], "waived"),
        (["pass", "inconclusive", "warn"], "inconclusive"),
        (["fail", "inconclusive"], "fail"),
        (["not_applicable", "pass"], "pass"),
    ],
)
def test_statuses_add_up_to_the_worst(statuses, together):
    assert combine(statuses) == together


def test_nan_is_outside_every_limit():
    for limit in (Limit(min=0.0), Limit(max=1.0), Limit(one_of=("1",)), Limit(0.0, 1.0)):
        assert not limit.admits(math.nan)


def two_seeds():
    plan = made_plan()
    second = [{**arm, "name": f"{arm['condition']}_seed1", "seed": 1} for arm in plan["arms"]]
    return plan | {"arms": [*plan["arms"], *second]}


def calm_seed(dead):
    def rows(arm, seed, step):
        still = [(update, -0.5, -0.501, 1.0) for update in (0, 1) for _ in range(40)]
        return tokens(still, step) if seed == dead else active_tokens(arm, seed, step)

    return rows


def test_a_seed_that_never_fired_is_not_carried_by_the_other(tmp_path):
    report, checks = gate(tmp_path, two_seeds(), tokens_of=calm_seed(1))
    assert report.status == "fail"
    assert masked(checks).value == 0.05  # inside the limits, together
    assert "seed 1 is at 0" in masked(checks).reason


def test_a_seed_that_the_plan_does_not_name_does_not_count(tmp_path):
    path = write_run(tmp_path / "run", tokens_of=calm_seed(0))
    other = write_run(tmp_path / "other", two_seeds())
    for table in ("tokens", "rollouts", "updates", "phases"):
        shutil.copytree(other / table / "arm=dppo" / "seed=1", path / table / "arm=dppo" / "seed=1")
    lines = (other / "files.jsonl").read_text().splitlines(keepends=True)
    with (path / "files.jsonl").open("a") as handle:
        handle.writelines(line for line in lines if "arm=dppo/seed=1/" in line)
    run = open_run(path)
    report = evaluate_gate(run, run.sealed.plan)
    assert {check.id: check.value for check in report.checks}["dppo_masked_token_fraction"] == 0


def test_a_step_without_a_token_is_missing_evidence(tmp_path):
    def sometimes(arm, seed, step):
        return tokens([], step) if step else active_tokens(arm, seed, step)

    report, checks = gate(tmp_path, tokens_of=sometimes)
    assert (report.status, masked(checks).status) == ("inconclusive", "inconclusive")
    assert "1 of 2 planned steps" in masked(checks).reason


def test_an_optional_column_that_was_not_logged_is_inconclusive(tmp_path, monkeypatch):
    monkeypatch.setattr(Metric, "needs", property(lambda metric: ("tokens.entropy",)))
    _report, checks = gate(tmp_path)
    assert masked(checks).status == "inconclusive"
    assert masked(checks).reason == "column tokens.entropy was never logged"


def test_a_plan_without_the_baseline_s_clip_has_no_eps():
    plan = made_plan(losses__grpo={**made_plan()["losses"]["dppo"], "delta": 0.3})
    del plan["activation_gate"]["checks"][2]
    assert loss_parameters(sealed(plan).plan) == {"divergence": "binary_tv", "delta": "0.15"}
