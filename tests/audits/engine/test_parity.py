"""Every figure against a second, plain implementation in numpy."""

import math

import numpy as np
import pytest
from made_run import made_plan, tokens, updates, write_run

from audits.engine.drift import drift_by_step
from audits.engine.gate import loss_parameters
from audits.engine.measure import measure
from audits.engine.metric import load_metric
from audits.engine.request import Request
from audits.store.reader import open_run
from audits.store.sandbox import query
from audits.store.seal import seal_text

DELTA, EPS = 0.15, 0.2


def random_log(seed, n_updates=(2, 2, 2)):
    """Return rows (seed, step, update, sampler, current, advantage) as float32, with zeros and exact-zero logprobs."""
    rng = np.random.default_rng(seed)
    log = []
    for training_seed in (0, 1):
        for step, executed in enumerate(n_updates):
            for update in range(executed):
                for _ in range(int(rng.integers(1, 60))):
                    sampler = np.float32(-rng.exponential(0.7))
                    current = np.float32(min(0.0, sampler + rng.normal(0, 0.1 + 0.4 * update)))
                    advantage = np.float32(rng.choice([0.0, 0.5, -0.5, 1.0]))
                    if rng.random() < 0.05:
                        sampler = np.float32(0.0)
                    log.append((training_seed, step, update, float(sampler), float(current), float(advantage)))
    return log


def two_seed_plan(divergence="binary_tv"):
    plan = made_plan(losses__dppo__divergence=divergence)
    plan["arms"] += [arm | {"seed": 1, "name": arm["name"].replace("0", "1")} for arm in plan["arms"]]
    return plan


def write(path, log, plan=None, n_updates=(2, 2, 2)):
    def tokens_of(arm, seed, step):
        return tokens([row[2:] for row in log if row[:2] == (seed, step)], step)

    return write_run(
        path, plan or two_seed_plan(), steps=len(n_updates), tokens_of=tokens_of,
        updates_of=lambda arm, seed, step: updates(step, n=n_updates[step]),
    )  # fmt: skip


def divergence(kind, sampler, current):
    mu, pi = math.exp(sampler), math.exp(current)
    if kind == "binary_tv":
        return abs(mu - pi)
    return mu * (sampler - current) + (1 - mu) * math.log((max(1 - mu, 0) + 1e-8) / (max(1 - pi, 0) + 1e-8))


def is_masked(kind, sampler, current, advantage):
    away = (advantage > 0 and current > sampler) or (advantage < 0 and current < sampler)
    return away and divergence(kind, sampler, current) > DELTA


def is_clipped(_kind, sampler, current, advantage):
    ratio = math.exp(current - sampler)
    return (advantage > 0 and ratio > 1 + EPS) or (advantage < 0 and ratio < 1 - EPS)


def shares(log, rule, kind):
    """Return (numerator, denominator) by (seed, step) on the second update."""
    found = {}
    for seed, step, update, *row in log:
        if update == 1:
            hits, n = found.get((seed, step), (0, 0))
            found[seed, step] = (hits + rule(kind, *row), n + 1)
    return found


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    ("metric_id", "rule", "kind"),
    [
        ("dppo_masked_token_fraction", is_masked, "binary_tv"),
        ("dppo_masked_token_fraction", is_masked, "binary_kl"),
        ("grpo_clip_fraction", is_clipped, "binary_tv"),
    ],
)
def test_a_share_its_profile_and_its_query_agree_with_plain_python(tmp_path, number, metric_id, rule, kind):
    log, plan = random_log(number), two_seed_plan(kind)
    run = open_run(write(tmp_path / "run", log, plan))
    expected = shares(log, rule, kind)
    asked = Request(load_metric(metric_id), loss_parameters(run.sealed.plan), "dppo", 1, with_reach=True)
    found = measure(run, asked)
    by_step = {(step.seed, step.step): (step.numerator, step.denominator) for step in found.steps}
    assert by_step == expected
    assert found.value == pytest.approx(np.mean([hits / n for hits, n in expected.values()]), abs=1e-12)
    assert found.numerator == sum(hits for hits, _ in expected.values())
    assert found.denominator == found.rows == sum(n for _, n in expected.values())
    with query(run, found.sql) as relation:
        assert relation.fetchall()[0][0] == pytest.approx(found.value, abs=1e-12)
    away = [
        divergence(kind, mu, pi) if rule is is_masked else abs(math.exp(pi - mu) - 1)
        for _, _, update, mu, pi, a in log
        if update == 1 and a * (pi - mu) > 0
    ]
    assert found.reach == pytest.approx(max(away), abs=1e-12)
    with_advantage = {}
    for seed, step, update, *row in log:
        if update == 1 and row[2] != 0:
            hits, n = with_advantage.get((seed, step), (0, 0))
            with_advantage[seed, step] = (hits + rule(kind, *row), n + 1)
    assert found.beside == pytest.approx(np.mean([hits / n for hits, n in with_advantage.values()]), abs=1e-12)


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("update", [0, 1])
def test_the_pooled_quantile_agrees_with_numpy(tmp_path, number, update):
    log = random_log(number)
    run = open_run(write(tmp_path / "run", log))
    pooled = [abs(math.exp(mu) - math.exp(pi)) for _, _, found, mu, pi, _ in log if found == update]
    found = measure(run, Request(load_metric("policy_drift_abs_p_q90"), {}, "dppo", update))
    assert found.value == pytest.approx(np.quantile(pooled, 0.9), abs=1e-12)
    assert found.denominator == found.rows == len(pooled)
    with query(run, found.sql) as relation:
        assert relation.fetchall()[0][0] == pytest.approx(found.value, abs=1e-12)


