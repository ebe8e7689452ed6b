import json
import math
import shutil

import pytest
from made_run import (
    change_json,
    evals,
    gate_check,
    linked,
    made_plan,
    right,
    sealed,
    tokens,
    updates,
    write_experiment,
    write_outcomes,
    write_run,
)  # fmt: skip

from analysis.errors import AuditError
from analysis.paired.methods import load_method
from audits.engine.decide import RuleOptions, decide
from audits.store.reader import open_run


def decided(path, **options):
    return decide(open_run(path), **options)


def outcomes(tmp_path, treatment, baseline, name="run"):
    return write_outcomes(tmp_path / name, {"treatment": [evals(treatment)], "baseline": [evals(baseline)]})


def only_reason(report, said):
    (reason,) = report.reasons
    assert said in reason
    return report


# Without a plan: the default rule.


def test_without_a_plan_the_default_rule_holds_and_says_that_it_was_not_registered(tmp_path):
    report = decided(outcomes(tmp_path, right(20), right(0)))
    assert (report.verdict, report.exit_code, report.registered) == ("validated", 0, False)
    assert (report.method, report.alpha, report.guarantee) == ("paired_hoeffding", 0.05, "proven")
    (criterion,) = report.criteria
    assert (criterion.estimate, criterion.margin, criterion.floor, criterion.band) == (1.0, 0.0, 0.0, None)
    assert criterion.lower == pytest.approx(1 - 2 * math.sqrt(math.log(40) / 40))
    assert math.copysign(1, criterion.floor) == 1
    only_reason(report, "no plan is sealed")


@pytest.mark.parametrize(
    ("options", "verdict", "exit_code"),
    [
        ({}, "validated", 0),
        ({"margin": 0.5}, "inconclusive", 4),
        ({"alpha": 1e-9}, "inconclusive", 4),
        ({"weights": {"treatment": -1.0, "baseline": 1.0}}, "refuted", 1),
    ],
)
def test_the_rule_s_numbers_may_be_chosen_where_no_plan_is_sealed(tmp_path, options, verdict, exit_code):
    report = decided(outcomes(tmp_path, right(20), right(0)), options=RuleOptions(**options))
    assert (report.verdict, report.exit_code) == (verdict, exit_code)


def test_floor_and_band_are_read(tmp_path):
    equal = outcomes(tmp_path, right(10), right(10))
    assert decided(equal, options=RuleOptions(band=0.7)).verdict == "tie"
    assert decided(equal, options=RuleOptions(margin=0.9, floor=0.7)).verdict == "refuted"
    assert decided(equal, options=RuleOptions(band=0.7)).exit_code == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": 0.0}, "alpha"), ({"alpha": 1.0}, "alpha"), ({"alpha": math.nan}, "alpha"),
        ({"margin": -0.1}, "margin"), ({"margin": math.nan}, "margin"), ({"margin": math.inf}, "margin"),
        ({"floor": 0.1}, "floor"), ({"floor": math.nan}, "floor"), ({"floor": -math.inf}, "floor"),
        ({"band": 0.0}, "band"), ({"band": -1.0}, "band"), ({"band": math.nan}, "band"), ({"band": math.inf}, "band"),
        ({"weights": {"treatment": 1.0}}, "weights"), ({"weights": {"treatment": 0.0}}, "weights"),
        ({"weights": {"treatment": math.nan, "baseline": -1.0}}, "weights"),
        ({"weights": {"treatment": 1.0, "other": -1.0}}, "role other"),
    ],
)  # fmt: skip
def test_a_number_that_makes_no_rule_is_an_error_that_names_the_option(tmp_path, options, named):
    with pytest.raises(AuditError, match=named):
        decided(outcomes(tmp_path, right(20), right(0)), options=RuleOptions(**options))


def test_an_unknown_method_names_the_nearest(tmp_path):
    with pytest.raises(AuditError, match='did you mean "paired_hoeffding"'):
        decided(outcomes(tmp_path, right(20), right(0)), method="paired_hoefding")


