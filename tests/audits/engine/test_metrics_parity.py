"""Every metric of sql/metrics against its plain implementation: totals, seeds, steps, and its query."""

import math
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
from plain_metrics import DELTA, EPS, plain_metrics
from random_run import random_run, token_columns, write_rows

from audits.engine.measure import measure, measure_all
from audits.engine.metric import load_metric, metric_ids
from audits.engine.request import Request
from audits.store.reader import open_run
from audits.store.sandbox import open_sandbox

NUMBERS, ARMS = (0, 1, 2), ("dppo", "grpo")
# What changes from run to run: the divergence, its threshold and the order of the quantiles.
SETTINGS = {0: ("binary_tv", DELTA, "90"), 1: ("binary_kl", 0.05, "001"), 2: ("binary_tv", 0.02, "999")}
exactly = {"rel": 1e-12, "abs": 1e-12}


def parameters(number):
    kind, delta, _ = SETTINGS[number]
    topk = {"topk_divergence": kind.replace("binary", "topk"), "topk_delta": repr(delta)}
    return {"divergence": kind, "delta": repr(delta), "eps": repr(EPS), **topk}


def asked(number, arm):
    digits = SETTINGS[number][2]
    loaded = {metric_id: load_metric(metric_id.replace("NN", digits)) for metric_id in metric_ids()}
    return {
        metric_id: Request(metric, parameters(number), arm, metric.default_update, with_reach=metric.is_share)
        for metric_id, metric in loaded.items()
    }


@pytest.fixture(scope="module")
def measured_run(tmp_path_factory):
    """Return what gives of each number the run's rows, the measurements by arm and metric, and the queries' answers."""

    @cache
    def made(number):
        path = tmp_path_factory.mktemp("parity") / "run"
        rows = random_run(path, number)
        run = open_run(path)
        requests = {(arm, name): request for arm in ARMS for name, request in asked(number, arm).items()}
        measured = dict(zip(requests, measure_all(run, list(requests.values())), strict=True))
        answers = {}
        with open_sandbox([run]) as sandbox:
            for key, measurement in measured.items():
                with sandbox.select(measurement.sql) as answer:
                    answers[key] = answer.fetchall()
        return rows, measured, answers

    return made


