"""Do all arms start from the same state, does a saved state go on as it was, and is the optimiser the planned one?

Fresh clients of the arms are compared on a fixed batch; a saved and restored state makes one more update beside the
state it was saved from. The API shows no weights and no moments, so the optimiser is known by what it does: AdamW
predicts how a step changes the batch's log-probabilities when one of its settings changes, and that is measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.errors import AuditError
from analysis.losses.agreement import Tolerance
from analysis.plan.model import Arm
from audits.store.preflights import Comparison
from runner.loop.policy import Policy, adam_params
from runner.loop.probes.findings import Subject, agreement, open_question
from runner.loop.probes.optimizer_behaviour import optimizer_comparisons
from runner.loop.probes.service import (
    Preparation,
    fixed_batch,
    forward_backward,
    logprobs_of,
    training_prompts,
    unit_cross_entropy,
)

LOGPROB_ATOL = 1e-6
STATE_SECONDS = 3600
"""How long a service keeps the state that is saved to be restored at once."""


@dataclass(frozen=True)
class Fixed:
    """The fixed batch: the first training prompts, each token predicting the next."""

    data: Sequence[Any]
    sha256: str

    def where(self, index: int) -> Mapping[str, Any]:
        """Return the sequence and the position of a number of the batch laid end to end."""
        for sequence, datum in enumerate(self.data):
            if index < datum.model_input.length:
                return {"sequence": sequence, "position": index}
            index -= datum.model_input.length
        return {}


def run(preparation: Preparation) -> Iterator[Comparison]:
    """Yield the comparisons of the initial states, of a restored state, and of the optimiser.

    Raises:
        AuditError: the service refused a request that any run needs, or a setting names an arm that the plan lacks.
    """
    groups = _groups(preparation)
    tolerance = Tolerance(float(preparation.settings.get("logprob_atol", LOGPROB_ATOL)), 0.0)
    preparation.note("restoration: fresh clients of all arms on a fixed batch")
    first = groups[0][0]
    policy = preparation.fresh(first)
    prompts, _ = training_prompts(preparation, policy)
    data, digest = fixed_batch(prompts)
    fixed = Fixed(data, digest)
    for group in groups:
        yield from _initial(preparation, group, fixed, tolerance)
    preparation.note("restoration: a saved state, restored")
    yield from _continued(preparation, first, policy, fixed, tolerance)
    preparation.note("restoration: the optimiser's behaviour")
    yield optimizer_name(preparation, policy)
    yield from optimizer_comparisons(preparation, first, fixed.data)
    yield open_question(
        "service",
        "identity",
        "unverified: the API tells neither which code nor which weights the service runs",
        status="not_applicable",
    )


def _groups(preparation: Preparation) -> list[list[Arm]]:
    """Return the arms that must start alike, by the plan's settings; without settings all arms are one group."""
    arms = {arm.name: arm for arm in preparation.sealed.plan.arms}
    named = preparation.settings.get("groups") or [{"arms": list(arms)}]
    try:
        return [[arms[name] for name in group["arms"]] for group in named]
    except (KeyError, TypeError) as error:
        raise AuditError(
            f"preflights.restoration.settings.groups: {error!s:.80} is no arm of the plan. Arms: {', '.join(arms)}"
        ) from error


def _initial(
    preparation: Preparation, group: Sequence[Arm], fixed: Fixed, tolerance: Tolerance
) -> Iterator[Comparison]:
    states = [
        np.concatenate(logprobs_of(preparation.backend, preparation.fresh(arm).client, fixed.data)) for arm in group
    ]
    again = group[0]
    pairs = [*zip(group[1:], states[1:], strict=True)] or [
        (again, np.concatenate(logprobs_of(preparation.backend, preparation.fresh(again).client, fixed.data)))
    ]
    for arm, state in pairs:
        subject = Subject(
            f"initial_state/{arm.name}",
            f"a fresh client of {again.name}",
            fixed.where,
            f"log-probabilities of a fixed batch (sha256 {fixed.sha256[:12]}…) before the first update",
        )
        yield _exactness(agreement(subject, "logprob", state, states[0], tolerance), state, states[0])


def _continued(
    preparation: Preparation, arm: Arm, policy: Policy, fixed: Fixed, tolerance: Tolerance
) -> Iterator[Comparison]:
    backend, doing = preparation.backend, "preflight: saving and restoring a state"
    _planned_update(preparation, policy.client, fixed)
    saved = backend.wait(
        doing, backend.submit(doing, lambda: policy.client.save_state("preflight", ttl_seconds=STATE_SECONDS))
    )
    path = str(saved.path)
    pending = backend.submit(doing, lambda: backend.client.create_training_client_from_state_with_optimizer(path))
    restored = backend.wait(doing, pending)
    for moment in ("restored", "one_update_later"):
        if moment == "one_update_later":
            for client in (policy.client, restored):
                _planned_update(preparation, client, fixed)
        theirs, ours = (
            np.concatenate(logprobs_of(backend, client, fixed.data)) for client in (policy.client, restored)
        )
        subject = Subject(
            f"saved_state/{moment}",
            "the state that was saved, which went on",
            fixed.where,
            "log-probabilities of the fixed batch, restored client against uninterrupted one",
        )
        yield _exactness(agreement(subject, "logprob", ours, theirs, tolerance), ours, theirs)


def _planned_update(preparation: Preparation, client: Any, fixed: Fixed) -> None:
    """Make one update with the plan's own optimiser settings."""
    backend, doing = preparation.backend, "preflight: one planned update"
    forward_backward(backend, client, unit_cross_entropy(fixed.data), "cross_entropy")
    params = adam_params(preparation.sealed.plan.optimizer)
    backend.wait(doing, backend.submit(doing, lambda: client.optim_step(params)))


def optimizer_name(preparation: Preparation, policy: Policy) -> Comparison:
    """Compare the optimiser's name as the service reports it; AdamW with weight decay 0 is Adam."""
    reported = str(policy.executed.get("optimizer", ""))
    planned = preparation.sealed.plan.optimizer
    allowed = ["adamw", *(["adam"] if planned.weight_decay == 0.0 else [])]
    right = reported.lower() in allowed
    return Comparison(
        path="optimizer",
        metric="name",
        status="pass" if right else "fail",
        value=reported or "not reported",
        expected=planned.name,
        limit={"one_of": allowed},
        reference="what the service reports of the client",
        n=1,
        reason=None if right else f"the service reports {reported!r}",
    )


def _exactness(comparison: Comparison, ours: Any, theirs: Any) -> Comparison:
    exact = "bitwise equal" if np.array_equal(ours, theirs) else "not bitwise equal"
    return comparison.model_copy(update={"notes": [exact]})