def test_without_a_plan_the_method_may_be_chosen(tmp_path):
    report = decided(outcomes(tmp_path, right(20), right(0)), method="paired_bootstrap")
    assert (report.method, report.guarantee) == ("paired_bootstrap", "asymptotic")


def test_beside_an_asymptotic_interval_a_proven_one_is_printed(tmp_path):
    report = decided(outcomes(tmp_path, right(20), right(0)), method="paired_bootstrap")
    assert [(other.method, other.guarantee) for other in report.exploratory] == [
        ("paired_exact_unconditional", "proven")
    ]
    assert decided(outcomes(tmp_path / "again", right(20), right(0))).exploratory == ()


def test_the_contrast_is_named_in_words(tmp_path):
    report = decided(outcomes(tmp_path, right(20), right(0)))
    assert report.criteria[0].contrast == "treatment minus baseline"


def test_swapping_the_arms_mirrors_the_interval(tmp_path):
    one = decided(outcomes(tmp_path, right(14), right(3), "one")).criteria[0]
    other = decided(outcomes(tmp_path, right(3), right(14), "other")).criteria[0]
    assert (one.estimate, one.lower, one.upper) == (-other.estimate, -other.upper, -other.lower)
    assert (one.counts.only_treatment, one.counts.only_baseline) == (11, 0)
    assert (other.counts.only_treatment, other.counts.only_baseline) == (0, 11)


def test_the_order_of_the_items_changes_nothing(tmp_path):
    table = evals([0.1, 0.7, 1.0, 0.3])
    shuffled = {name: [values[index] for index in (2, 0, 3, 1)] for name, values in table.items()}
    base = evals([0.2, 0.2, 0.9, 0.9])
    first = write_outcomes(tmp_path / "first", {"treatment": [table], "baseline": [base]})
    second = write_outcomes(tmp_path / "second", {"treatment": [shuffled], "baseline": [base]})
    assert decided(first).criteria == decided(second).criteria


def test_seeds_and_samples_are_averaged_in_each_item(tmp_path):
    def table(*scores_by_sample):
        tables = [evals(scores, sample=number) for number, scores in enumerate(scores_by_sample)]
        return {name: [value for part in tables for value in part[name]] for name in tables[0]}

    run = write_outcomes(
        tmp_path / "run",
        {"treatment": [table([1, 0], [0, 0]), table([1, 1], [1, 0])], "baseline": [table([0, 0], [0, 1])]},
    )
    (criterion,) = decided(run).criteria
    assert criterion.estimate == pytest.approx(((3 / 4 - 0) + (1 / 4 - 1 / 2)) / 2)
    assert criterion.counts is None


@pytest.mark.parametrize(
    "fault", ["missing", "duplicate", "samples", "error", "not a number", "null", "prompt", "infinite"]
)
def test_each_fault_of_the_pairing_names_item_and_arm_and_gives_no_number(tmp_path, fault):
    base = evals(right(2, 4), prompt_id="p", error=[None] * 4)
    bad = {name: list(values) for name, values in base.items()}
    if fault == "missing":
        bad = {name: values[:2] + values[3:] for name, values in bad.items()}
    elif fault in {"duplicate", "samples"}:
        bad = {name: [*values, values[2]] for name, values in bad.items()}
        bad["sample"][-1] = 0 if fault == "duplicate" else 1
    elif fault == "error":
        bad["error"][2], bad["score"][2] = "service died", None
    elif fault == "prompt":
        bad["prompt_id"][2] = "q"
    else:
        bad["score"][2] = {"not a number": math.nan, "null": None, "infinite": math.inf}[fault]
    run = write_outcomes(tmp_path / "run", {"treatment": [bad], "baseline": [base]})
    with pytest.raises(AuditError, match="pairing is broken") as error:
        decided(run)
    assert "item item-002" in error.value.message
    expected = {"null": "not a number", "infinite": "not a number"}.get(fault, fault)
    assert f"{expected}: item" in error.value.message
    if fault == "error":
        assert "service died" in error.value.message
    if fault not in {"prompt", "samples"}:
        assert "arm treatment, seed 0" in error.value.message


