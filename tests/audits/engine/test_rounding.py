"""What rounded log-probabilities cost: bounds that hold for the digits that were there before."""

import math
import re

import numpy as np
import pytest
from made_run import made_plan, tokens, write_run

from audits.engine.counterfactual import Rule
from audits.engine.drift import drift_report
from audits.engine.gate import evaluate_gate
from audits.engine.measure import measure
from audits.engine.metric import load_metric, metric_ids
from audits.engine.request import Request
from audits.engine.rounding import logprob_decimals, rounding_notes
from audits.store.reader import open_run
from audits.store.writer import RunWriter

DECIMALS = 2
PARAMETERS = {"eps": "0.2", "delta": "0.15", "divergence": "binary_tv"}
METRICS = [
    load_metric(name.replace("NN", digits))
    for name in metric_ids()
    for digits in (("10", "99") if name.endswith("NN") else ("",))
]
OF_LOGPROBS = [m for m in METRICS if m.source == "loss_tokens" and {"tokens.sampler_logprob"} & set(m.needs)]


def drawn(arm, seed, step):
    """Return 600 tokens, of which many stand near a threshold of a rule."""
    random = np.random.default_rng([seed, step, len(arm)])
    sampler = -random.exponential(0.8, 600)
    current = np.minimum(sampler + random.normal(0, 0.2, 600), 0)
    near = np.log(np.clip(np.exp(sampler[:200]) + 0.15 * random.choice([-1, 1], 200), 0.01, 1))
    current[:200] = np.minimum(near + random.normal(0, 0.003, 200), 0)
    current[200:300] = np.minimum(sampler[200:300] + np.log(1.2) + random.normal(0, 0.003, 100), 0)
    advantage = random.choice([-1.0, 0.004, 0.0, 1.0], 600)
    return sampler, current, advantage


