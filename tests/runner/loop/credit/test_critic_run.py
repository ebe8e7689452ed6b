"""Arms with a critic and with a preference loss, really trained: what is logged, measured, and resumed."""

import io
import shutil
from contextlib import nullcontext

import numpy as np
import pytest
from same_tables import assert_same_tables

from analysis.advantages.generalized import generalized_advantages
from analysis.advantages.normalized import normalized
from analysis.errors import AuditError
from audits.store.manifest import read_manifest
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter
from runner.loop.arms import take_up
from runner.loop.credit import estimation
from runner.loop.launch import execute_on, prepare
from runner.loop.progress import LineProgress

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

CRITIC = {"capacity": "small", "learning_rate": 0.01, "epochs": 2}
CLIP = {"kind": "ratio_clip", "form": "ratio", "eps": 0.2, "anchor": "sampler", "truncation": None}
PREFERENCE = {"kind": "preference", "form": "ratio", "beta": 0.1, "anchor": "base", "truncation": None}
ARMS = [
    {"name": "grpo", "role": "baseline", "condition": "grpo", "seed": 0, "loss": "clip"},
    {"name": "ppo", "role": "treatment", "condition": "ppo", "seed": 0, "loss": "clip", "advantage": "critic"},
    {"name": "dpo", "role": "other", "condition": "dpo", "seed": 0, "loss": "preference"},
]


@pytest.fixture(scope="module")
def plan(make_plan):
    return make_plan(
        losses={"clip": CLIP | {"reduction": "token_sum"}, "preference": PREFERENCE | {"reduction": "token_sum"}},
        advantages={"critic": {"critic": CRITIC, "discount": 1.0, "decay": 0.9, "normalization": "z_score"}},
        arms=ARMS, activation_gate={"applicable": False, "reason": "none", "pilot_steps": 3, "checks": []},
        advantage_measurement={"every_steps": 2, "states": 6, "rollouts": 4}, rollout__group_size=8,
        optimizer__learning_rate=0.001,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(run_small, plan, tmp_path_factory):
    return run_small(plan, "pilot", tmp_path_factory.mktemp("runs") / "pilot")


@pytest.fixture
def ask(trained):
    with connect(open_run(trained)) as connection:
        yield lambda sql: connection.execute(sql).fetchall()


def test_a_critic_s_tokens_have_values_and_the_advantages_that_follow_from_them(ask):
    for step in range(3):
        rows = ask(
            "SELECT rollout_id, value, tokens.advantage, reward FROM tokens "
            "JOIN rollouts USING (arm, seed, step, rollout_id) "
            f"WHERE arm = 'ppo' AND step = {step} ORDER BY rollout_id, position"
        )
        ids, values, advantages, rewards = (np.array(column) for column in zip(*rows, strict=True))
        _, first, lengths = np.unique(ids, return_index=True, return_counts=True)
        found = generalized_advantages(rewards[first], values, lengths, discount=1.0, decay=0.9).advantages
        np.testing.assert_allclose(normalized(found, "z_score"), advantages, atol=1e-4)
        assert np.ptp(values) > 0 if step else not values.any()


def test_other_arms_have_no_value_and_a_critic_s_rollouts_no_advantage_of_their_own(ask):
    assert ask("SELECT DISTINCT arm FROM tokens WHERE value IS NOT NULL") == [("ppo",)]
    assert ask("SELECT DISTINCT arm FROM rollouts WHERE advantage IS NULL") == [("ppo",)]


def test_the_critic_s_size_is_recorded(trained):
    (entry,) = open_run(trained).manifest.executed["critics"]
    assert entry == {"arm": "ppo", "seed": 0, "capacity": "small", "parameters": 1057, "hidden_size": 64}


def test_a_preference_arm_trains_on_pairs_of_one_group_whose_weights_cancel(ask):
    pairs = ask(
        "SELECT step, group_id, sum(CASE WHEN advantage > 0 THEN 1 ELSE -1 END), sum(advantage), "
        "min(CASE WHEN advantage > 0 THEN reward END) - max(CASE WHEN advantage < 0 THEN reward END) "
        "FROM (SELECT DISTINCT step, rollout_id, advantage FROM tokens WHERE arm = 'dpo' AND advantage <> 0) "
        "JOIN (SELECT step, rollout_id, group_id, reward FROM rollouts WHERE arm = 'dpo') USING (step, rollout_id) "
        "GROUP BY ALL"
    )
    assert len(pairs) > 3
    for _, _, balance, total, gap in pairs:
        assert balance == 0
        assert total == pytest.approx(0.0, abs=1e-6)
        assert gap > 0
    # At the base model's own weights every margin is 0, and the pull is beta / 2.
    first = ask("SELECT DISTINCT abs(advantage) FROM tokens WHERE arm = 'dpo' AND step = 0 AND \"update\" = 0")
    assert first == [(pytest.approx(0.05, abs=1e-5),)]


def test_states_are_measured_at_every_second_step_with_values_that_can_be_checked(ask):
    assert ask("SELECT arm, step, count(*) FROM state_values GROUP BY ALL ORDER BY ALL") == [
        ("grpo", 0, 6), ("grpo", 2, 6), ("ppo", 0, 6), ("ppo", 2, 6),
    ]  # fmt: skip
    rows = ask(
        "SELECT s.advantage, update_advantage, t.advantage, s.value, t.value, monte_carlo_value, "
        "monte_carlo_value_error, monte_carlo_advantage, monte_carlo_advantage_error, n_tokens - 1 = position, reward "
        "FROM state_values s JOIN tokens t USING (arm, seed, step, rollout_id, position) "
        "JOIN rollouts USING (arm, seed, step, rollout_id)"
    )
    assert len(rows) == 24
    for raw, used, logged, value, logged_value, worth, error, advantage, advantage_error, is_last, reward in rows:
        assert used == pytest.approx(logged, abs=1e-6)
        assert (value is None) == (logged_value is None)
        assert value is not None or raw == used
        assert worth * 4 == pytest.approx(round(worth * 4))
        assert error == pytest.approx(np.sqrt(worth * (1 - worth) / 3))
        if is_last:
            assert advantage == pytest.approx(reward - worth)
            assert advantage_error == pytest.approx(error)
        assert advantage_error >= error - 1e-12


def test_two_arms_of_one_seed_measure_the_same_places_of_their_first_batch(ask):
    places = "SELECT rollout_id, position FROM state_values WHERE step = 0 AND arm = '{}' ORDER BY ALL"
    assert ask(places.format("grpo")) == ask(places.format("ppo"))


def test_the_update_s_direction_is_compared_by_three_norms(ask):
    rows = ask("SELECT states, estimated_norm, monte_carlo_norm, sum_norm FROM update_directions")
    assert len(rows) == 4
    for states, estimated, monte_carlo, together in rows:
        assert states == 6
        assert abs(estimated - monte_carlo) - 1e-6 <= together <= estimated + monte_carlo + 1e-6


@pytest.mark.slow
def test_killed_between_rows_and_state_the_critic_goes_on_as_if_nothing_had_happened(
    plan, trained, backend, tmp_path, monkeypatch
):
    class Killed(BaseException):
        pass

    original = RunWriter.write_step

    def dies(self, arm, seed, step, data):
        if (arm, step) == ("ppo", 1):
            raise Killed
        return original(self, arm, seed, step, data)

    def start(*, resume):
        launch = prepare(plan, "pilot", tmp_path / "run", None, LineProgress(io.StringIO()), resume=resume)
        return execute_on(launch, nullcontext(backend), LineProgress(io.StringIO()))

    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "write_step", dies)
        with pytest.raises(Killed):
            start(resume=False)
    assert_same_tables(start(resume=True), trained)