def test_many_faults_are_cut_and_counted(tmp_path):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(0, 1))], "baseline": [evals(right(0, 40))]})
    with pytest.raises(AuditError, match=r"39 faults(.|\n)*and 27 more"):
        decided(run)


def test_an_endless_error_text_is_cut(tmp_path):
    bad = evals([None], error="x" * 100_000)
    run = write_outcomes(tmp_path / "run", {"treatment": [bad], "baseline": [evals([1.0])]})
    with pytest.raises(AuditError) as error:
        decided(run)
    assert len(error.value.message) < 2000


def test_a_score_outside_the_bounds_names_the_item(tmp_path):
    with pytest.raises(AuditError, match="outside 0 to 1: item item-001 in arm treatment"):
        decided(outcomes(tmp_path, [0.0, 1.5], [0.0, 1.0]))


def test_nothing_to_decide_on_is_an_error(tmp_path):
    for name, arms in (("one arm", {"treatment": [evals(right(2))]}), ("none", {})):
        with pytest.raises(AuditError, match="role"):
            decided(write_outcomes(tmp_path / name, arms))
    base_only = {"treatment": [evals(right(2), checkpoint="base")], "baseline": [evals(right(2), checkpoint="base")]}
    with pytest.raises(AuditError, match="no final evaluation"):
        decided(write_outcomes(tmp_path / "base", base_only))
    empty = {"treatment": [evals([])], "baseline": [evals([])]}
    with pytest.raises(AuditError, match="nothing to decide on"):
        decided(write_outcomes(tmp_path / "empty", empty))
    with pytest.raises(AuditError, match="nothing to decide on"):
        decided(write_run(tmp_path / "no evals", kind="full"))


# With a sealed plan.


def test_a_full_run_with_a_passed_pilot_is_decided_by_its_plan(tmp_path):
    report = decided(write_experiment(tmp_path))
    assert (report.verdict, report.registered, report.reasons) == ("validated", True, ())
    assert report.plan_sha256 == sealed(made_plan()).sha256
    assert (report.baseline, report.treatment) == ("grpo_seed0", "dppo_seed0")


def test_an_option_against_the_sealed_rule_is_refused(tmp_path):
    run = write_experiment(tmp_path)
    for name, value in {"alpha": 0.1, "margin": 0.0, "floor": 0.0, "band": 0.1, "weights": {"a": 1.0}}.items():
        with pytest.raises(AuditError, match=f"--{name}"):
            decided(run, options=RuleOptions(**{name: value}))


def test_another_method_is_exploratory_and_changes_neither_verdict_nor_exit_code(tmp_path):
    run = write_experiment(tmp_path, scores={"grpo": right(4), "dppo": right(16)})
    registered = decided(run)
    assert registered.verdict == "inconclusive"
    asked = decided(run, method="paired_bootstrap")
    assert (asked.verdict, asked.exit_code, asked.method) == ("inconclusive", 4, "paired_hoeffding")
    (other,) = asked.exploratory
    assert (other.method, other.guarantee) == ("paired_bootstrap", "asymptotic")
    assert other.criteria[0].verdict == "validated"
    assert asked.criteria == registered.criteria
    assert decided(run, method="paired_hoeffding").exploratory == ()


def test_an_asymptotic_verdict_without_enough_discordant_items_is_inconclusive(tmp_path):
    plan = made_plan(decision_rule__method="paired_bootstrap")
    report = decided(write_experiment(tmp_path, plan, scores={"grpo": right(10), "dppo": right(19)}))
    assert (report.verdict, report.guarantee) == ("inconclusive", "asymptotic")
    assert load_method("paired_bootstrap").info.guarantee == "asymptotic"
    only_reason(report, "differ on 9 of 20")


