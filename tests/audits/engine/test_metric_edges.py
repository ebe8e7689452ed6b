"""Every metric on the edges: one row, nothing that counts, ties, numbers that are none, ratios that overflow."""

import math

import numpy as np
import pytest
from made_run import updates
from plain_metrics import EPS
from random_run import token_columns, write_rows

from audits.engine.ask import answer_all
from audits.engine.check import Limit
from audits.engine.judge import Question
from audits.engine.measure import measure, measure_all
from audits.engine.metric import load_metric, metric_ids
from audits.engine.request import Request
from audits.store.reader import open_run
from audits.store.sandbox import open_sandbox

LOADED = [load_metric(metric_id.replace("NN", "90")) for metric_id in metric_ids()]
OF_TOKENS = [metric for metric in LOADED if metric.table == "tokens"]
OF_ROLLOUTS = [metric for metric in LOADED if metric.table == "rollouts"]


def settings(kind="binary_tv", delta=0.15, eps=EPS):
    topk = {"topk_divergence": kind.replace("binary", "topk"), "topk_delta": repr(delta)}
    return {"divergence": kind, "delta": repr(delta), "eps": repr(eps), **topk}


def requests(metrics, **options):
    return [
        Request(metric, settings(**options), "dppo", metric.default_update, with_reach=metric.is_share)
        for metric in metrics
    ]


def opened(path, steps, table="tokens"):
    write_rows(path / "run", {(table, "dppo", 0, step): columns for step, columns in enumerate(steps)})
    return open_run(path / "run")


def both_updates(step, sampler, current, advantage):
    n = len(sampler)
    return token_columns(step, np.repeat([0, 1], n), *(np.tile(values, 2) for values in (sampler, current, advantage)))


def measured(path, sampler, current, advantage, metrics=OF_TOKENS, **options):
    """Return what each metric says of these tokens, logged on both updates of one step."""
    run = opened(path, [both_updates(0, sampler, current, advantage)])
    found = measure_all(run, requests(metrics, **options))
    return run, {metric.id: own for metric, own in zip(metrics, found, strict=True)}


SURE = math.log(0.5)


def test_one_row_gives_its_own_figure(tmp_path):
    _, found = measured(tmp_path, [math.log(0.5)], [math.log(0.75)], [1.0])
    values = {name: own.value for name, own in found.items()}
    expected = {
        "abs_p_difference_mean": 0.25, "dppo_masked_token_fraction": 1, "effective_sample_size": 1,
        "first_update_mismatch": math.log(1.5), "first_update_mismatch_max": math.log(1.5), "grpo_clip_fraction": 1,
        "invalid_fraction": 0, "kl_k1": -math.log(1.5), "kl_k3": 0.5 - math.log(1.5), "policy_drift_abs_p_q90": 0.25,
        "ratio_max": 1.5, "ratio_mean": 1.5, "ratio_outside_range_fraction": 1, "ratio_q90": 1.5,
        "sampled_surprisal": math.log(2), "sampled_surprisal_q90": math.log(2), "total_variation_estimate": 0.25,
        "verl_dppo_clip_fraction": 1, "zero_logprob_fraction": 0,
    }  # fmt: skip
    assert values == {name: pytest.approx(value, abs=1e-6) for name, value in expected.items()}


@pytest.mark.parametrize("metric", LOADED, ids=lambda metric: metric.id)
def test_a_file_without_a_row_gives_no_value_and_no_step(tmp_path, metric):
    tables = {"tokens": token_columns(0, 0, [], [], []), "rollouts": rollouts([]), "updates": updates(0, n=0)}
    tables["candidates"] = tables["tokens"] | {"is_sampled": np.zeros(0, bool)}
    run = opened(tmp_path, [tables[metric.table]], metric.table)
    (found,) = measure_all(run, requests([metric]))
    assert (found.value, found.beside, found.reach, found.numerator) == (None, None, None, None)
    assert (found.denominator, found.rows, found.steps, found.seeds) == (0, 0, (), ())


def test_everything_masked_and_nothing_with_an_advantage(tmp_path):
    moved = np.log([0.5, 0.6]), np.log([0.9, 0.1])
    shares = (
        "dppo_masked_token_fraction",
        "verl_dppo_clip_fraction",
        "grpo_clip_fraction",
        "ratio_outside_range_fraction",
    )
    _, every = measured(tmp_path / "all", *moved, [1.0, -1.0])
    assert [(every[name].value, every[name].numerator) for name in shares] == [(1, 2)] * 4
    _, none = measured(tmp_path / "none", *moved, [0.0, 0.0])
    assert [(none[name].value, none[name].beside) for name in shares] == [(0, None), (0.5, 0.5), (0, None), (1, 0)]
    assert [none[name].reach for name in shares[::2]] == [None, None]


