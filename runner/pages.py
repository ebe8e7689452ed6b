"""Gathers what the report shows of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.errors import AuditError
from analysis.plan.model import Plan
from audits.engine.calibration import calibration
from audits.engine.check import CheckReport
from audits.engine.comparison import executed_differences, item_changes, planned_differences
from audits.engine.cost import cost_of
from audits.engine.critic import critic_report
from audits.engine.curve import validation_curve
from audits.engine.decide import decide
from audits.engine.deviations import deviations
from audits.engine.disagreements import disagreements
from audits.engine.drift import drift_by_step, rounding_of
from audits.engine.executors import LOCAL, Engine
from audits.engine.gate import evaluate_gate
from audits.engine.mask_curve import mask_curves
from audits.engine.pilot_evidence import pilot_gate, pilot_preflights
from audits.engine.standing import started_on
from audits.engine.training import training_steps
from audits.store.looks import read_looks
from audits.store.reader import Run, connect
from runner.integrity_inputs import integrity_inputs
from runner.power_question import Options, ask

if TYPE_CHECKING:
    from analysis.power_answer import PowerAnswer
    from audits.engine.decision import DecisionReport
    from reports.model import ReportModel
    from reports.parts import ComparisonInputs, ReportInputs

SHOWN_FILES = 20


def build_page(run: Run) -> "ReportModel":
    """Return the report of a run.

    Raises:
        AuditError: see `report_inputs`.
    """
    from reports.model import build_report

    return build_report(report_inputs(run))


def report_inputs(run: Run, *, redact: bool = False) -> "ReportInputs":
    """Return what the report of a run is made from: decision, gate of its pilot, drift, provenance, looks and more.

    Args:
        run: the run.
        redact: leave out questions, gold answers, completions and what was extracted from them.

    Raises:
        AuditError: the run has neither an evaluation nor a log, or a file is damaged.
    """
    with connect(run):
        integrity = integrity_inputs(run)
        return replace(inputs_but_integrity(run, redact=redact), **integrity)


def inputs_but_integrity(run: Run, *, redact: bool = False) -> "ReportInputs":
    """Return what `report_inputs` does without the integrity audits, which take as long as all the rest.

    Raises:
        AuditError: see `report_inputs`.
    """
    from reports.parts import ReportInputs

    # One database for all queries and one for all scans: their tables are set up, and derived, once.
    with connect(run), LOCAL.kept_open() as engine:
        plan = run.sealed.plan if run.sealed is not None else None
        gate = pilot_gate(run, engine)
        decision, undecided = _decided(run, gate)
        drift = drift_by_step(run, plan, engine)
        return ReportInputs(
            run=str(run.path),
            title=plan.title if plan is not None else run.path.name,
            decision=decision,
            undecided=undecided,
            gate=gate,
            gate_in_full=_gate_in_full(run, gate, engine),
            drift=drift,
            provenance=_provenance(run),
            looks=read_looks(run.path),
            plan_summary=_plan_summary(plan) if plan is not None else {},
            curve=validation_curve(run),
            preflights=pilot_preflights(run),
            power=_power(run),
            disagreements=disagreements(run, texts=not redact),
            cost=cost_of(run),
            deviations=deviations(run),
            redacted=redact,
            training=training_steps(run),
            mask_curves=mask_curves(run, plan, engine),
            calibration=calibration(run),
            critic=critic_report(run),
            rounding=rounding_of(run, plan, drift),
        )


def comparison_inputs(first: Run, second: Run, *, redact: bool = False) -> "ComparisonInputs":
    """Return what a page that compares two runs is made from.

    Raises:
        AuditError: see `report_inputs`.
    """
    from reports.parts import ComparisonInputs

    return ComparisonInputs(
        first=report_inputs(first, redact=redact),
        second=report_inputs(second, redact=redact),
        plan_sha256=(_plan_sha256(first), _plan_sha256(second)),
        planned=planned_differences(first, second),
        executed=executed_differences(first, second),
        items=item_changes(first, second),
    )


def _plan_sha256(run: Run) -> str | None:
    return None if run.sealed is None else run.sealed.sha256


def _decided(run: Run, gate: CheckReport | None) -> "tuple[DecisionReport | None, str | None]":
    """Return the decision or why there is none: a run that was interrupted has a page all the same."""
    if not run.has("evals"):
        return None, None
    try:
        return decide(run, gate=gate), None
    except AuditError as error:
        return None, error.message


def _power(run: Run) -> "PowerAnswer | None":
    """What the rule could show with these items; where no item tells a rule's power, a note says why."""
    from analysis.power_answer import PowerAnswer

    if not run.has("evals"):
        return None
    try:
        return ask(Options(), None, run)
    except AuditError as error:
        return PowerAnswer((), None, (error.message,))