def test_a_critic_whose_state_is_lost_stops_the_arm(plan, trained, backend, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    (arm,) = (arm for arm in plan.plan.arms if arm.name == "ppo")
    for path in (run / "state" / "critic").rglob("*.critic"):
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(AuditError, match=r"the critic that belongs to the saved weights cannot be read"):
        take_up(backend, RunWriter(run, read_manifest(run)), plan.plan, arm)


def test_a_service_without_hidden_states_is_told_at_the_first_batch(plan, run_small, tmp_path, monkeypatch):
    from tinker import TrainingClient

    plain = TrainingClient.forward
    monkeypatch.setattr(TrainingClient, "forward", lambda self, data, loss, config=None: plain(self, data, loss))
    with pytest.raises(AuditError, match="does not answer the policy's hidden states, which a critic reads"):
        run_small(plan, "pilot", tmp_path / "run")


@pytest.mark.slow
def test_the_state_before_a_token_knows_nothing_of_it(plan, run_small, tmp_path, monkeypatch):
    """A critic that saw its own token could read the reward off the last one."""
    seen = []
    original = estimation.hidden_states
    monkeypatch.setattr(
        estimation, "hidden_states",
        lambda backend, policy, samples: seen.append((samples, original(backend, policy, samples))) or seen[-1][1],
    )  # fmt: skip
    run_small(plan, "pilot", tmp_path / "run")
    samples, states = seen[0]
    firsts = {}
    for sample, rows in zip(samples, states, strict=True):
        assert rows.shape == (len(sample.token_ids), 64)
        firsts.setdefault(sample.prompt.problem.prompt_id, []).append((sample.token_ids[0], rows[0]))
    differing = [group for group in firsts.values() if len({token for token, _ in group}) > 1]
    assert differing, "no group sampled two first tokens"
    for group in firsts.values():
        for _, row in group[1:]:
            np.testing.assert_allclose(row, group[0][1], atol=1e-4)
