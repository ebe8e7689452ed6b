"""The loss that trains against independent references, on made tokens and on the service's own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.graders.grade import Grade
from analysis.losses.agreement import Tolerance
from analysis.losses.independent import IndependentLoss, official_score_form, references_of
from analysis.losses.made_tokens import MadeSequence, made_sequences
from analysis.losses.traced import CustomLoss
from analysis.plan.model import Loss
from audits.store.preflights import Comparison
from runner.loop.probes.findings import NOT_EXECUTED, Subject, Where, agreement, direction, open_question
from runner.loop.probes.service import Preparation
from runner.loop.prompts import Prompt
from runner.loop.sampling import Sample
from runner.loop.task import Problem

if TYPE_CHECKING:
    import tinker
    import torch

MADE_PROMPT = (5, 6, 7)
LOSS_TOLERANCE, GRADIENT_TOLERANCE = Tolerance(1e-5, 1e-4), Tolerance(1e-5, 1e-3)
PROMPT_LOGPROB = -3.0
"""Of a made prompt's tokens: the loss must not see them."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LossTolerances:
    """The plan's tolerances of one loss: its value, its gradient, and the gradient's direction."""

    loss: Tolerance = LOSS_TOLERANCE
    gradient: Tolerance = GRADIENT_TOLERANCE
    min_cosine: float = 0.9999


@dataclass(frozen=True)
class Evaluated:
    """A loss on a batch: its value, and its gradient at every position of every datum, laid end to end."""

    value: float
    gradient: Vector


def made_comparisons(
    preparation: Preparation, loss_id: str, loss: Loss, tolerances: LossTolerances
) -> Iterator[Comparison]:
    """Yield the comparisons of one loss on made tokens, which need no service.

    Both forms of a divergence mask are compared, whichever the plan runs: they have one gradient and two values.
    """
    for form in ("ratio", "score") if loss.kind == "divergence_mask" else ("ratio",):
        variant = loss.model_copy(update={"form": form})
        references = references_of(variant)
        if not references:
            reason = "no source defines a ratio clip with a truncation, so nothing independent can be compared"
            yield open_question(f"{loss_id}/{form}/made_tokens", "loss", reason)
        for reference in references:
            yield from _on_made_tokens(preparation, loss_id, variant, reference, tolerances)


def _on_made_tokens(
    preparation: Preparation, loss_id: str, loss: Loss, reference: IndependentLoss, tolerances: LossTolerances
) -> Iterator[Comparison]:
    sequences = made_sequences(loss)
    samples = [made_sample(sequence) for sequence in sequences]
    advantages = [sequence.advantage for sequence in sequences]
    current = [np.asarray(sequence.current_logprob, np.float64) for sequence in sequences]
    custom = preparation.build_loss(loss)
    path = f"{loss_id}/{loss.form}/made_tokens/{reference.id}"
    source = f"{reference.source}: {NOT_EXECUTED}"
    everywhere = Subject(path, source, _position(samples, sequences), "seeded tokens of every branch of the loss")
    whole = Subject(path, source, None, "the sum over seeded tokens of every branch of the loss")
    only_tokens = Subject(path, source, _token(sequences), "each seeded token alone")
    data = [preparation.lay_out(sample, advantage) for sample, advantage in zip(samples, advantages, strict=True)]
    ours = evaluate(custom, data, current)
    values, gradients = evaluate_reference(reference, samples, advantages, current)
    expected = on_every_position(samples, gradients)
    alone = _token_by_token(preparation, custom, sequences)
    yield agreement(whole, "loss", [ours.value], [np.concatenate(values).sum()], tolerances.loss)
    yield agreement(only_tokens, "token_loss", alone, np.concatenate(values), tolerances.loss)
    yield agreement(everywhere, "gradient", ours.gradient, expected, tolerances.gradient)
    yield direction(everywhere, "gradient_cosine", ours.gradient, expected, tolerances.min_cosine)
    if loss.kind == "divergence_mask" and loss.form == "ratio":
        official = official_score_form(loss)
        _, official_gradients = evaluate_reference(official, samples, advantages, current)
        subject = Subject(
            f"{loss_id}/ratio/made_tokens/{official.id}", f"{official.source}: {NOT_EXECUTED}", everywhere.where,
            "both forms have one gradient",
        )  # fmt: skip
        expected = on_every_position(samples, official_gradients)
        yield agreement(subject, "gradient", ours.gradient, expected, tolerances.gradient)


