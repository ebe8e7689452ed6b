"""The unit of the claim: items of fixed checkpoints, several samples an item, or training seeds."""

import json

import numpy as np
import pytest
import scipy
from made_run import evals, made_plan, right, sealed, write_experiment, write_outcomes

from analysis.errors import AuditError
from analysis.paired.methods import load_method, method_ids
from audits.engine.decide import RuleOptions, decide
from audits.store.reader import open_run
from audits.store.writer import RunWriter
from reports.emitters.contracts import decision_object
from reports.emitters.emit import emit_decision
from reports.verdicts import speaks_of

N_ITEMS = 20


def decided(path, **options):
    return decide(open_run(path), **options)


def sampled(scores):
    """Evaluation columns of scores, shape (items, samples)."""
    tables = [evals(list(column), sample=number) for number, column in enumerate(np.asarray(scores, float).T)]
    return {name: [value for table in tables for value in table[name]] for name in tables[0]}


def seeds_plan(n_seeds, method="seed_level_t", **changes):
    plan = made_plan(decision_rule__unit="training_seeds", decision_rule__method=method, **changes)
    first = plan["arms"]
    plan["arms"] = [
        arm | {"seed": seed, "name": arm["name"].replace("seed0", f"seed{seed}")}
        for seed in range(n_seeds)
        for arm in first
    ]
    plan["decision_rule"]["seeds"] = list(range(n_seeds))
    return plan


def seeds_run(tmp_path, n_seeds=4, method="seed_level_t"):
    """A full run whose arms differ by seed, with the numbers right of each arm's seeds."""
    n_right = {"grpo": [2, 4, 3, 5][:n_seeds], "dppo": [15, 19, 16, 17][:n_seeds]}
    run = write_experiment(tmp_path, seeds_plan(n_seeds, method), scores={"grpo": right(0), "dppo": right(0)})
    for arm, numbers in n_right.items():
        for seed, number in enumerate(numbers):
            replace_evals(run, arm, seed, evals(right(number)))
    return run, {arm: np.array(numbers) / N_ITEMS for arm, numbers in n_right.items()}


@pytest.fixture(scope="module")
def claim(tmp_path_factory):
    """A run with 4 seeds an arm, only read, and the accuracy of each seed."""
    return seeds_run(tmp_path_factory.mktemp("claim"))


def replace_evals(run, arm, seed, columns):
    folder = run / f"evals/arm={arm}/seed={seed}"
    lines = (run / "files.jsonl").read_text().splitlines()
    kept = [line for line in lines if f"evals/arm={arm}/seed={seed}/" not in line]
    assert len(kept) == len(lines) - 1
    (run / "files.jsonl").write_text("".join(line + "\n" for line in kept))
    for path in folder.iterdir():
        path.unlink()
    RunWriter(run, open_run(run).manifest).write_evals(arm, seed, "final", columns)


# Training seeds.


def test_a_claim_about_the_training_is_decided_on_its_seeds(claim):
    run, means = claim
    report = decided(run)
    expected = scipy.stats.ttest_rel(means["dppo"], means["grpo"])
    limits = expected.confidence_interval(0.95)
    (criterion,) = report.criteria
    assert (criterion.lower, criterion.upper) == pytest.approx((limits.low, limits.high))
    assert criterion.p_value == pytest.approx(expected.pvalue)
    assert (report.verdict, report.registered, report.unit) == ("validated", True, "training_seeds")
    assert (report.n_seeds, report.n_items) == (4, N_ITEMS)
    assert criterion.counts is None


def test_beside_the_t_interval_stands_what_is_proven_about_seeds(claim):
    run, _ = claim
    assert [(other.method, other.guarantee) for other in decided(run).exploratory] == [
        ("seed_level_hoeffding", "proven")
    ]
    asked = decided(run, method="hierarchical_crossed")
    assert [other.method for other in asked.exploratory] == ["hierarchical_crossed", "seed_level_hoeffding"]
    assert asked.criteria == decided(run).criteria
    wide, narrow = asked.exploratory[0].criteria[0], asked.criteria[0]
    assert wide.upper - wide.lower > narrow.upper - narrow.lower