def together(parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def plain_steps(rows, plain, arm):
    """Return the rows of each (seed, step) that the metric looks at, those without a row left out."""
    found = {}
    for (table, of, seed, step), columns in rows.items():
        if (table, of) == (plain.table, arm):
            chosen = columns["update"] == plain.update if plain.update is not None else np.full(len(columns["step"]), 1)
            own = {name: values[chosen.astype(bool)] for name, values in columns.items()}
            if len(own["step"]):
                found[seed, step] = own
    return found


def aggregate(plain, parts):
    figures = [plain.figure(part) for part in parts]
    if plain.over == "pooled":
        return plain.figure(together(parts)).value
    if plain.over == "mean_of_steps":
        return np.mean([figure.value for figure in figures])
    values = sorted({figure.value for figure in figures})
    return " and ".join(values) if isinstance(values[0], str) else values[0]


def test_every_metric_has_a_plain_implementation_and_no_other_has():
    assert set(plain_metrics()) == set(metric_ids())


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("metric_id", metric_ids())
def test_a_metric_agrees_with_its_plain_implementation(measured_run, metric_id, number):
    rows, measured, answers = measured_run(number)
    kind, delta, digits = SETTINGS[number]
    plain = plain_metrics(kind, delta, float(f"0.{digits}"))[metric_id]
    for arm in ARMS:
        found, steps = measured[arm, metric_id], plain_steps(rows, plain, arm)
        figures = {key: plain.figure(part) for key, part in steps.items()}
        assert {(step.seed, step.step): step.value for step in found.steps} == {
            key: figure.value if isinstance(figure.value, str) else pytest.approx(figure.value, **exactly)
            for key, figure in figures.items()
        }
        for step in found.steps:
            figure = figures[step.seed, step.step]
            assert (step.arm, step.numerator) == (arm, figure.numerator)
            assert step.denominator == (figure.denominator or 1)
        by_seed = defaultdict(list)
        for (seed, _), part in steps.items():
            by_seed[seed].append(part)
        assert {seed.seed: seed.value for seed in found.seeds} == {
            seed: expected(aggregate(plain, parts)) for seed, parts in by_seed.items()
        }
        assert found.value == expected(aggregate(plain, list(steps.values())))
        if plain.table != "updates":
            assert found.rows == found.denominator
        assert_counts(found, figures)
        assert_query(answers[arm, metric_id], found, figures, plain)


def expected(value):
    return value if isinstance(value, str) else pytest.approx(float(value), **exactly)


def assert_counts(found, figures):
    numerators = [figure.numerator for figure in figures.values()]
    assert found.numerator == (None if None in numerators else sum(numerators))
    assert found.denominator == sum(figure.denominator or 1 for figure in figures.values())
    besides = [figure.beside for figure in figures.values() if figure.beside is not None]
    assert found.beside == (pytest.approx(np.mean(besides), **exactly) if besides else None)
    reaches = [figure.reach for figure in figures.values() if figure.reach is not None]
    assert found.reach == (pytest.approx(max(reaches), **exactly) if reaches else None)
    assert found.invalid == 0


def assert_query(answer, found, figures, plain):
    if plain.over == "every_step":
        assert {row[:2]: row[2] for row in answer} == {key: figure.value for key, figure in figures.items()}
    else:
        assert answer == [(pytest.approx(found.value, **exactly),)]


# --- The definitions of the reference frameworks, on the worked tokens: mu, pi, advantage.
WORKED = (
    (0.0001, 0.01, 1), (0.99, 0.80, -1), (0.99, 0.70, -1), (0.50, 0.75, 1), (0.50, 0.62, 1), (0.30, 0.10, -1),
    (0.30, 0.22, -1), (0.60, 0.85, -1), (0.80, 0.50, 1), (0.20, 0.45, 0.5), (0.50, 0.75, 0),
)  # fmt: skip
PUSHED_DOWN = (0.70, 0.30, 0)
"""A token without advantage whose probability fell by more than delta."""


def measured_on(path, rows, metric_id, *, kind="binary_tv", delta=0.2, eps=EPS):
    mu, pi, advantage = np.array(rows).T
    path.mkdir(exist_ok=True)
    write_rows(path / "run", {("tokens", "dppo", 0, 0): token_columns(0, 1, np.log(mu), np.log(pi), advantage)})
    settings = {"divergence": kind, "delta": repr(delta), "eps": repr(eps)}
    return measure(open_run(path / "run"), Request(load_metric(metric_id), settings, "dppo", 1))


def test_stable_rl_divides_by_the_tokens_with_an_advantage_and_the_others_by_all(tmp_path):
    # Token 5 lies on .2 itself; in single precision it lies below, as it does in double precision.
    found = measured_on(tmp_path, WORKED, "dppo_masked_token_fraction")
    assert (found.numerator, found.denominator) == (3, 11)
    assert found.value == pytest.approx(3 / 11, **exactly)  # TRL, SkyRL, prime-rl: all loss tokens
    assert found.beside == pytest.approx(0.3, **exactly)  # Stable-RL: advantage not zero


@pytest.mark.parametrize(("kind", "delta", "hits"), [("binary_tv", 0.15, 5), ("binary_kl", 0.05, 5)])
def test_the_worked_masks_of_the_other_thresholds(tmp_path, kind, delta, hits):
    assert measured_on(tmp_path, WORKED, "dppo_masked_token_fraction", kind=kind, delta=delta).numerator == hits


def test_verl_counts_a_token_without_advantage_by_the_negative_rule_and_the_others_never(tmp_path):
    rows = (*WORKED, PUSHED_DOWN)
    ours = measured_on(tmp_path / "ours", rows, "dppo_masked_token_fraction")
    verl = measured_on(tmp_path / "verl", rows, "verl_dppo_clip_fraction")
    assert (ours.numerator, ours.denominator, ours.beside) == (3, 12, pytest.approx(0.3, **exactly))
    assert (verl.numerator, verl.denominator, verl.beside) == (4, 12, pytest.approx(1 / 12, **exactly))


def test_without_such_a_token_verl_counts_the_same(tmp_path):
    found = measured_on(tmp_path, WORKED, "verl_dppo_clip_fraction")
    assert (found.numerator, found.beside) == (3, 0.0)


def test_the_clip_shares_of_trl_low_high_and_region(tmp_path):
    low = [row for row in WORKED if row[2] < 0 and row[1] / row[0] < 1 - EPS]
    high = [row for row in WORKED if row[2] > 0 and row[1] / row[0] > 1 + EPS]
    region = measured_on(tmp_path, WORKED, "grpo_clip_fraction")
    assert (len(low), len(high), region.numerator) == (3, 4, 7)
    assert (region.value, region.beside) == (pytest.approx(7 / 11, **exactly), pytest.approx(0.7, **exactly))
    for name, part in (("low", low), ("high", high)):
        assert measured_on(tmp_path / name, part, "grpo_clip_fraction").value == 1


def test_most_of_what_lies_outside_the_range_does_not_bind(tmp_path):
    # Token 1 has ratio .808 and is inside: 10 of 11, of which token 10 has no advantage.
    found = measured_on(tmp_path, WORKED, "ratio_outside_range_fraction")
    assert (found.numerator, found.denominator) == (10, 11)
    assert found.value == pytest.approx(10 / 11, **exactly)
    assert found.beside == pytest.approx(9 / 10, **exactly)


def test_the_binary_mask_of_no_smaller_delta_is_part_of_the_clip(tmp_path):
    rng = np.random.default_rng(3)
    mu, pi = rng.uniform(1e-4, 1, (2, 2000))
    rows = np.stack([mu, pi, rng.choice([-1, 0, 1], 2000)], axis=1)
    masked = measured_on(tmp_path / "mask", rows, "dppo_masked_token_fraction", delta=EPS)
    clipped = measured_on(tmp_path / "clip", rows, "grpo_clip_fraction")
    apart = rows[(rows[:, 2] * (pi - mu) > 0) & (np.abs(pi - mu) > EPS)]
    assert masked.numerator == len(apart) < clipped.numerator
    assert measured_on(tmp_path / "part", apart, "grpo_clip_fraction").value == 1
    assert math.isfinite(clipped.value)