def evaluate(custom: CustomLoss, data: Sequence["tinker.Datum"], current: Sequence[Vector]) -> Evaluated:
    """Evaluate a custom loss as the SDK does: float32 leaves, one a datum, differentiated once.

    Args:
        custom: the loss.
        data: as they are sent.
        current: log pi of each datum's completion, its last positions; the prompt before it gets a made value.
    """
    import torch

    leaves = []
    for datum, values in zip(data, current, strict=True):
        n = datum.model_input.length
        full = np.full(n, PROMPT_LOGPROB, np.float32)
        full[n - len(values) :] = values
        leaves.append(torch.tensor(full, requires_grad=True))
    total, _ = custom(data, leaves)
    total.backward()  # type: ignore[no-untyped-call]
    return Evaluated(float(total.item()), gradient_of(leaves))


def gradient_of(leaves: Sequence["torch.Tensor"]) -> Vector:
    """Return the gradient at every position, laid end to end; a leaf that the loss does not touch has zeros."""
    parts = [
        np.zeros(leaf.shape[0]) if leaf.grad is None else np.asarray(leaf.grad.numpy(), np.float64) for leaf in leaves
    ]
    return np.concatenate(parts)


def evaluate_reference(
    reference: IndependentLoss, samples: Sequence[Sample], advantages: Sequence[float], current: Sequence[Vector]
) -> tuple[list[Vector], list[Vector]]:
    """Return the reference's loss and gradient at the loss tokens of each sample."""
    pairs = [
        reference.evaluate(values, sample.logprobs, np.full(len(values), np.float32(advantage)))
        for sample, advantage, values in zip(samples, advantages, current, strict=True)
    ]
    return [value for value, _ in pairs], [gradient for _, gradient in pairs]


def on_every_position(samples: Sequence[Sample], values: Sequence[Vector]) -> Vector:
    """Return loss-token values with a 0 at each position of a prompt, laid end to end."""
    parts = [
        np.concatenate([np.zeros(len(sample.prompt.token_ids) - 1), part])
        for sample, part in zip(samples, values, strict=True)
    ]
    return np.concatenate(parts)


def made_sample(sequence: MadeSequence) -> Sample:
    """Return made tokens as a sample of a made prompt."""
    problem = Problem("made", "train", "", "")
    return Sample(
        prompt=Prompt(problem, "", MADE_PROMPT, ""),
        token_ids=np.arange(10, 10 + len(sequence.branch), dtype=np.int32),
        logprobs=sequence.sampler_logprob,
        stop_reason="stop",
        completion="",
        grade=Grade(0.0, False, None, "made"),
    )


def where_of(samples: Sequence[Sample]) -> Where:
    """Return what names a position of these samples laid end to end: the rollout, and the token in its part."""
    return lambda index: _position_of(samples, index)


def _position_of(samples: Sequence[Sample], index: int) -> dict[str, Any]:
    """Return the rollout, and the token in its prompt or completion, of a position of data laid end to end."""
    for rollout, sample in enumerate(samples):
        n_prompt, n = len(sample.prompt.token_ids) - 1, len(sample.token_ids)
        if index < n_prompt + n:
            part = {"prompt position": index} if index < n_prompt else {"completion position": index - n_prompt}
            return {"rollout": rollout, **part}
        index -= n_prompt + n
    return {}


def _token_by_token(preparation: Preparation, custom: CustomLoss, sequences: Sequence[MadeSequence]) -> Vector:
    found = []
    for sequence in sequences:
        for index in range(len(sequence.branch)):
            part = slice(index, index + 1)
            one = MadeSequence(
                sequence.advantage,
                sequence.sampler_logprob[part],
                sequence.current_logprob[part],
                sequence.branch[part],
            )
            data = [preparation.lay_out(made_sample(one), one.advantage)]
            found.append(evaluate(custom, data, [np.asarray(one.current_logprob, np.float64)]).value)
    return np.asarray(found)


def _position(samples: Sequence[Sample], sequences: Sequence[MadeSequence]) -> Where:
    def where(index: int) -> Mapping[str, Any]:
        place = _position_of(samples, index)
        at = place.get("completion position")
        if at is None:
            return place
        sequence = sequences[place["rollout"]]
        return {**place, "advantage": round(sequence.advantage, 4), "branch": sequence.branch[at]}

    return where


def _token(sequences: Sequence[MadeSequence]) -> Where:
    places = [
        {"rollout": rollout, "completion position": at, "advantage": round(sequence.advantage, 4), "branch": branch}
        for rollout, sequence in enumerate(sequences)
        for at, branch in enumerate(sequence.branch)
    ]
    return lambda index: places[index]