def test_a_pilot_decides_nothing(tmp_path):
    report = decided(write_run(tmp_path / "pilot", scores={"grpo": right(0), "dppo": right(20)}))
    assert (report.verdict, report.registered, report.exit_code) == ("inconclusive", False, 4)
    assert report.reasons[0].startswith("pilot")
    assert report.criteria[0].lower > 0


def test_imported_outcomes_beside_a_plan_are_not_registered(tmp_path):
    run = write_experiment(tmp_path)
    change_json(run / "run.json", kind="imported")
    report = decided(run)
    assert not report.registered
    assert report.reasons[0].startswith("imported")


def void(path, said):
    report = decided(path)
    assert (report.verdict, report.exit_code) == ("void", 4)
    assert any(said in reason for reason in report.reasons), report.reasons
    assert report.criteria[0].estimate == 1.0  # the numbers always print
    return report


def test_a_plan_that_changed_after_sealing_makes_the_claim_void(tmp_path):
    run = write_experiment(tmp_path)
    change_json(run / "plan.json", decision_rule__alpha=0.1)
    report = void(run, "changed after it was sealed")
    assert any("speaks for its own only" in reason for reason in report.reasons)


def test_white_space_in_the_plan_is_no_change(tmp_path):
    run = write_experiment(tmp_path)
    text = json.dumps(json.loads((run / "plan.json").read_text()), indent=8)
    (run / "plan.json").write_text(text)
    assert decided(run).verdict == "validated"


def test_without_a_linked_pilot_the_claim_is_void(tmp_path):
    run = write_experiment(tmp_path)
    change_json(run / "run.json", pilot=None)
    void(run, "no pilot is linked")


def test_a_pilot_that_is_gone_makes_the_claim_void(tmp_path):
    run = write_experiment(tmp_path)
    shutil.rmtree(tmp_path / "pilot")
    void(run, "is not there")


@pytest.mark.parametrize("path", ["", ".", "\x00", "x" * 5000, "/nowhere"])
def test_a_pilot_s_path_that_leads_nowhere_makes_the_claim_void(tmp_path, path):
    run = write_experiment(tmp_path)
    change_json(run / "run.json", pilot__path=path)
    void(run, "pilot")


def test_a_pilot_whose_log_changed_since_makes_the_claim_void(tmp_path):
    run = write_experiment(tmp_path)
    link = json.loads((run / "run.json").read_text())["pilot"]
    assert decided(run).verdict == "validated"
    rows = [(0, -0.5, -0.501, 1.0), (1, -0.5, -0.2, 1.0), *[(1, -0.5, -0.4, 1.0)] * 8]
    other = write_run(tmp_path / "again", tokens_of=lambda arm, seed, step: tokens(rows, step))
    shutil.rmtree(tmp_path / "pilot")
    other.rename(tmp_path / "pilot")
    change_json(tmp_path / "pilot" / "run.json", run_id=link["run_id"])
    void(run, "its log or policy.json changed since")


def test_another_pilot_in_its_place_makes_the_claim_void(tmp_path):
    run = write_experiment(tmp_path)
    change_json(tmp_path / "pilot" / "run.json", run_id="someone-else")
    void(run, "someone-else")


def test_a_pilot_of_another_plan_makes_the_claim_void(tmp_path):
    pilot = write_run(tmp_path / "pilot", made_plan(title="another"))
    run = write_run(
        tmp_path / "full", kind="full", pilot=linked(pilot, tmp_path / "full"),
        scores={"grpo": right(0), "dppo": right(20)},
    )  # fmt: skip
    void(run, "speaks for its own only")


def test_a_full_run_is_no_pilot(tmp_path):
    run = write_experiment(tmp_path)
    change_json(tmp_path / "pilot" / "run.json", kind="full")
    void(run, "is a full run, not a pilot")


