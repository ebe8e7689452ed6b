"""Initial states, restored states and the optimiser, on the embedded service."""

import dataclasses

import pytest

from analysis.errors import AuditError
from runner.loop.preflight import restoration
from runner.loop.probes import service
from runner.loop.probes.service import Preparation, forward_backward, optimizer_step, unit_cross_entropy

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def preparation(make_plan, backend, progress, tmp_path):
    return Preparation(make_plan(), tmp_path, backend, {}, progress)


def by_path(comparisons):
    return {item.path: item for item in comparisons if item.metric != "name"}


def test_the_embedded_service_starts_restores_and_optimises_as_planned(preparation):
    found = list(restoration.run(preparation))
    assert {item.status for item in found} == {"pass", "not_applicable"}
    for path in ("initial_state/dppo_seed0", "saved_state/restored", "saved_state/one_update_later"):
        assert by_path(found)[path].notes == ["bitwise equal"]
    assert "unverified" in by_path(found)["service"].reason
    assert by_path(found)["service"].status == "not_applicable"


def test_an_arm_that_starts_elsewhere_fails_and_names_the_token(preparation, monkeypatch):
    def trained(self, arm):
        policy = service.create_policy(self.backend, self.sealed.plan, arm)
        if arm.condition == "dppo":
            prompts, _ = service.training_prompts(self, policy)
            data, _ = service.fixed_batch(prompts)
            forward_backward(self.backend, policy.client, unit_cross_entropy(data), "cross_entropy")
            optimizer_step(self.backend, policy.client, {"learning_rate": 1e-5, "eps": 1e-8})
        return policy

    monkeypatch.setattr(Preparation, "fresh", trained)
    monkeypatch.setattr(restoration, "optimizer_comparisons", lambda *_: iter(()))
    found = by_path(restoration.run(preparation))["initial_state/dppo_seed0"]
    assert found.status == "fail"
    assert found.largest_deviation > 1e-6
    assert {"index", "sequence", "position"} <= set(found.where)
    assert "not bitwise equal" in found.notes


def test_a_state_restored_without_its_optimiser_fails_after_one_update(preparation, monkeypatch):
    client = preparation.backend.client
    weights_only = dataclasses.replace(preparation.backend, client=_Forgetful(client))
    monkeypatch.setattr(restoration, "optimizer_comparisons", lambda *_: iter(()))
    found = by_path(restoration.run(dataclasses.replace(preparation, backend=weights_only)))
    assert found["saved_state/restored"].status == "pass"
    assert found["saved_state/one_update_later"].status == "fail"


class _Forgetful:
    """A session that restores weights and forgets the optimiser."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)

    def create_training_client_from_state_with_optimizer(self, path):
        return self._client.create_training_client_from_state(path)


def test_another_optimiser_than_the_planned_one_is_named(preparation):
    policy = preparation.fresh(preparation.sealed.plan.arms[0])
    other = dataclasses.replace(policy, executed={**policy.executed, "optimizer": "muon"})
    assert restoration.optimizer_name(preparation, policy).status == "pass"
    found = restoration.optimizer_name(preparation, other)
    assert (found.status, found.value) == ("fail", "muon")


def test_a_group_that_names_no_arm_is_an_error(preparation):
    settings = {"groups": [{"arms": ["grpo_seed0", "dppo_seed7"]}]}
    with pytest.raises(AuditError, match=r"dppo_seed7.*Arms: grpo_seed0, dppo_seed0"):
        list(restoration.run(dataclasses.replace(preparation, settings=settings)))
