"""Builds small runs whose every number is known, through the store's own writer."""

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from audits.engine.gate import evaluate_gate
from audits.engine.standing import gate_sha256
from audits.store.manifest import ArmRecord, Manifest, PilotLink
from audits.store.reader import open_run
from audits.store.seal import SealedPlan, seal_text
from audits.store.writer import RunWriter

SHIPPED_PLAN = Path(__file__).parent.parent / "runner" / "loop" / "plans" / "demo.json"
BASE_MODEL = "tiny-addition"
STARTED_AT = "2026-01-02T03:04:05.000006+00:00"

Columns = dict[str, list[Any]]
TokensOf = Callable[[str, int, int], Columns]
Scores = Mapping[str, Sequence[float | None]]


def made_plan(**changes: Any) -> dict[str, Any]:
    """Return the shipped demo plan with 2 pilot steps, 3 full steps and 20 items; `a__b=x` sets plan["a"]["b"]."""
    plan: dict[str, Any] = json.loads(SHIPPED_PLAN.read_text(encoding="utf-8"))
    small = {"activation_gate__pilot_steps": 2, "rollout__rollout_batches": 3, "task__test_items": 20}
    for path, value in (small | changes).items():
        *blocks, key = path.split("__")
        block = plan
        for name in blocks:
            block = block[name]
        block[key] = value
    return plan


def gate_check(plan: dict[str, Any], metric: str) -> dict[str, Any]:
    """Return the plan's check of this metric, to be changed in place."""
    (check,) = (check for check in plan["activation_gate"]["checks"] if check["metric"] == metric)
    return check


def sealed(plan: dict[str, Any]) -> SealedPlan:
    """Seal a plan."""
    return seal_text(json.dumps(plan), source="made plan")


def arms_of(plan: dict[str, Any]) -> list[ArmRecord]:
    """Return the arms of a plan as a run records them."""
    return [
        ArmRecord(arm=arm["condition"], seed=arm["seed"], role=arm["role"], name=arm["name"], loss=arm["loss"])
        for arm in plan["arms"]
    ]


def tokens(rows: Sequence[tuple[int, float, float, float]], step: int = 0) -> Columns:
    """Return token columns from rows of (update, sampler_logprob, current_logprob, advantage)."""
    return {
        "step": [step] * len(rows),
        "update": [row[0] for row in rows],
        "rollout_id": list(range(len(rows))),
        "position": [0] * len(rows),
        "token_id": [7] * len(rows),
        "sampler_logprob": [row[1] for row in rows],
        "current_logprob": [row[2] for row in rows],
        "advantage": [row[3] for row in rows],
    }


def active_tokens(arm: str, seed: int, step: int) -> Columns:
    """Return 40 tokens an update that pass the shipped gate: on the second update 4 are masked and 8 drift."""
    first = [(0, -0.5, -0.501, 1.0 if number % 2 else -1.0) for number in range(40)]
    calm = [(1, -0.5, -0.52, 1.0 if number % 2 else -1.0) for number in range(32)]
    pushed = [(1, -0.5, -0.2, 1.0)] * 4  # p from .607 to .819: beyond delta .15 and beyond eps .2
    harmless = [(1, -0.5, -0.2, -1.0)] * 4  # as far, but back towards the sampler: never masked
    return tokens([*first, *calm, *pushed, *harmless], step)


def updates(step: int, *, n: int = 2, base_model: str = BASE_MODEL) -> Columns:
    """Return update columns: n optimiser steps of one rollout batch."""
    constant = {
        "loss_id": "dppo", "loss_config": "{}", "loss": -1.0, "n_loss_tokens": 40, "learning_rate": 3e-4, "beta1": 0.9,
        "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.0, "grad_clip_norm": 0.0, "base_model": base_model,
    }  # fmt: skip
    return {
        "step": [step] * n,
        "update": list(range(n)),
        "optim_step": [step * n + number + 1 for number in range(n)],
        **{name: [value] * n for name, value in constant.items()},
    }


def rollouts(step: int, rewards: Sequence[float] = (0.0, 1.0)) -> Columns:
    """Return rollout columns: one group of the given rewards."""
    n, mean = len(rewards), sum(rewards) / len(rewards)
    return {
        "step": [step] * n,
        "rollout_id": list(range(n)),
        "group_id": [0] * n,
        "prompt_id": ["p0"] * n,
        "reward": list(rewards),
        "advantage": [reward - mean for reward in rewards],
        "n_tokens": [1] * n,
        "stop_reason": ["stop"] * n,
    }


def phases(step: int) -> Columns:
    """Return phase columns: one phase of a step, at a fixed time."""
    when = datetime.datetime(2026, 1, 2, 3, 4, step, tzinfo=datetime.UTC)
    return {"step": [step], "phase": ["train"], "started_at": [when], "seconds": [1.5]}


def evals(scores: Sequence[float | None], *, checkpoint: str = "final", sample: int = 0, **extra: Any) -> Columns:
    """Return evaluation columns: item i is `item-iii`."""
    n = len(scores)
    columns: Columns = {
        "checkpoint": [checkpoint] * n,
        "item_id": [f"item-{number:03d}" for number in range(n)],
        "sample": [sample] * n,
        "score": list(scores),
    }
    return columns | {name: value if isinstance(value, list) else [value] * n for name, value in extra.items()}