def test_updates_per_batch_are_counted_in_each_batch(tmp_path):
    n_updates = (1, 3, 2)
    run = open_run(write(tmp_path / "run", random_log(0, n_updates), n_updates=n_updates))
    found = measure(run, Request(load_metric("executed_updates_per_batch"), {}, "dppo", None))
    assert {(step.seed, step.step): step.value for step in found.steps} == {
        (seed, step): n for seed in (0, 1) for step, n in enumerate(n_updates)
    }


def test_one_optimiser_step_logged_twice_counts_once(tmp_path):
    def repeated(arm, seed, step):
        columns = updates(step)
        return columns | {"optim_step": [columns["optim_step"][0]] * 2}

    run = open_run(write_run(tmp_path / "run", updates_of=repeated))
    found = measure(run, Request(load_metric("executed_updates_per_batch"), {}, "dppo", None))
    assert [step.value for step in found.steps] == [1, 1]


def test_two_base_models_in_one_batch_are_both_named(tmp_path):
    def mixed(arm, seed, step):
        return updates(step) | {"base_model": ["b", "a"]}

    run = open_run(write_run(tmp_path / "run", updates_of=mixed))
    found = measure(run, Request(load_metric("executed_base_model"), {}, "dppo", None))
    assert found.value == "a and b"


def test_drift_agrees_with_numpy_update_by_update(tmp_path):
    log = random_log(5)
    run = open_run(write(tmp_path / "run", log))
    rows = [row for row in drift_by_step(run, run.sealed.plan) if row.arm == "dppo"]
    assert len(rows) == 2 * 3 * 2
    for row in rows:
        own = [entry[3:] for entry in log if entry[:3] == (row.seed, row.step, row.update)]
        differences = [abs(math.exp(mu) - math.exp(pi)) for mu, pi, _ in own]
        assert row.loss_tokens == len(own)
        figures = (row.abs_p_q50, row.abs_p_q90, row.abs_p_q99)
        assert figures == pytest.approx(np.quantile(differences, [0.5, 0.9, 0.99]), abs=1e-12)
        assert row.masked_share == pytest.approx(np.mean([is_masked("binary_tv", *entry) for entry in own]), abs=1e-12)
        assert row.clip_share == pytest.approx(np.mean([is_clipped(None, *entry) for entry in own]), abs=1e-12)
        assert row.reward == 0.5


# The worked tokens: mu, pi, advantage; masked under TV .2, TV .15, KL .05; clipped by .8/1.2.
WORKED = [
    (0.0001, 0.01, 1, 0, 0, 0, 1), (0.99, 0.80, -1, 0, 1, 1, 0), (0.99, 0.70, -1, 1, 1, 1, 1),
    (0.50, 0.75, 1, 1, 1, 1, 1), (0.50, 0.62, 1, 0, 0, 0, 1), (0.30, 0.10, -1, 0, 1, 1, 1),
    (0.30, 0.22, -1, 0, 0, 0, 1), (0.60, 0.85, -1, 0, 0, 0, 0), (0.80, 0.50, 1, 0, 0, 0, 0),
    (0.20, 0.45, 0.5, 1, 1, 1, 1), (0.50, 0.75, 0, 0, 0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "delta", "column"), [("binary_tv", 0.15, 4), ("binary_kl", 0.05, 5), ("binary_tv", 0.21, 3)]
)
def test_the_worked_tokens_are_masked_as_worked(tmp_path, kind, delta, column):
    # Token 5 lies on TV .2 itself (.3 - .1), where single precision decides: .21 masks the same tokens beyond doubt.
    found = measured(tmp_path, "dppo_masked_token_fraction", delta=delta, kind=kind)
    hits = sum(row[column] for row in WORKED)
    assert (found.numerator, found.denominator) == (hits, 11)
    assert found.value == pytest.approx(hits / 11, abs=1e-12)
    assert found.beside == pytest.approx(hits / 10, abs=1e-12)


