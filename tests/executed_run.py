"""Builds a run that executed its small plan to the letter, so that a test can change one thing about it."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from made_run import STARTED_AT, Columns, arms_of, evals, made_plan, right, rollouts, sealed, updates

from analysis.plan.model import Plan
from audits.store.manifest import Manifest
from audits.store.writer import RunWriter

TEST_ITEMS, VALIDATION_ITEMS, TRAIN_ITEMS = 20, 10, 8
FRAME = "Compute {question}="
SETTINGS = ("lora_rank", "task", "dataset", "rollout", "optimizer", "losses")


def small_plan(**changes: Any) -> dict[str, Any]:
    """Return the shipped demo plan with 3 steps of 2 groups of 2 rollouts, 20 test and 10 validation items."""
    small = {
        "rollout__groups_per_batch": 2, "rollout__group_size": 2, "task__test_items": TEST_ITEMS,
        "task__validation_items": VALIDATION_ITEMS,
    }  # fmt: skip
    return made_plan(**small | changes)


def executed_by(plan: dict[str, Any], kind: str = "full") -> dict[str, Any]:
    """Return `executed` of run.json as the runner states it for a plan."""
    parsed = Plan.model_validate(plan)
    arms = [
        {"arm": arm.condition, "seed": arm.seed, "base_model": parsed.base_model, "lora_rank": parsed.lora_rank}
        for arm in parsed.arms
    ]
    dumped = parsed.model_dump()
    split = "validation" if kind == "pilot" else "test"
    evaluation = {**dumped["evaluation"], "split": split}
    return {**{name: dumped[name] for name in SETTINGS}, "arms": arms, "evaluation": evaluation}


def prompts(
    items: Mapping[str, int] | None = None, frame_of: Callable[[str, int], str] = lambda split, number: FRAME
) -> Columns:
    """Return prompt columns: `items` prompts of each split, each question in its frame."""
    items = items or {"train": TRAIN_ITEMS, "validation": VALIDATION_ITEMS, "test": TEST_ITEMS}
    keys = [(split, number) for split, count in items.items() for number in range(count)]
    questions = [f"{number}+{len(split)}00" for split, number in keys]
    frames = [frame_of(split, number) for split, number in keys]
    rendered = [frame.replace("{question}", question) for frame, question in zip(frames, questions, strict=True)]
    return {
        "prompt_id": [prompt_id(split, number) for split, number in keys],
        "split": [split for split, _ in keys],
        "prompt_sha256": [sha256(text.encode()).hexdigest() for text in rendered],
        "question": questions,
        "rendered": rendered,
        "token_ids": [[1, 2, 3]] * len(keys),
        "gold": ["7"] * len(keys),
        "template_sha256": [sha256(frame.encode()).hexdigest() for frame in frames],
    }


def prompt_id(split: str, number: int) -> str:
    """Return the id of a prompt, which is an evaluation item's id as well."""
    return f"{split}-{number:03d}"


def outcomes(arm: str, n: int = TEST_ITEMS, *, split: str = "test", checkpoint: str = "final", **extra: Any) -> Columns:
    """Return evaluation columns with 20 tokens of text an item, which no other arm writes."""
    ids = [prompt_id(split, number) for number in range(n)]
    columns = evals(right(n // 2, n), checkpoint=checkpoint, stop_reason="stop", n_tokens=6, error=None, gold="7")
    columns |= {"item_id": ids, "prompt_id": ids, "completion": [f"{arm} says of {item}: 7" for item in ids]}
    return columns | {name: value if isinstance(value, list) else [value] * n for name, value in extra.items()}


def batch(step: int, groups: int = 2, size: int = 2) -> Columns:
    """Return rollout columns of one batch: groups of one right and else wrong rollouts."""
    columns = rollouts(step, [1.0, *[0.0] * (size - 1)] * groups)
    places = [number // size for number in range(groups * size)]
    advantages = [1.0 - 1.0 / size, *[-1.0 / size] * (size - 1)] * groups
    ids = [prompt_id("train", (step * groups + group) % TRAIN_ITEMS) for group in places]
    return columns | {"group_id": places, "prompt_id": ids, "advantage": advantages, "n_tokens": [6] * len(places)}


def sent(plan: dict[str, Any], loss: str, step: int, **changes: Any) -> Columns:
    """Return update columns of one batch as the plan wants them, with some columns otherwise."""
    parsed = Plan.model_validate(plan)
    count, per_batch = parsed.rollout.updates_per_batch, parsed.rollout.groups_per_batch * parsed.rollout.group_size
    settings = {name: value for name, value in parsed.optimizer.model_dump().items() if name != "name"}
    constant = {
        "loss_id": loss, "loss_config": json.dumps(parsed.losses[loss].model_dump()), "base_model": parsed.base_model,
        "n_loss_tokens": 6 * per_batch // count, **settings,
    } | changes  # fmt: skip
    columns = updates(step, n=count)
    return columns | {name: [value] * count for name, value in constant.items()}


def write_executed(
    path: Path,
    plan: dict[str, Any] | None = None,
    *,
    kind: str = "full",
    steps: int | None = None,
    batch_of: Callable[[int], Columns] = batch,
    tokens_of: Callable[[str, int, int], Columns] | None = None,
    outcomes_of: Callable[..., Columns] = outcomes,
    executed: Mapping[str, Any] | None = None,
    prompt_columns: Columns | None = None,
    arms: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """Write a run of every arm of the plan, its prompts, and the base model's evaluation.

    Args:
        path: run directory to make.
        plan: default `small_plan()`.
        kind: pilot or full.
        steps: of each arm; default as planned.
        batch_of: rollout columns of a step.
        tokens_of: token columns of (arm, seed, step); default: none are logged.
        outcomes_of: evaluation columns of (arm, n, split=, checkpoint=).
        executed: blocks of `executed` in run.json that differ.
        prompt_columns: default `prompts()`.
        arms: fields of every arm's record.
        **changes: columns of the updates that differ from what the plan wants, in the treatment's arms.
    """
    plan = plan or small_plan()
    seal = sealed(plan)
    wanted = plan["activation_gate"]["pilot_steps"] if kind == "pilot" else plan["rollout"]["rollout_batches"]
    records = [record.model_copy(update=dict(arms or {})) for record in arms_of(plan)]
    manifest = Manifest(
        run_id=path.name, kind=kind, status="complete", arms=records, started_at=STARTED_AT, plan_sha256=seal.sha256,
        executed={**executed_by(plan, kind), **(executed or {})},
    )  # fmt: skip
    writer = RunWriter.create(path, manifest, seal)
    writer.write_prompts(prompt_columns or prompts())
    split, n = ("validation", VALIDATION_ITEMS) if kind == "pilot" else ("test", TEST_ITEMS)
    for record in records:
        odd = changes if record.role == "treatment" else {}
        for step in range(wanted if steps is None else steps):
            data = {"rollouts": batch_of(step), "updates": sent(plan, str(record.loss), step, **odd)}
            if tokens_of:
                data["tokens"] = tokens_of(record.arm, record.seed, step)
            writer.write_step(record.arm, record.seed, step, data)
        writer.write_evals(
            record.arm, record.seed, "final", outcomes_of(record.arm, n, split=split, checkpoint="final")
        )
    writer.write_evals("base", 0, "base", outcomes_of("base", n, split=split, checkpoint="base"))
    return path