def test_a_pilot_whose_gate_failed_makes_the_claim_void_with_the_reason(tmp_path):
    pilot = write_run(
        tmp_path / "pilot", tokens_of=lambda arm, seed, step: tokens([(0, -0.5, -0.5, 1.0)] * 9, step),
        updates_of=lambda arm, seed, step: updates(step, n=1),
    )  # fmt: skip
    run = write_run(
        tmp_path / "full", kind="full", pilot=linked(pilot, tmp_path / "full"),
        scores={"grpo": right(0), "dppo": right(20)},
    )  # fmt: skip
    void(run, "dppo_masked_token_fraction (dppo): no value, the plan wants [0.001, 0.3]: the rule cannot fire")


def test_an_unfinished_pilot_makes_the_claim_void(tmp_path):
    pilot = write_run(tmp_path / "pilot", steps=1)
    run = write_run(
        tmp_path / "full", kind="full", pilot=linked(pilot, tmp_path / "full"),
        scores={"grpo": right(0), "dppo": right(20)},
    )  # fmt: skip
    void(run, "gate is inconclusive: executed_steps")


def test_a_plan_without_a_gate_needs_no_pilot(tmp_path):
    plan = made_plan(activation_gate={"applicable": False, "reason": "x", "checks": [], "pilot_steps": 2})
    run = write_run(tmp_path / "full", plan, kind="full", scores={"grpo": right(0), "dppo": right(20)})
    assert decided(run).verdict == "validated"


def waived_experiment(tmp_path, expires="2999-01-01", **full):
    plan = made_plan()
    gate_check(plan, "policy_drift_abs_p_q90")["min"] = 0.9
    pilot = write_run(tmp_path / "pilot", plan)
    waiver = {"check": "policy_drift_abs_p_q90", "arm": "dppo", "value": 0.2, "reason": "known", "owner": "Ann"}
    (pilot / "policy.json").write_text(json.dumps({"waivers": [waiver | {"expires": expires}]}))
    scores = {"grpo": right(0), "dppo": right(20)}
    run = tmp_path / "full"
    return write_run(run, plan, kind="full", pilot=linked(pilot, run), scores=scores, **full)


def test_a_verdict_that_rests_on_a_waiver_says_so_with_figure_limit_owner_and_expiry(tmp_path):
    report = only_reason(decided(waived_experiment(tmp_path)), "the pilot's gate passed only with a waiver")
    assert report.verdict == "validated"
    assert "policy_drift_abs_p_q90 (dppo): 0.2122, the plan wants >= 0.9" in report.reasons[0]
    assert "waived by Ann until 2999-01-01: known" in report.reasons[0]


@pytest.mark.parametrize(("expires", "void"), [("2026-01-02", False), ("2026-01-01", True)])
def test_a_waiver_must_hold_on_the_day_the_run_started_whatever_day_it_is_now(tmp_path, expires, void):
    full = waived_experiment(tmp_path, expires=expires)
    report = decided(full)
    assert (report.verdict == "void") == void
    assert ("expired on 2026-01-01" in " ".join(report.reasons)) == void


def test_a_waiver_exchanged_after_the_run_began_makes_the_claim_void(tmp_path):
    full = waived_experiment(tmp_path)
    policy = tmp_path / "pilot" / "policy.json"
    policy.write_text(policy.read_text().replace("Ann", "Bob"))
    report = decided(full)
    assert report.verdict == "void"
    assert "other figures or waivers now than when it allowed this run" in " ".join(report.reasons)


def test_a_start_that_is_no_time_is_named(tmp_path):
    full = waived_experiment(tmp_path)
    change_json(full / "run.json", started_at="yesterday")
    with pytest.raises(AuditError, match=r"run.json: started_at: 'yesterday' is no time"):
        decided(full)