def test_the_worked_tokens_are_clipped_as_worked(tmp_path):
    found = measured(tmp_path, "grpo_clip_fraction")
    assert found.value == pytest.approx(7 / 11, abs=1e-12)
    assert found.beside == pytest.approx(0.7, abs=1e-12)


def measured(tmp_path, metric_id, rows=None, *, delta=0.15, kind="binary_tv", eps=0.2):
    plan = made_plan(losses__dppo__divergence=kind, losses__dppo__delta=delta, losses__grpo__eps=eps)
    worked = [(1, math.log(mu), math.log(pi), advantage) for mu, pi, advantage, *_ in WORKED]
    path = write_run(
        tmp_path / "run",
        plan,
        steps=1,
        tokens_of=lambda arm, seed, step: tokens(worked if rows is None else rows, step),
    )
    run = open_run(path)
    metric = load_metric(metric_id)
    return measure(run, Request(metric, loss_parameters(run.sealed.plan), "dppo", 1, with_reach=True))


def test_one_row_is_a_share_of_one(tmp_path):
    found = measured(tmp_path, "dppo_masked_token_fraction", [(1, -2.0, -0.1, 1.0)])
    assert (found.value, found.beside, found.denominator) == (1.0, 1.0, 1)


def test_without_any_advantage_nothing_is_masked_or_clipped_and_nothing_is_divided_by_zero(tmp_path):
    for number, metric_id in enumerate(("dppo_masked_token_fraction", "grpo_clip_fraction")):
        (tmp_path / str(number)).mkdir()
        found = measured(tmp_path / str(number), metric_id, [(1, -2.0, -0.1, 0.0)] * 3)
        assert (found.value, found.beside, found.reach, found.denominator) == (0.0, None, None, 3)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_each_row_that_is_not_finite_is_counted(tmp_path, broken, place):
    row = [1, -2.0, -0.1, 1.0]
    row[place] = broken
    found = measured(tmp_path, "dppo_masked_token_fraction", [tuple(row), (1, -2.0, -0.1, 1.0)])
    assert (found.invalid, found.rows) == (1, 2)


def test_exact_zero_log_probabilities_are_certain_tokens_and_finite(tmp_path):
    for number, kind in enumerate(("binary_tv", "binary_kl")):
        (tmp_path / str(number)).mkdir()
        rows = [(1, 0.0, 0.0, 1.0), (1, 0.0, -0.5, -1.0), (1, -0.5, 0.0, 1.0)]
        found = measured(tmp_path / str(number), "dppo_masked_token_fraction", rows, kind=kind)
        assert (found.numerator, found.denominator, found.invalid) == (2, 3, 0)


def test_a_divergence_on_the_threshold_is_kept_and_one_beyond_it_is_masked(tmp_path):
    # Logged log-probabilities are rounded, so the threshold is set to what they give, to the last bit.
    sampler, current = float(np.float32(math.log(0.5))), float(np.float32(math.log(0.75)))
    exact = math.exp(current) - math.exp(sampler)
    for number, (delta, masked) in enumerate(
        [(exact, 0), (math.nextafter(exact, 0), 1), (math.nextafter(exact, 1), 0)]
    ):
        (tmp_path / str(number)).mkdir()
        rows = [(1, sampler, current, 1.0)]
        found = measured(tmp_path / str(number), "dppo_masked_token_fraction", rows, delta=delta)
        assert found.numerator == masked


@pytest.mark.parametrize("eps", [1.0, 1.5])
def test_a_clip_of_one_or_more_never_binds_below(tmp_path, eps):
    rows = [(1, -0.1, -5.0, -1.0), (1, -0.1, -5.0, 1.0), (1, -5.0, -0.1, 1.0)]
    found = measured(tmp_path, "grpo_clip_fraction", rows, eps=eps)
    assert (found.numerator, found.denominator) == (1, 3)


def test_a_plan_without_the_baseline_s_clip_has_no_eps():
    plan = made_plan(losses__grpo={**made_plan()["losses"]["dppo"], "delta": 0.3})
    del plan["activation_gate"]["checks"][2]
    import json

    parameters = loss_parameters(seal_text(json.dumps(plan), source="x").plan)
    assert parameters == {"divergence": "binary_tv", "delta": "0.15"}