def _gate_in_full(run: Run, gate: CheckReport | None, engine: Engine) -> CheckReport | None:
    """What the gate's figures became in the full run: they decide nothing there, and a reader should know them."""
    if gate is None or run.sealed is None or run.manifest.kind == "pilot" or gate.status == "not_applicable":
        return None
    return evaluate_gate(run, run.sealed.plan, engine=engine, today=started_on(run))


def _provenance(run: Run) -> dict[str, str]:
    manifest = run.manifest
    facts = {
        "run id": manifest.run_id,
        "kind": manifest.kind,
        "status": manifest.status,
        "started (local clock, UTC)": manifest.started_at,
        "finished (local clock, UTC)": manifest.finished_at or "not finished",
        "plan sha256": manifest.plan_sha256 or "no sealed plan",
        "command": " ".join(manifest.command_line),
    }
    if manifest.resumed:
        times = ", ".join(str(attempt.get("at", "unknown")) for attempt in manifest.resumed)
        facts["interrupted and resumed"] = f"{len(manifest.resumed)} times: {times}"
    if manifest.service_faults:
        facts["service faults borne"] = str(manifest.service_faults)
    if manifest.pilot is not None:
        facts["pilot"] = f"{manifest.pilot.path}, run id {manifest.pilot.run_id}, gate {manifest.pilot.status}"
        facts["gate sha256"] = manifest.pilot.gate_sha256
    facts |= {f"git {key}": str(value) for key, value in manifest.git.items() if value is not None}
    facts |= {f"backend {key}": str(value) for key, value in manifest.backend.items()}
    facts |= {name: value for key, entry in manifest.source.items() for name, value in _source(key, entry)}
    versions = dict(manifest.versions)
    if (source := versions.pop("source_sha256", None)) is not None:
        facts["sha256 of runaudit's source"] = source
    facts |= {f"version of {name}": version for name, version in sorted(versions.items())}
    return facts


def _source(key: str, entry: object) -> Iterator[tuple[str, str]]:
    """Yield what is shown of one entry of a manifest's `source`: each file apart, other lists as sentences."""
    if not isinstance(entry, list):
        yield f"source {key}", str(entry)
        return
    files = [item for item in entry if _is_file(item)]
    for number, file in enumerate(files[:SHOWN_FILES], 1):
        yield f"source file {number}", f"{file['name']}, {file['bytes']:,} bytes, sha256 {file['sha256']}"
    if len(files) > SHOWN_FILES:
        yield "further source files", f"{len(files) - SHOWN_FILES:,}, listed in run.json"
    if others := [str(item) for item in entry if item not in files]:
        yield f"source {key}", "; ".join(others)


def _is_file(item: object) -> bool:
    return isinstance(item, dict) and {"name", "sha256"} <= item.keys() and isinstance(item.get("bytes"), int)


def _plan_summary(plan: Plan) -> Mapping[str, str]:
    rollout, optimizer = plan.rollout, plan.optimizer
    temperature = plan.evaluation.temperature
    return {
        "hypothesis": plan.hypothesis,
        "base model": plan.base_model,
        "task": plan.task.id,
        "batch": f"{rollout.groups_per_batch} groups of {rollout.group_size}, temperature {rollout.temperature:g}, "
        f"at most {rollout.max_tokens} tokens",
        "training": f"{rollout.rollout_batches} batches, {rollout.updates_per_batch} updates each, "
        f"LoRA rank {plan.lora_rank}",
        "optimiser": f"AdamW, learning rate {optimizer.learning_rate:g}, beta {optimizer.beta1:g} and "
        f"{optimizer.beta2:g}, eps {optimizer.eps:g}, weight decay {optimizer.weight_decay:g}",
        "decoding": "greedy decoding" if temperature == 0 else f"sampling at temperature {temperature:g}",
        "primary endpoint": plan.primary_endpoint,
    }