def test_an_unfinished_run_tells_the_waiver_too(tmp_path):
    report = decided(waived_experiment(tmp_path, status="interrupted"))
    assert report.verdict == "inconclusive"
    assert [word in reason for word, reason in zip(("waiver", "not finished"), report.reasons, strict=True)] == [
        True
    ] * 2


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "holds no result"),
        ({"status": "fail"}, "preflight is fail"),
        ({"status": "inconclusive"}, "preflight is inconclusive"),
        ({"status": "pass", "plan_sha256": "0" * 64}, "another plan's"),
    ],
)
def test_a_required_preflight_that_did_not_pass_makes_the_claim_void(tmp_path, result, said):
    run = preflight(tmp_path, result)
    void(run, said)


def test_a_required_preflight_that_was_waived_is_told(tmp_path):
    run = preflight(tmp_path, {"status": "waived", "reasons": ["the service hides its loss"]})
    report = only_reason(decided(run), "says that it was waived: the service hides its loss")
    assert report.verdict == "validated"


def test_a_required_preflight_that_passed_is_enough(tmp_path):
    assert decided(preflight(tmp_path, {"status": "pass"})).verdict == "validated"


@pytest.mark.parametrize("content", ["", "[]", "{}", '"x"', "null", "1" * 5000, "[" * 100_000, "\xff"])
def test_a_preflight_result_that_is_none_is_an_error_that_names_it(tmp_path, content):
    run = preflight(tmp_path, {"status": "pass"})
    (tmp_path / "pilot/preflight/restoration.json").write_text(content, encoding="latin-1")
    with pytest.raises(AuditError, match=r"restoration\.json") as error:
        decided(run)
    assert len(error.value.message) < 1000


def preflight(tmp_path, result):
    plan = made_plan(preflights__restoration__required=True)
    run = write_experiment(tmp_path, plan)
    if result is not None:
        (tmp_path / "pilot/preflight").mkdir()
        body = json.dumps({"plan_sha256": sealed(plan).sha256} | result)
        (tmp_path / "pilot/preflight/restoration.json").write_text(body)
    return run


@pytest.mark.parametrize(
    ("full", "said"),
    [
        ({"steps": 2}, "missing 2"),
        ({"status": "interrupted"}, "interrupted"),
        ({"scores": {"grpo": right(0, 19), "dppo": right(19, 19)}}, "19 items were evaluated, the plan says 20"),
    ],
)
def test_an_unfinished_full_run_is_inconclusive_and_says_what_is_missing(tmp_path, full, said):
    report = decided(write_experiment(tmp_path, **full))
    assert (report.verdict, report.exit_code, report.registered) == ("inconclusive", 4, True)
    assert report.criteria[0].lower > 0
    only_reason(report, said)


def two_seeds(**changes):
    plan = made_plan(**changes)
    plan["arms"] += [arm | {"seed": 1, "name": arm["name"].replace("0", "1")} for arm in plan["arms"]]
    plan["decision_rule"]["seeds"] = [0, 1]
    return plan


def test_a_registered_seed_without_its_evaluation_is_an_error(tmp_path):
    run = write_experiment(tmp_path, two_seeds())
    assert decided(run).verdict == "validated"
    lines = (run / "files.jsonl").read_text().splitlines()
    kept = [line for line in lines if "evals/arm=dppo/seed=1" not in line]
    assert len(kept) == len(lines) - 1
    (run / "files.jsonl").write_text("".join(line + "\n" for line in kept))
    with pytest.raises(AuditError, match="'dppo' has no final evaluation for seed 1"):
        decided(run)


def test_only_the_registered_seeds_count(tmp_path):
    plan = two_seeds()
    plan["decision_rule"]["seeds"] = [1]
    run = write_experiment(tmp_path, plan)
    from audits.store.writer import RunWriter

    writer = RunWriter(run, open_run(run).manifest)
    writer.write_evals("dppo", 0, "final", evals(right(0)))
    assert decided(run).criteria[0].estimate == 1.0