@pytest.mark.parametrize("kind", ["binary_tv", "binary_kl"])
def test_a_divergence_on_its_threshold_is_kept(tmp_path, kind):
    sampler, current = (float(np.float32(math.log(p))) for p in (0.5, 0.75))
    metrics = [load_metric(name) for name in ("dppo_masked_token_fraction", "verl_dppo_clip_fraction")]
    _, found = measured(tmp_path / "size", [sampler], [current], [1.0], metrics, kind=kind, delta=0.0)
    exact = found[metrics[0].id].reach
    for number, (delta, hits) in enumerate([(exact, 0), (math.nextafter(exact, 0), 1), (math.nextafter(exact, 1), 0)]):
        _, found = measured(tmp_path / str(number), [sampler], [current], [1.0], metrics, kind=kind, delta=delta)
        assert [own.numerator for own in found.values()] == [hits, hits]


@pytest.mark.parametrize(("current", "advantage"), [(-0.9, 1.0), (-1.1, -1.0)])
def test_a_ratio_on_its_bound_is_kept(tmp_path, current, advantage):
    metrics = [load_metric(name) for name in ("grpo_clip_fraction", "ratio_outside_range_fraction")]
    ratio = math.exp(float(np.float32(current)) + 1.0)
    eps = abs(ratio - 1)
    inside = eps if (1 + eps == ratio if ratio > 1 else 1 - eps == ratio) else math.nextafter(eps, 1)
    for name, bound, hits in (("on", inside, 0), ("below", inside - 1e-15, 1), ("above", inside + 1e-15, 0)):
        _, found = measured(tmp_path / name, [-1.0], [current], [advantage], metrics, eps=bound)
        assert [own.numerator for own in found.values()] == [hits, hits], name


def test_a_token_that_did_not_move_is_never_masked_or_clipped(tmp_path):
    _, found = measured(tmp_path, [-1.0, 0.0, -1.0], [-1.0, 0.0, -1.0], [1.0, -1.0, 0.0], delta=0.0, eps=0.0)
    assert [
        own.numerator
        for own in found.values()
        if own.numerator is not None and own is not found["zero_logprob_fraction"]
    ] == [0] * 5


@pytest.mark.parametrize("kind", ["binary_tv", "binary_kl"])
def test_exact_zero_log_probabilities_are_certain_tokens_and_finite(tmp_path, kind):
    masked = [load_metric("dppo_masked_token_fraction")]
    _, found = measured(tmp_path, [0.0, 0.0, -0.5], [0.0, -0.5, 0.0], [1.0, -1.0, 1.0], masked, kind=kind)
    (own,) = found.values()
    assert (own.numerator, own.denominator, own.invalid) == (2, 3, 0)


@pytest.mark.parametrize("eps", [1.0, 1.5])
def test_a_clip_of_one_or_more_never_binds_below(tmp_path, eps):
    clip = [load_metric("grpo_clip_fraction")]
    _, found = measured(tmp_path, [-0.1, -0.1, -5.0], [-5.0, -5.0, -0.1], [-1.0, 1.0, 1.0], clip, eps=eps)
    (own,) = found.values()
    assert (own.numerator, own.denominator) == (1, 3)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("column", ["sampler_logprob", "current_logprob", "advantage"])
def test_a_number_that_is_none_is_counted_and_never_a_figure_in_the_gate(tmp_path, column, broken):
    rows = {"sampler_logprob": [-1.0, -2.0], "current_logprob": [-1.1, -1.9], "advantage": [1.0, -1.0]}
    rows[column][1] = broken
    run, found = measured(tmp_path, *rows.values())
    for name, own in found.items():
        whole = load_metric(name).default_update is None
        assert (own.invalid, own.rows) == ((2, 4) if whole else (1, 2)), name
        assert own.value is not None, name
    asked = [
        Question(run, metric, settings(), "dppo", (0,), 1, metric.default_update, Limit(min=-math.inf), "")
        for metric in OF_TOKENS
    ]
    for check in answer_all(run, asked):
        assert (check.status, check.value) == ("fail", None), check.id
        assert "rows are NaN, infinite or a probability above 1" in check.reason
        assert "FROM loss_tokens WHERE NOT is_valid" in check.mend


@pytest.mark.parametrize("metric", [m for m in OF_TOKENS if m.quantile], ids=lambda metric: metric.id)
@pytest.mark.parametrize("valid", [0, 30])
def test_a_quantile_with_a_row_that_is_no_number_is_no_number_in_total_and_of_each_seed(tmp_path, metric, valid):
    # Among 30 valid rows the quantile of the step stays finite.
    calm = both_updates(0, [-1.0] * 9, [-1.0] * 9, [1.0] * 9)
    broken = both_updates(1, [-1.0] * valid + [math.nan], [-1.0] * (valid + 1), [1.0] * (valid + 1))
    (found,) = measure_all(opened(tmp_path, [calm, broken]), requests([metric]))
    assert math.isnan(found.value)
    assert math.isnan(found.seeds[0].value)