@pytest.mark.parametrize("method", method_ids("training_seeds"))
def test_every_seed_method_can_be_registered(tmp_path, method):
    run, _ = seeds_run(tmp_path, 3, method)
    report = decided(run)
    assert (report.method, report.n_seeds) == (method, 3)
    assert report.criteria[0].lower < report.criteria[0].estimate == pytest.approx(41 / 60)


@pytest.mark.parametrize("n_seeds", [1, 2])
def test_fewer_than_three_seeds_are_refused_with_how_many_there_are(tmp_path, n_seeds):
    run = write_experiment(tmp_path, seeds_plan(n_seeds))
    with pytest.raises(AuditError, match=rf"has {n_seeds} training seeds?, and .* at least 3") as error:
        decided(run)
    assert "fixed_checkpoint_items" in error.value.message


def test_equal_seeds_are_inconclusive_and_say_why(tmp_path):
    report = decided(write_experiment(tmp_path, seeds_plan(3)))
    assert (report.verdict, report.exit_code) == ("inconclusive", 4)
    assert "equal" in report.reasons[0]
    assert (report.criteria[0].lower, report.criteria[0].upper) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("unit", "method", "said"),
    [
        ("training_seeds", "paired_hoeffding", "needs a seed-level method: paired_hoeffding speaks of fixed"),
        ("fixed_checkpoint_items", "seed_level_t", "seed_level_t of training seeds"),
    ],
)
def test_a_method_of_the_other_unit_is_refused_with_what_fits(tmp_path, unit, method, said):
    plan = seeds_plan(3, method) | {}
    plan["decision_rule"]["unit"] = unit
    with pytest.raises(AuditError, match=said) as error:
        decided(write_experiment(tmp_path, plan))
    fitting = method_ids(unit)
    assert all(method_id in error.value.message for method_id in fitting)


@pytest.mark.parametrize(
    ("unit", "method", "asked"),
    [
        ("training_seeds", "seed_level_t", "paired_tango"),
        ("fixed_checkpoint_items", "paired_hoeffding", "seed_level_t"),
    ],
)
def test_an_exploratory_method_of_the_other_unit_has_a_reason_and_no_interval(tmp_path, unit, method, asked):
    plan = seeds_plan(3, method) | {}
    plan["decision_rule"]["unit"] = unit
    run = write_experiment(tmp_path, plan)
    report, alone = decided(run, method=asked), decided(run)
    shown = next(other for other in report.exploratory if other.method == asked)
    assert (shown.criteria, shown.verdict) == ((), "none")
    assert shown.reason
    assert (report.verdict, report.exit_code) == (alone.verdict, alone.exit_code)


def test_a_refused_method_names_its_reason_before_any_data_is_read(tmp_path):
    run = write_experiment(tmp_path, made_plan(decision_rule__unit="training_seeds"))
    (run / "evals/arm=dppo/seed=0/checkpoint=final.parquet").write_bytes(b"")
    with pytest.raises(AuditError, match="seed-level"):
        decided(run)


def test_without_a_plan_the_method_asked_for_sets_the_unit(tmp_path):
    numbers = {"treatment": [15, 19, 16, 18], "baseline": [2, 4, 3]}
    run = write_outcomes(tmp_path / "run", {arm: [evals(right(n)) for n in ns] for arm, ns in numbers.items()})
    report = decided(run, method="seed_level_t")
    means = [np.array(ns) / N_ITEMS for ns in numbers.values()]
    limits = scipy.stats.ttest_ind(*means, equal_var=False).confidence_interval(0.95)
    assert (report.criteria[0].lower, report.criteria[0].upper) == pytest.approx((limits.low, limits.high))
    assert (report.unit, report.n_seeds, report.registered) == ("training_seeds", 3, False)
    assert "seeds" in report.estimand
    assert decided(run).unit == "fixed_checkpoint_items"


