"""A whole small experiment whose treatment masks by a top-k divergence, through the real SDK."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.divergences import topk_tv
from analysis.losses import reference_losses
from audits.engine.gate import evaluate_gate
from audits.store.reader import connect, open_run
from runner.loop import arms

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

TOP_K, DELTA, METRIC = 4, 0.05, "dppo_topk_masked_token_fraction"
LOSS = {
    "kind": "divergence_mask", "form": "ratio", "divergence": "topk_tv", "delta": DELTA, "top_k": TOP_K,
    "anchor": "sampler", "truncation": None, "reduction": "token_sum",
}  # fmt: skip
CHECK = {"metric": METRIC, "measures": "masked share", "min": 0.0001, "arm": "treatment", "update": 1}


@pytest.fixture(scope="module")
def sealed(make_plan):
    return make_plan(
        losses__dppo=LOSS, activation_gate__checks=[CHECK], optimizer__learning_rate=0.01, rollout__group_size=16
    )


@pytest.fixture(scope="module")
def trained(run_small, sealed, tmp_path_factory):
    """Return a finished pilot and each update's count of masked tokens, as `custom/hidden:sum` gave it."""
    hidden = {}

    def recording(backend, policy, loss, optimizer, batch, *rest):
        updates = real(backend, policy, loss, optimizer, batch, *rest)
        if loss.top_k is not None:
            hidden.update({(batch.step, update.update): update.n_hidden for update in updates})
        return updates

    real = arms.train_batch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arms, "train_batch", recording)
        return run_small(sealed, "pilot", tmp_path_factory.mktemp("runs") / "pilot"), hidden


def logged(run, table, step):
    columns = pq.read_table(run / f"{table}/arm=dppo/seed=0/step={step:06d}.parquet", partitioning=None).to_pydict()
    return {name: np.array(values) for name, values in columns.items()}


def of_each_token(rows):
    """Return the rows of each loss token, in the order of the tokens table."""
    starts = np.flatnonzero(rows["is_sampled"])
    return [
        {name: values[start:end] for name, values in rows.items()}
        for start, end in zip(starts, [*starts[1:], len(rows["step"])], strict=True)
    ]


def divergences(rows):
    return np.array([topk_tv(own["sampler_logprob"], own["current_logprob"]) for own in of_each_token(rows)])


def test_every_loss_token_has_its_candidates_and_the_baseline_none(trained):
    run, _ = trained
    assert open_run(run).manifest.status == "complete"
    assert {arm for arm, _ in open_run(run).partitions("candidates")} == {"dppo"}
    found = set()
    for step in range(2):
        tokens, rows = logged(run, "tokens", step), logged(run, "candidates", step)
        sampled = rows["is_sampled"]
        for name in ("update", "rollout_id", "position", "token_id", "sampler_logprob", "current_logprob", "advantage"):
            np.testing.assert_array_equal(rows[name][sampled], tokens[name], err_msg=name)
        sizes = [len(own["step"]) for own in of_each_token(rows)]
        found |= set(sizes)
        for own in of_each_token(rows):
            assert len(set(own["token_id"])) == len(own["token_id"])
            least = own["sampler_logprob"][1:].min()
            assert len(own["step"]) == TOP_K or own["sampler_logprob"][0] <= least
            assert np.exp(own["sampler_logprob"].astype(np.float64)).sum() <= 1 + 1e-6
            assert np.exp(own["current_logprob"].astype(np.float64)).sum() <= 1 + 1e-6
    assert found == {TOP_K, TOP_K + 1}  # a sampled token among the most probable ones, and one beside them


def test_the_loss_that_trained_masked_by_the_logged_candidates(trained, sealed):
    run, hidden = trained
    loss = sealed.plan.losses["dppo"]
    for step in range(2):
        tokens, updates = logged(run, "tokens", step), logged(run, "updates", step)
        sizes = divergences(logged(run, "candidates", step))
        for update in range(2):
            own = tokens["update"] == update
            columns = (tokens[name][own] for name in ("current_logprob", "sampler_logprob", "advantage"))
            expected = reference_losses(loss, *columns, divergence=sizes[own])
            assert updates["loss"][update] == pytest.approx(expected.total, rel=1e-6, abs=1e-6)
            assert hidden[step, update] == (~expected.keep).sum()
        assert json.loads(updates["loss_config"][0])["top_k"] == TOP_K
    assert sum(hidden.values()) > 0


def test_the_gate_s_figure_is_numpy_s_and_the_loss_s_own_count(trained, sealed):
    run, hidden = trained
    shares = []
    for step in range(2):
        rows = logged(run, "candidates", step)
        tokens = logged(run, "tokens", step)
        second = tokens["update"] == 1
        away = tokens["advantage"] * (tokens["current_logprob"] - tokens["sampler_logprob"]) > 0
        masked = away & (divergences(rows) > DELTA) & second
        assert masked.sum() == hidden[step, 1]
        shares.append(masked.sum() / second.sum())
    opened = open_run(run)
    check = next(check for check in evaluate_gate(opened, sealed.plan).checks if check.id == METRIC)
    assert check.value == pytest.approx(np.mean(shares), rel=1e-12)
    assert check.numerator == hidden[0, 1] + hidden[1, 1]
    with connect(opened) as connection:
        query = 'SELECT topk_tv FROM topk_loss_tokens WHERE step = 1 ORDER BY "update", rollout_id, position'
        found = np.array(connection.execute(query).fetchall())[:, 0]
    np.testing.assert_allclose(found, divergences(logged(run, "candidates", 1)), rtol=1e-9, atol=1e-12)


def test_a_binary_mask_would_have_hidden_other_tokens(trained):
    run, _ = trained
    rows = logged(run, "candidates", 1)
    binary = [topk_tv(own["sampler_logprob"][:1], own["current_logprob"][:1]) for own in of_each_token(rows)]
    assert (divergences(rows) >= np.array(binary) - 1e-9).all()
    assert (divergences(rows) > np.array(binary) + 0.01).any()