def right(n_right: int, n: int = 20) -> list[float]:
    """Return n scores of which the first n_right are 1."""
    return [1.0] * n_right + [0.0] * (n - n_right)


def write_run(
    path: Path,
    plan: dict[str, Any] | None = None,
    *,
    kind: str = "pilot",
    steps: int | None = None,
    tokens_of: TokensOf | None = active_tokens,
    updates_of: Callable[[str, int, int], Columns] = lambda arm, seed, step: updates(step),
    rollouts_of: Callable[[str, int, int], Columns] = lambda arm, seed, step: rollouts(step),
    scores: Scores | None = None,
    pilot: PilotLink | None = None,
    status: str = "complete",
    plan_sha256: str | None = None,
    run_id: str | None = None,
) -> Path:
    """Write a run of every arm of the plan.

    Args:
        path: run directory to make.
        plan: default `made_plan()`.
        kind: pilot or full.
        steps: default as many as the plan wants.
        tokens_of: token columns of (arm, seed, step); None logs no tokens and no step tables at all.
        updates_of: update columns of (arm, seed, step).
        rollouts_of: rollout columns of (arm, seed, step).
        scores: final scores by arm, the same for each of its seeds; None writes no evaluation.
        pilot: link to the pilot.
        status: of run.json.
        plan_sha256: of run.json; default the sealed plan's.
        run_id: default the path's name.
    """
    plan = plan or made_plan()
    seal = sealed(plan)
    wanted = plan["activation_gate"]["pilot_steps"] if kind == "pilot" else plan["rollout"]["rollout_batches"]
    manifest = Manifest(
        run_id=run_id or path.name, kind=kind, status=status, arms=arms_of(plan), started_at=STARTED_AT,
        plan_sha256=plan_sha256 or seal.sha256, pilot=pilot,
    )  # fmt: skip
    writer = RunWriter.create(path, manifest, seal)
    for record in arms_of(plan):
        for step in range(wanted if steps is None else steps) if tokens_of else ():
            data = {
                "tokens": tokens_of(record.arm, record.seed, step),
                "rollouts": rollouts_of(record.arm, record.seed, step),
                "updates": updates_of(record.arm, record.seed, step),
                "phases": phases(step),
            }
            writer.write_step(record.arm, record.seed, step, data)
        if scores is not None:
            writer.write_evals(record.arm, record.seed, "final", evals(scores[record.arm]))
    return path


def linked(pilot: Path, full: Path) -> PilotLink:
    """Return the link of a full run to its pilot, as it stands on the day the made runs start."""
    run = open_run(pilot)
    assert run.sealed is not None
    gate = evaluate_gate(run, run.sealed.plan, today=datetime.date.fromisoformat(STARTED_AT[:10]))
    relative = Path("..") / pilot.relative_to(full.parent)
    return PilotLink(
        run_id=run.manifest.run_id, path=relative.as_posix(), gate_sha256=gate_sha256(gate), status=gate.status
    )


def write_experiment(folder: Path, plan: dict[str, Any] | None = None, **full: Any) -> Path:
    """Write a passed pilot and a full run linked to it; return the full run."""
    plan = plan or made_plan()
    pilot = write_run(folder / "pilot", plan)
    full.setdefault("scores", {"grpo": right(0), "dppo": right(20)})
    return write_run(folder / "full", plan, kind="full", pilot=linked(pilot, folder / "full"), **full)


def write_outcomes(
    path: Path, arms: Mapping[str, Sequence[Columns]], *, roles: Mapping[str, str] | None = None
) -> Path:
    """Write imported outcomes: for each arm one table of evaluations a seed."""
    roles = roles or {name: name if name in {"baseline", "treatment"} else "other" for name in arms}
    records = [
        ArmRecord(arm=name, seed=seed, role=roles[name], name=name)
        for name, by_seed in arms.items()
        for seed in range(len(by_seed))
    ]
    manifest = Manifest(run_id=path.name, kind="imported", status="complete", arms=records, started_at=STARTED_AT)
    writer = RunWriter.create(path, manifest, None)
    for name, by_seed in arms.items():
        for seed, columns in enumerate(by_seed):
            writer.write_evals(name, seed, next(iter(columns["checkpoint"]), "final"), columns)
    return path


def change_json(path: Path, **changes: Any) -> None:
    """Change keys of a JSON file in place; `a__b=x` sets data["a"]["b"]."""
    data = json.loads(path.read_text(encoding="utf-8"))
    for keys, value in changes.items():
        *blocks, key = keys.split("__")
        block = data
        for name in blocks:
            block = block[name]
        block[key] = value
    path.write_text(json.dumps(data), encoding="utf-8")


def relist(run: Path) -> None:
    """Make files.jsonl agree with what stands on the disk, so that only the content of a file is at fault."""
    import pyarrow.parquet as pq

    lines = []
    for line in (run / "files.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        content = (run / record["path"]).read_bytes()
        rows = pq.ParquetFile(run / record["path"]).metadata.num_rows
        lines.append(record | {"rows": rows, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "files.jsonl").write_text(text, encoding="utf-8")


def rewrite(run: Path, relative: str, change: Callable[[Any], Any]) -> Path:
    """Replace one Parquet file by change(its Arrow table), and list it as it is."""
    import pyarrow.parquet as pq

    path = run / relative
    with pq.ParquetFile(path) as parquet:
        table = parquet.read()
    pq.write_table(change(table), path)
    relist(run)
    return path