def test_a_ratio_that_overflows_is_no_invalid_row_and_no_figure_hides_it(tmp_path):
    run, found = measured(tmp_path, [-1000.0, -1.0, -1.0, -1.0], [-0.5, -1.0, -1.2, -0.9], [1.0, -1.0, 0.0, 1.0])
    infinite = {"ratio_mean", "ratio_max", "kl_k3", "total_variation_estimate", "ratio_q90", "effective_sample_size"}
    for name, own in found.items():
        assert own.invalid == 0
        assert math.isfinite(own.value) == (name not in infinite), name
    assert found["grpo_clip_fraction"].numerator == 1
    assert found["grpo_clip_fraction"].reach == math.inf
    asked = [
        Question(run, metric, settings(), "dppo", (0,), 1, metric.default_update, Limit(min=0.0), "")
        for metric in OF_TOKENS
        if metric.id in infinite
    ]
    for check in answer_all(run, asked):
        assert (check.status, check.value) == ("fail", None), check.id
        assert "what is computed of them overflows" in check.reason


def test_ratios_that_all_vanish_have_no_effective_sample_size(tmp_path):
    run, found = measured(tmp_path, [-1.0, -1.0], [-2000.0, -2000.0], [1.0, 1.0])
    assert math.isnan(found["effective_sample_size"].value)
    assert [step.step for step in found["effective_sample_size"].steps] == [0]
    assert found["ratio_max"].value == 0
    with open_sandbox([run]) as sandbox, sandbox.select(found["effective_sample_size"].sql) as answer:
        assert math.isnan(answer.fetchall()[0][0])


@pytest.mark.parametrize(("above", "invalid"), [(1e-6, 0), (2e-6, 1)])
def test_what_single_precision_rounds_above_a_certain_token_is_valid(tmp_path, above, invalid):
    _, found = measured(tmp_path, [above * 0.99], [0.0], [1.0])
    assert found["dppo_masked_token_fraction"].invalid == invalid
    assert found["policy_drift_abs_p_q90"].value >= 0 or invalid


def rollouts(rewards, groups=None, stop="stop"):
    n = len(rewards)
    return {
        "step": np.zeros(n, np.int32), "rollout_id": np.arange(n, dtype=np.int32),
        "group_id": np.array(groups or [0] * n, np.int32), "prompt_id": ["p"] * n, "reward": np.array(rewards, float),
        "advantage": np.zeros(n), "n_tokens": np.ones(n, np.int32), "stop_reason": [stop] * n,
    }  # fmt: skip


def test_one_optimiser_step_logged_twice_counts_once(tmp_path):
    repeated = {name: np.array(values) for name, values in updates(0).items()} | {"optim_step": np.array([1, 1])}
    run = opened(tmp_path, [repeated], "updates")
    (found,) = measure_all(run, requests([load_metric("executed_updates_per_batch")]))
    assert (found.value, [step.value for step in found.steps]) == (1, [1])


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_a_reward_that_is_no_number_gives_no_figure_of_rewards(tmp_path, broken):
    run = opened(tmp_path, [rollouts([1.0, broken, 1.0, 1.0], [0, 0, 1, 1])], "rollouts")
    for name, said in (("mean_reward", "is NaN or infinite"), ("zero_variance_group_fraction", "1 of 2 rows are NaN")):
        question = Question(run, load_metric(name), settings(), "dppo", (0,), 1, None, Limit(min=-9.0), "")
        (check,) = answer_all(run, [question])
        assert (check.status, check.value) == ("fail", None)
        assert said in check.reason


def test_the_figure_of_each_update_alone_has_a_query_that_gives_it_again(tmp_path):
    run = opened(
        tmp_path, [both_updates(step, [-1.0] * (1 + step), [-0.5] * (1 + step), [1.0] * (1 + step)) for step in (0, 1)]
    )
    asked = Request(load_metric("sampled_surprisal"), {}, "dppo", by_update=True)
    found = measure(run, asked)
    assert [(step.step, step.update) for step in found.steps] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    with open_sandbox([run]) as sandbox, sandbox.select(found.sql) as answer:
        assert answer.fetchall() == [(pytest.approx(found.value, abs=1e-12),)]


@pytest.mark.parametrize("reward", [[math.inf, -math.inf], [1e308, 1e308], [-1e308, -1e308]])
def test_step_means_that_do_not_add_up_to_a_number_are_no_figure_and_no_crash(tmp_path, reward):
    run = opened(tmp_path, [rollouts([value] * 2, [0, 1]) | {"step": np.full(2, step)}
                            for step, value in enumerate(reward)], "rollouts")  # fmt: skip
    question = Question(run, load_metric("mean_reward"), {}, "dppo", (0,), 2, None, Limit(min=-9.0), "")
    (check,) = answer_all(run, [question])
    assert (check.status, check.value) == ("fail", None)
    assert "their sum overflows" in check.reason


def test_a_maximum_is_judged_though_the_steps_do_not_add_up_to_a_number(tmp_path):
    almost = both_updates(0, [-710.0], [-0.5], [1.0])
    run = opened(tmp_path, [almost, almost | {"step": np.full(2, 1)}])
    question = Question(run, load_metric("ratio_max"), {}, "dppo", (0,), 2, 1, Limit(max=2.0), "")
    (check,) = answer_all(run, [question])
    assert (check.status, check.value) == ("fail", pytest.approx(math.exp(709.5)))
