"""The gate of a mask by a top-k divergence, and its optional table of candidates."""

import numpy as np
import pytest
from made_run import gate_check, made_plan, sealed, write_run

from analysis.divergences import topk_kl, topk_tv
from analysis.errors import AuditError
from audits.engine.gate import evaluate_gate, loss_parameters
from audits.store.reader import open_run
from audits.store.sandbox import open_sandbox
from audits.store.writer import RunWriter

METRIC = "dppo_topk_masked_token_fraction"
# mu and pi of three candidates, the sampled one first, and the advantage.
TOKENS = (
    ((0.1, 0.5, 0.2), (0.12, 0.3, 0.35), 1.0),  # masked: far over the candidates, near in the sampled token alone
    ((0.1, 0.5, 0.2), (0.12, 0.3, 0.35), -1.0),  # as far, and back towards the sampler
    ((0.1, 0.5, 0.2), (0.12, 0.3, 0.35), 0.0),
    ((0.6, 0.2, 0.1), (0.62, 0.19, 0.1), 1.0),  # inside
)


def topk_plan(divergence="topk_tv", **check):
    plan = made_plan()
    plan["losses"]["dppo"] |= {"divergence": divergence, "top_k": 2}
    plan["activation_gate"]["checks"] = [gate_check(plan, "dppo_masked_token_fraction") | {"metric": METRIC} | check]
    return plan


def candidates(step, update=1, tokens=TOKENS):
    rows = [(place, cell, *token) for place, token in enumerate(tokens) for cell in range(3)]
    return {
        "step": [step] * len(rows),
        "update": [update] * len(rows),
        "rollout_id": [place for place, *_ in rows],
        "position": [0] * len(rows),
        "token_id": [7 + cell for _, cell, *_ in rows],
        "is_sampled": [cell == 0 for _, cell, *_ in rows],
        "sampler_logprob": [float(np.log(mu[cell])) for _, cell, mu, _, _ in rows],
        "current_logprob": [float(np.log(pi[cell])) for _, cell, _, pi, _ in rows],
        "advantage": [advantage for *_, advantage in rows],
    }


def evaluated(path, plan, rows=None):
    run = write_run(path, plan)
    for step in range(2 if rows else 0):
        RunWriter.reopen(run).write_step("dppo", 0, step, {"candidates": rows(step)})
    opened = open_run(run)
    report = evaluate_gate(opened, opened.sealed.plan)
    return opened, next(check for check in report.checks if check.id == METRIC)


@pytest.mark.parametrize("divergence", ["topk_tv", "topk_kl"])
def test_the_share_of_the_candidates_passes_and_says_by_which_divergence(tmp_path, divergence):
    plan = topk_plan(divergence)
    plan["losses"]["dppo"]["delta"] = 0.05
    run, check = evaluated(tmp_path / "run", plan, candidates)
    assert (check.status, check.value, check.numerator, check.denominator) == ("pass", 0.25, 2, 8)
    assert check.definition == f"dppo_{divergence}@sampler/loss_tokens"
    assert "0.33333" in check.notes[0]  # one of the three tokens with an advantage
    with open_sandbox([run]) as sandbox, sandbox.select(check.sql) as answer:
        assert answer.fetchall() == [(0.25,)]
    with open_sandbox([run]) as sandbox:
        query = "SELECT topk_tv, topk_kl, n_candidates FROM topk_loss_tokens WHERE step = 0 ORDER BY rollout_id"
        with sandbox.select(query) as answer:
            found = np.array(answer.fetchall(), np.float64)
    mu, pi = (np.log([token[side] for token in TOKENS]).astype(np.float32) for side in (0, 1))
    np.testing.assert_allclose(found[:, 0], topk_tv(mu, pi), rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], topk_kl(mu, pi), rtol=1e-12)
    assert (found[:, 2] == 3).all()


def test_without_the_table_the_gate_is_inconclusive_and_names_the_setting_that_provides_it(tmp_path):
    _, check = evaluated(tmp_path / "run", topk_plan())
    assert (check.status, check.rows_examined) == ("inconclusive", 0)
    assert check.reason == "table candidates was never logged in this run"
    assert "table candidates is written by `audit run` with a loss that has top_k" in check.mend


def test_a_rule_on_an_update_that_was_never_executed_cannot_fire(tmp_path):
    _, check = evaluated(tmp_path / "run", topk_plan(), lambda step: candidates(step, update=0))
    assert check.status == "fail"
    assert "the rule cannot fire" in check.reason


def test_a_mask_that_is_never_reached_fails_and_names_the_largest_divergence(tmp_path):
    plan = topk_plan()
    plan["losses"]["dppo"]["delta"] = 0.4
    _, check = evaluated(tmp_path / "run", plan, candidates)
    assert check.status == "fail"
    assert "the largest topk_tv in the masked direction, against delta = 0.4 was 0.2" in check.reason


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [("token_id", 1, 7), ("is_sampled", 1, True), ("is_sampled", 0, False), ("current_logprob", 2, 0.5),
     ("sampler_logprob", 2, float("nan")), ("advantage", 1, -1.0)],
)  # fmt: skip
def test_candidates_that_cannot_be_of_one_token_fail_and_show_no_figure(tmp_path, column, row, value):
    def broken(step):
        columns = candidates(step)
        columns[column][row] = value
        return columns

    _, check = evaluated(tmp_path / "run", topk_plan(), broken)
    assert (check.status, check.value) == ("fail", None)
    assert "2 of 8 rows" in check.reason


def test_the_binary_rule_and_the_topk_rule_have_thresholds_of_their_own(tmp_path):
    plan = topk_plan()
    assert loss_parameters(sealed(plan).plan) == {"topk_divergence": "topk_tv", "topk_delta": "0.15", "eps": "0.2"}
    plan["activation_gate"]["checks"][0]["metric"] = "dppo_masked_token_fraction"
    with pytest.raises(
        AuditError,
        match=r"needs divergence, and no loss of the plan has it.*where its divergence is binary_tv or binary_kl",
    ):
        evaluated(tmp_path / "run", plan)