def three_arms(tmp_path, seeds_of_other):
    table = {"treatment": [9, 12, 14], "other": [10, 13, 9], "baseline": [2, 4, 3]}
    arms = {arm: [evals(right(n)) for n in numbers] for arm, numbers in table.items()}
    arms["other"] = arms["other"][:seeds_of_other]
    run = write_outcomes(tmp_path / "run", arms)
    return run, {arm: np.array(numbers) / N_ITEMS for arm, numbers in table.items()}


def test_a_contrast_over_three_arms_is_taken_seed_by_seed(tmp_path):
    weights = {"treatment": 0.25, "other": 0.75, "baseline": -1.0}
    run, means = three_arms(tmp_path, 3)
    (criterion,) = decided(run, method="seed_level_t", options=RuleOptions(weights=weights)).criteria
    by_seed = sum(weight * means[arm] for arm, weight in weights.items())
    limits = scipy.stats.ttest_1samp(by_seed, 0.0).confidence_interval(0.95)
    assert (criterion.lower, criterion.upper) == pytest.approx((limits.low, limits.high))
    assert criterion.bounds == (-1.0, 1.0)


def test_arms_of_one_side_with_different_seeds_cannot_be_added(tmp_path):
    weights = {"treatment": 0.5, "other": 0.5, "baseline": -1.0}
    run, _ = three_arms(tmp_path, 2)
    with pytest.raises(AuditError, match="other, treatment are added in the contrast and have different"):
        decided(run, method="seed_level_t", options=RuleOptions(weights=weights))


def test_the_number_of_seeds_is_said_everywhere(claim, capsys):
    import sys

    run, _ = claim
    report = decided(run)
    printed = decision_object(report)
    assert (printed["n_seeds"], printed["n_items"], printed["unit"]) == (4, N_ITEMS, "training_seeds")
    assert "n_seeds" not in printed["null_reasons"]
    assert "4 seeds an arm" in speaks_of(report, None)
    assert "20 items" in speaks_of(report, None)
    emit_decision(report, "table", sys.stdout)
    assert "4 training seeds an arm" in capsys.readouterr().out


def test_for_fixed_checkpoints_the_number_of_seeds_is_null_with_a_reason(tmp_path):
    import io

    run = write_experiment(tmp_path)
    stream = io.StringIO()
    emit_decision(decided(run), "json", stream)
    printed = json.loads(stream.getvalue())
    assert printed["n_seeds"] is None
    assert "not the unit" in printed["null_reasons"]["n_seeds"]
    assert "plan_sha256" not in printed["null_reasons"]
    assert "It says nothing about the algorithm" in speaks_of(decided(run), None)


def test_the_seal_and_the_gate_hold_for_seeds_too(tmp_path):
    run, _ = seeds_run(tmp_path)
    plan = json.loads((run / "plan.json").read_text())
    plan["decision_rule"]["alpha"] = 0.2
    (run / "plan.json").write_text(json.dumps(plan))
    assert sealed(plan).sha256 != open_run(run).manifest.plan_sha256
    assert decided(run).verdict == "void"


# Several samples an item.


def sticky(generator, n_items, n_samples):
    """Right/wrong samples that agree within an item four times of five, with a true difference of 0."""
    first = generator.random((n_items, 1)) < 0.5
    again = generator.random((n_items, n_samples)) < 0.2
    return np.where(again, generator.random((n_items, n_samples)) < 0.5, first) * 1.0


