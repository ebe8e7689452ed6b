"""Audits of runs whose plan names a critic or a preference loss: what they may not say of such arms."""

import pytest
from made_critic import LENGTHS, constant, exact, write_critics
from made_run import rewrite

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run

ARMS = {"grpo": None, "ppo": constant(0.2), "dpo": None}


def audited(path, audit_id):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, audit_id)


def with_column(path, relative, name, change):
    def changed(table):
        return table.set_column(table.schema.get_field_index(name), name, [change(table[name].to_pylist())])

    return rewrite(path, relative, changed)


@pytest.fixture
def study(tmp_path):
    return write_critics(tmp_path / "run", ARMS, preference=("dpo",))


@pytest.mark.parametrize("audit_id", ["group_advantages", "token_rows", "zero_signal"])
def test_a_study_of_critics_and_pairs_is_not_held_to_group_means(study, audit_id):
    found = audited(study, audit_id)
    assert found.check.status == "pass", found.rows


def test_arms_with_a_critic_are_named_with_what_measures_them(study):
    notes = audited(study, "group_advantages").check.notes
    (of_critic,) = (note for note in notes if note.startswith("ppo:"))
    assert "come from a critic and are not centred by group: `audit critic` measures them" in of_critic
    (of_pairs,) = (note for note in notes if note.startswith("dpo:"))
    assert of_pairs.endswith("trained on pairs instead")


def test_the_groups_of_other_arms_are_still_judged(study):
    with_column(study, "rollouts/arm=grpo/seed=0/step=000000.parquet", "advantage", lambda own: [9.0, *own[1:]])
    assert audited(study, "group_advantages").check.status == "fail"


def test_where_every_arm_has_a_critic_no_group_is_centred(tmp_path):
    check = audited(write_critics(tmp_path / "run", {"a": exact, "b": constant(0.1)}), "group_advantages").check
    assert check.status == "not_applicable"
    assert "`audit critic`" in check.reason


def test_tokens_of_an_arm_with_group_means_must_have_its_advantage(study):
    with_column(study, "tokens/arm=grpo/seed=0/step=000000.parquet", "advantage", lambda own: [9.0, *own[1:]])
    found = audited(study, "token_rows")
    assert found.check.status == "fail"
    assert {row[found.columns.index("arm")] for row in found.rows} == {"grpo"}


def test_rollouts_of_one_reward_are_no_missing_signal_for_a_critic(study):
    for arm in ("ppo", "grpo"):
        for step in (0, 1):
            path = f"rollouts/arm={arm}/seed=0/step=00000{step}.parquet"
            with_column(study, path, "reward", lambda own: [1.0] * len(own))
    found = audited(study, "zero_signal")
    assert {(row[0], row[found.columns.index("arm")]) for row in found.rows} == {
        ("never a signal", "grpo"), ("step without a signal", "grpo")
    }  # fmt: skip


def test_a_critic_whose_advantages_are_all_0_gives_no_signal(study):
    for step in (0, 1):
        with_column(study, f"tokens/arm=ppo/seed=0/step=00000{step}.parquet", "advantage", lambda own: [0.0] * len(own))
    found = audited(study, "zero_signal")
    assert found.check.status == "fail"
    details = [row[found.columns.index("detail")] for row in found.rows if row[0] == "never a signal"]
    assert details == ["every loss token had advantage 0 in all of 2 steps"]


def test_a_preference_loss_may_train_on_fewer_tokens_than_were_sampled_and_no_other_may(study):
    def offending():
        found = audited(study, "executed_settings")
        place = found.columns.index("setting")
        return {row[found.columns.index("arm")] for row in found.rows if row[place] == "loss tokens"}

    assert offending() == set()
    for arm in ("grpo", "dpo"):
        with_column(study, f"updates/arm={arm}/seed=0/step=000000.parquet", "n_loss_tokens", lambda own: [1, 1])
    assert offending() == {"grpo"}
    with_column(
        study, "updates/arm=dpo/seed=0/step=000000.parquet", "n_loss_tokens", lambda own: [4 * sum(LENGTHS)] * 2
    )
    assert offending() == {"grpo", "dpo"}