def test_the_roles_are_the_plan_s_and_not_what_run_json_says_later(tmp_path):
    run = write_experiment(tmp_path)
    arms = json.loads((run / "run.json").read_text())["arms"]
    for arm in arms:
        arm["role"] = {"baseline": "treatment", "treatment": "baseline"}[arm["role"]]
    change_json(run / "run.json", arms=arms)
    assert decided(run).criteria[0].estimate == 1.0


def test_a_criterion_on_a_figure_that_was_not_scored_is_an_error(tmp_path):
    plan = made_plan()
    plan["decision_rule"]["criteria"].append(
        plan["decision_rule"]["criteria"][0] | {"id": "format", "metric": "format"}
    )
    with pytest.raises(AuditError, match="'format'"):
        decided(write_experiment(tmp_path, plan))


def test_a_claim_about_the_algorithm_is_refused(tmp_path):
    with pytest.raises(AuditError, match="seed-level"):
        decided(write_experiment(tmp_path, made_plan(decision_rule__unit="training_seeds")))


def test_a_damaged_pilot_is_an_error_and_not_a_verdict(tmp_path):
    run = write_experiment(tmp_path)
    (tmp_path / "pilot/tokens/arm=dppo/seed=0/step=000000.parquet").write_bytes(b"")
    with pytest.raises(AuditError, match="pilot"):
        decided(run)


def test_a_plan_with_an_unresolved_pin_makes_the_claim_void(tmp_path):
    plan = made_plan()
    plan["preflights"] = {"correctness": {"required": False, "settings": {"reference_revision": "UNRESOLVED: pin it"}}}
    void(write_experiment(tmp_path, plan), "unresolved_pins")


def test_the_kind_in_run_json_frees_no_run_from_its_plan(tmp_path):
    run = write_experiment(tmp_path)
    change_json(run / "plan.json", decision_rule__alpha=0.1)
    change_json(run / "run.json", kind="imported")
    void(run, "changed after it was sealed")


def test_an_exploratory_method_that_does_not_fit_stops_nothing(tmp_path):
    run = outcomes(tmp_path, [0.5, 1.0] * 10, [0.0, 0.25] * 10)
    report = decided(write_experiment(tmp_path / "sealed"), method="seed_level_t")
    assert report.verdict == "validated"
    assert report.exploratory[0].criteria == ()
    assert "training seeds" in report.exploratory[0].reason
    with pytest.raises(AuditError, match="paired_hoeffding"):
        decided(run, method="paired_tango")  # without a plan the method asked for is the rule


def test_the_options_of_the_rule_are_kept_for_the_command_that_gives_it_again(tmp_path):
    options = RuleOptions(alpha=0.1, margin=0.02, weights={"treatment": 1.0, "baseline": -1.0})
    report = decided(outcomes(tmp_path, right(20), right(0)), options=options)
    assert report.options == (("--alpha", "0.1"), ("--margin", "0.02"), ("--weights", "treatment=1.0,baseline=-1.0"))


def test_outcomes_that_changed_carry_no_verdict_though_size_and_rows_are_the_same(tmp_path):
    run = write_experiment(tmp_path)
    path = run / "evals/arm=dppo/seed=0/checkpoint=final.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(AuditError, match="no verdict rests on outcomes that changed"):
        decided(run)


def test_an_imported_arm_that_is_neither_is_named_by_itself(tmp_path):
    arms = {"judge": [evals(right(3))], "tutor": [evals(right(14))], "baseline": [evals(right(9))]}
    run = open_run(write_outcomes(tmp_path / "run", arms))
    report = decide(run, options=RuleOptions(weights={"tutor": 1.0, "judge": -1.0}))
    assert report.criteria[0].estimate == pytest.approx(0.55)
    with pytest.raises(AuditError, match="role other"):
        decide(run, options=RuleOptions(weights={"tutor": 1.0, "other": -1.0}))