def test_samples_of_an_item_are_one_item(tmp_path):
    generator = np.random.default_rng(3)
    scores = {arm: sticky(generator, 30, 4) for arm in ("treatment", "baseline")}
    run = write_outcomes(tmp_path / "run", {arm: [sampled(table)] for arm, table in scores.items()})
    report = decided(run)
    means = scores["treatment"].mean(axis=1) - scores["baseline"].mean(axis=1)
    assert report.n_items == 30
    assert report.criteria[0].estimate == pytest.approx(means.mean())
    half = (report.criteria[0].upper - report.criteria[0].lower) / 2.0
    assert half == pytest.approx(2.0 * np.sqrt(np.log(40.0) / 60.0), rel=0.2)


def test_copying_the_samples_changes_no_interval(tmp_path):
    """Ten copies of one greedy answer are no more evidence than one."""
    tables = {"treatment": right(14), "baseline": right(6)}
    single = write_outcomes(tmp_path / "single", {arm: [evals(scores)] for arm, scores in tables.items()})
    copies = {arm: [sampled(np.repeat(np.array(scores)[:, np.newaxis], 10, axis=1))] for arm, scores in tables.items()}
    copied = write_outcomes(tmp_path / "copied", copies)
    for method in ("paired_hoeffding", "paired_exact_unconditional", "paired_tango", "confidence_sequence"):
        assert decided(copied, method=method).criteria == decided(single, method=method).criteria


@pytest.mark.parametrize("repetitions", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_item_means_cover_where_pooled_samples_do_not(repetitions):
    from analysis.paired.sample import sample_from_scores

    generator, n_items, n_samples = np.random.default_rng(4), 100, 8
    method, covered = load_method("paired_bootstrap"), {"items": 0, "pooled": 0}
    for _ in range(repetitions):
        treatment, baseline = (sticky(generator, n_items, n_samples) for _ in range(2))
        pools = {
            "items": (treatment.mean(axis=1), baseline.mean(axis=1)),
            "pooled": (treatment.ravel(), baseline.ravel()),
        }
        for name, (first, second) in pools.items():
            found = method.interval(sample_from_scores(first, second, (0.0, 1.0)), alpha=0.05, seed=1)
            covered[name] += found.lower <= 0.0 <= found.upper
    error = np.sqrt(0.05 * 0.95 / repetitions)
    assert covered["items"] / repetitions > 0.94 - 3.0 * error
    assert covered["pooled"] / repetitions < 0.80


@pytest.mark.parametrize("dropped", [0, -1])
def test_ragged_samples_are_an_error_that_names_the_item(tmp_path, dropped):
    whole = sampled(np.ones((5, 3)))
    ragged = {name: [*values] for name, values in whole.items()}
    for values in ragged.values():
        del values[dropped]
    run = write_outcomes(tmp_path / "run", {"treatment": [ragged], "baseline": [whole]})
    item = "item-000" if dropped == 0 else "item-004"
    with pytest.raises(
        AuditError, match=rf"samples: item {item} in arm treatment, seed 0: 2 samples, another arm has 3"
    ):
        decided(run)


@pytest.mark.parametrize("method", [name for name in method_ids() if load_method(name).info.scores == "binary"])
def test_methods_for_right_and_wrong_refuse_item_means_and_name_what_fits(tmp_path, method):
    scores = np.tile([1.0, 0.0], (12, 1))
    run = write_outcomes(tmp_path / "run", {"treatment": [sampled(scores)], "baseline": [sampled(1.0 - 0.0 * scores)]})
    with pytest.raises(AuditError, match=f'"{method}" takes right/wrong scores') as error:
        decided(run, method=method)
    for fitting in ("paired_hoeffding", "paired_gaffke", "confidence_sequence"):
        assert fitting in error.value.message
    assert "seed_level" not in error.value.message
    assert decided(run, method="paired_gaffke").n_items == 12


def test_the_confidence_sequence_can_be_registered(tmp_path):
    plan = made_plan(decision_rule__method="confidence_sequence")
    report = decided(write_experiment(tmp_path, plan))
    assert (report.verdict, report.method, report.guarantee) == ("validated", "confidence_sequence", "proven")
