"""Pooled quantiles against numpy, by every way that the engine has of finding them."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from random_run import token_columns, write_rows

import audits.engine.quantiles as quantiles
from audits.engine.measure import measure_all
from audits.engine.metric import load_metric
from audits.engine.request import Request
from audits.store.reader import open_run
from audits.store.scan import scanner

DIGITS = ("001", "50", "90", "999")
KEPT = (2_000_000, 60, 1)
"""Values that may be held at once: all, some of them, and none but equal ones."""


@pytest.fixture(scope="module")
def open_scanner():
    with scanner() as found:
        yield found


@pytest.fixture(autouse=True)
def _one_connection(monkeypatch, open_scanner):
    """Narrowing takes many scans of few rows, and opening the connection is most of each."""
    monkeypatch.setattr("audits.engine.executors.local.scanner", lambda: nullcontext(open_scanner))


def by_seed(*seeds):
    """Return values by (seed, step) from a list of steps for each seed."""
    return {
        (seed, step): np.asarray(values, np.float32).astype(np.float64)
        for seed, steps in enumerate(seeds)
        for step, values in enumerate(steps)
    }


def drawn():
    """Return values by (seed, step) for each kind of distribution, at least 0."""
    rng = np.random.default_rng(7)
    return {
        "ordinary": by_seed(rng.exponential(1, (3, 80)), rng.exponential(1, (2, 50))),
        "heavy ties": by_seed(rng.integers(0, 3, (3, 60)), rng.integers(0, 4, (2, 60))),
        "all equal": by_seed(np.full((3, 40), 0.3), np.full((2, 7), 0.3)),
        "all zero": by_seed(np.zeros((3, 5))),
        "two points": by_seed(rng.choice([0.0, 20.0], (4, 50), p=[0.9, 0.1])),
        "one value a step": by_seed([[number] for number in (3, 1, 2, 7, 5)], [[4.0], [0.5]]),
        "one step": by_seed([rng.exponential(1, 33)]),
        "one step of one seed": by_seed([rng.exponential(1, 33)], rng.exponential(2, (4, 20))),
        "in one bucket": by_seed(1 + np.arange(300).reshape(3, 100) * 2.0**-23),
        "smallest numbers": by_seed(np.arange(200).reshape(4, 50) * 2.0**-149),
        "far apart and unequal": by_seed(
            [rng.normal(50, 1, 3), rng.normal(5, 0.1, 400), rng.normal(90, 1, 2)], [rng.exponential(1e-3, 700), [99.0]]
        ),
        "of all sizes": by_seed(10.0 ** rng.uniform(-30, 30, (3, 90))),
    }


def requests(update=None):
    return [Request(load_metric(f"sampled_surprisal_q{digits}"), {}, "dppo", update) for digits in DIGITS]


def opened(path, values):
    rows = {
        ("tokens", "dppo", seed, step): token_columns(step, 1, -own, np.full(len(own), -1.0), np.ones(len(own)))
        for (seed, step), own in values.items()
    }
    write_rows(path / "run", rows)
    return open_run(path / "run")


@pytest.mark.parametrize("kind", drawn())
def test_pooled_quantiles_agree_with_numpy_however_few_values_may_be_held(tmp_path, monkeypatch, kind):
    values = drawn()[kind]
    run = opened(tmp_path, values)
    for kept in KEPT:
        monkeypatch.setattr(quantiles, "VALUES_KEPT", kept)
        for request, found in zip(requests(), measure_all(run, requests()), strict=True):
            order = request.metric.quantile
            assert found.value == agrees(values.values(), order), (kept, order)
            assert {seed.seed: seed.value for seed in found.seeds} == {
                seed: agrees([own for key, own in values.items() if key[0] == seed], order)
                for seed in {seed for seed, _ in values}
            }
            assert {(step.seed, step.step): step.value for step in found.steps} == {
                key: agrees([own], order) for key, own in values.items()
            }
            assert found.denominator == found.rows == sum(len(own) for own in values.values())


def agrees(parts, order):
    return pytest.approx(float(np.quantile(np.concatenate(list(parts)), order, method="linear")), rel=1e-12, abs=1e-300)


def passes_used(monkeypatch):
    used, fill = [], quantiles._fill

    def noted(name, *arguments):
        used.append(name)
        return fill(name, *arguments)

    monkeypatch.setattr(quantiles, "_fill", noted)
    return used


def test_one_scan_is_enough_where_the_steps_are_alike(tmp_path, monkeypatch):
    used = passes_used(monkeypatch)
    measure_all(opened(tmp_path, by_seed(np.random.default_rng(0).exponential(1, (5, 200)))), requests()[1:3])
    assert used == ["values", "values"]


def test_a_rank_outside_the_range_of_the_steps_is_found_by_histograms(tmp_path, monkeypatch):
    # The steps' quantiles are 0.8, 1.6 and 2.4, and the pooled one lies between 2 and 3: its upper rank is outside.
    values = by_seed([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    used = passes_used(monkeypatch)
    (found,) = measure_all(opened(tmp_path, values), [requests()[2]])
    assert found.value == agrees(values.values(), 0.9)
    assert used[:2] == ["values", "histogram"]


def of_ratios(path, *steps):
    """Write a run with these ratios a step, of which `inf` overflows although its log-probabilities are finite."""
    rows = {}
    for step, ratios in enumerate(steps):
        moved = np.log(np.minimum(ratios, 1e300))
        overflows = np.isinf(ratios)
        sampler, current = np.where(overflows, -3000.0, -800.0), np.where(overflows, -0.5, -800.0 + moved)
        rows["tokens", "dppo", 0, step] = token_columns(step, 1, sampler, current, np.ones(len(ratios)))
    logged = write_rows(path / "run", rows)
    found = [columns["current_logprob"] - columns["sampler_logprob"] for columns in logged.values()]
    with np.errstate(over="ignore"):
        return open_run(path / "run"), np.exp(np.concatenate(found))


@pytest.mark.parametrize("kept", KEPT)
def test_quantiles_below_a_ratio_that_overflows_are_numbers_and_above_it_infinite(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(quantiles, "VALUES_KEPT", kept)
    # 11 ratios: the 0.9 quantile is the tenth itself, and its upper neighbour is infinite.
    run, ratios = of_ratios(tmp_path, [0.5, 0.7, 1.0, 1.1, 1.2, math.inf], [0.6, 0.8, 0.9, 1.3, 1.4])
    asked = [Request(load_metric(f"ratio_q{digits}"), {}, "dppo", 1) for digits in ("50", "90", "95")]
    half, tenth, last = measure_all(run, asked)
    assert (half.invalid, half.rows) == (0, 11)
    assert half.value == pytest.approx(np.sort(ratios)[5], rel=1e-12)
    assert tenth.value == pytest.approx(np.sort(ratios)[9], rel=1e-12)
    assert last.value == math.inf


def test_where_most_ratios_overflow_their_quantile_is_infinite_and_no_gap(tmp_path):
    run, _ = of_ratios(tmp_path, [math.inf] * 4, [math.inf, math.inf, 1.0])
    (found,) = measure_all(run, [Request(load_metric("ratio_q50"), {}, "dppo", 1)])
    assert (found.value, found.seeds[0].value) == (math.inf, math.inf)


def test_where_only_a_profile_is_asked_for_no_pooled_figure_is_shown(tmp_path):
    run = opened(tmp_path, by_seed([[1.0, 2.0], [3.0, 5.0]]))
    for options in ({"by_update": True}, {"profile_only": True}):
        asked = Request(load_metric("sampled_surprisal_q50"), {}, "dppo", 1, **options)
        (found,) = measure_all(run, [asked])
        assert (found.value, found.seeds) == (None, ())
        assert [step.value for step in found.steps] == [1.5, 4.0]


@pytest.mark.parametrize(
    "metric_id", ["ratio_q100", "ratio_q1", "ratio_q12345", "ratio_qNN", "ratio_q", "ratio_q90\n", "ratio_q٩٠"]
)
def test_an_order_that_can_be_read_in_two_ways_is_no_metric(metric_id):
    from analysis.errors import AuditError

    with pytest.raises(AuditError, match="_qNN is an order in digits: _q05, _q50"):
        load_metric(metric_id)