def written(path, change, decimals=None):
    def tokens_of(arm, seed, step):
        sampler, current, advantage = (change(values) for values in drawn(arm, seed, step))
        updates = [number % 2 for number in range(600)]
        return tokens(list(zip(updates, sampler, current, advantage, strict=True)), step)

    run = write_run(path, made_plan(), tokens_of=tokens_of)
    if decimals is not None:
        RunWriter.reopen(run).update_manifest(source={"logprob_decimals": decimals})
    return open_run(run)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same log with all digits, and rounded to two decimals."""
    folder = tmp_path_factory.mktemp("rounding")
    return written(folder / "whole", list), written(folder / "rounded", lambda v: np.round(v, DECIMALS), DECIMALS)


def notes_of(run, metric, parameters=PARAMETERS):
    request = Request(metric, parameters, "dppo", metric.default_update)
    found = measure(run, request)
    return found, list(rounding_notes(run, request, found))


@pytest.mark.parametrize(
    ("metric", "divergence"),
    [
        pytest.param(metric, divergence, id=f"{metric.id}-{divergence}")
        for metric in OF_LOGPROBS
        for divergence in ("binary_tv", "binary_kl")
        if divergence == "binary_tv" or "divergence" in metric.parameters
    ],
)
def test_the_figure_of_all_digits_lies_within_the_bound(runs, metric, divergence):
    whole, rounded = runs
    parameters = PARAMETERS | {"divergence": divergence}
    true, _ = notes_of(whole, metric, parameters)
    found, (note,) = notes_of(rounded, metric, parameters)
    if metric.is_share and "counted" in metric.blocks:
        fewest, most = _span(note)
        assert fewest <= true.numerator <= most
        assert fewest <= found.numerator <= most
    else:
        bound = float(re.search(r"moves by at most ([0-9.e+-]+)$", note)[1])
        assert abs(true.value - found.value) <= bound
        assert 0 < bound < 0.2 * max(1, found.value)


def _span(note):
    several = re.search(r"between ([0-9,]+) and ([0-9,]+) of", note)
    if several:
        return tuple(int(number.replace(",", "")) for number in several.groups())
    one = int(re.search(r"are, ([0-9,]+) of", note)[1].replace(",", ""))
    return one, one


@pytest.mark.parametrize("name", ["dppo_masked_token_fraction", "grpo_clip_fraction", "verl_dppo_clip_fraction"])
def test_the_span_is_no_wider_than_the_tokens_near_the_threshold(runs, name):
    _, (note,) = notes_of(runs[1], load_metric(name))
    fewest, most = _span(note)
    assert 0 < fewest < most < 600


def test_a_token_at_the_threshold_is_neither_surely_counted_nor_surely_not(tmp_path):
    edge = math.log(math.exp(-1.0) + 0.15)
    rows = {"over": edge + 0.002, "under": edge - 0.002, "far": edge + 0.1, "back": edge - 0.1}
    run = write_run(
        tmp_path / "run", made_plan(),
        tokens_of=lambda arm, seed, step: tokens([(1, -1.0, current, 1.0) for current in rows.values()], step),
    )  # fmt: skip
    RunWriter.reopen(run).update_manifest(source={"logprob_decimals": 2})
    found, (note,) = notes_of(open_run(run), load_metric("dppo_masked_token_fraction"))
    assert found.numerator == 2 * 2
    assert "between 2 and 6 of 8 tokens are counted" in note


def test_an_advantage_that_reads_zero_may_have_either_sign(tmp_path):
    run = write_run(
        tmp_path / "run", made_plan(), tokens_of=lambda arm, seed, step: tokens([(1, -2.0, -0.5, 0.0)], step)
    )
    RunWriter.reopen(run).update_manifest(source={"logprob_decimals": 4})
    found, (note,) = notes_of(open_run(run), load_metric("dppo_masked_token_fraction"))
    assert found.numerator == 0
    assert "between 0 and 2 of 2 tokens" in note


def test_every_figure_of_log_probabilities_says_how_far_it_moves():
    for metric in OF_LOGPROBS:
        assert "counted" in metric.blocks or "moves by" in metric.header, metric.id


def test_nothing_is_said_where_nothing_was_rounded(runs):
    assert notes_of(runs[0], load_metric("kl_k3"))[1] == []


def test_gate_and_drift_say_it_and_keep_their_figures(runs, tmp_path):
    _, rounded = runs
    unmarked = written(tmp_path / "unmarked", lambda values: np.round(values, DECIMALS))
    plan = rounded.sealed.plan
    with_note, without = (evaluate_gate(run, plan) for run in (rounded, unmarked))
    assert [check.value for check in with_note.checks] == [check.value for check in without.checks]
    told = {check.id for check in with_note.checks if any("missing digits" in note for note in check.notes)}
    assert {"dppo_masked_token_fraction", "policy_drift_abs_p_q90", "first_update_mismatch"} <= told
    assert not any("missing digits" in note for check in without.checks for note in check.notes)
    drift = drift_report(rounded, plan, rules=[Rule("ratio", 0.2)])
    assert any("|dp| and each of its quantiles by 0.0101" in reason for reason in drift.checks.reasons)
    assert any(
        re.search(r"ratio=0.2 takes away between \d+ and \d+ tokens of arm dppo", r) for r in drift.checks.reasons
    )
    assert drift.rows == drift_report(unmarked, plan).rows


@pytest.mark.parametrize("value", ["4", True, -1, 99, None, 4.0])
def test_what_is_no_number_of_decimals_is_passed_over(runs, value):
    run = runs[0]
    manifest = run.manifest.model_copy(update={"source": {"logprob_decimals": value}})
    assert logprob_decimals(type(run)(run.path, manifest, run.sealed, run.files, ()), "dppo") is None


def test_sources_imported_together_speak_each_of_its_own_arm(runs):
    run = runs[0]
    manifest = run.manifest.model_copy(update={"source": {"treatment/seed=0 logprob_decimals": 4}})
    both = type(run)(run.path, manifest, run.sealed, run.files, ())
    assert (logprob_decimals(both, "treatment"), logprob_decimals(both, "baseline")) == (4, None)


def test_the_page_says_it_beside_the_drift(runs):
    from reports.model import build_report
    from runner.pages import report_inputs

    for run, says in zip(runs, (False, True), strict=True):
        (section,) = (found for found in build_report(report_inputs(run)).sections if found.id == "drift")
        assert any("have 2 decimals: each is off by up to 0.005 nats" in note for note in section.notes) is says
