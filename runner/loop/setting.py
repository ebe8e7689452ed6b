"""What all arms of an experiment share, and what they tell while they run."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analysis.plan.model import Curve, Plan
from audits.engine.gate import planned_steps
from audits.store.layout import partition_folder
from audits.store.writer import RunWriter
from runner.loop.backend import Backend
from runner.loop.budget import BudgetClock, Pace
from runner.loop.dataset_rows import source_of
from runner.loop.faults import ServiceFault, Trials
from runner.loop.journal import Journal
from runner.loop.options import RunOptions
from runner.loop.progress import Progress, StepReport
from runner.loop.prompts import Prompt, PromptRenderer
from runner.loop.stopping import Stop
from runner.loop.task import Split, TaskModule

Kind = Literal["pilot", "full"]


@dataclass(frozen=True)
class Conduct:
    """How an attempt at a run is carried out and told of: what it shares with the attempts before and after."""

    writer: RunWriter
    progress: Progress
    journal: Journal
    budget: BudgetClock
    options: RunOptions = dataclasses.field(default_factory=RunOptions)
    stop: Stop = dataclasses.field(default_factory=Stop)
    pace: Pace = dataclasses.field(default_factory=Pace)

    def note(self, text: str) -> None:
        """Tell the person who watches."""
        self.progress.note(text)

    def note_step(self, report: StepReport) -> None:
        """Tell of a finished step."""
        self.journal.write("step", **vars(report))
        self.progress.step(report)

    def note_executed(self, key: str, entry: Mapping[str, Any], identity: Sequence[str]) -> None:
        """Add an entry to a list under `executed` in `run.json`; one of the same identity gives way to it."""

        def changed(manifest: Any) -> dict[str, Any]:
            same = [entry[name] for name in identity]
            others = [old for old in manifest.executed.get(key, []) if [old.get(name) for name in identity] != same]
            return {"executed": {**manifest.executed, key: [*others, dict(entry)]}}

        self.writer.change_manifest(changed)

    def persistently(self, who: str, backend: Backend, work: Callable[[Backend, Trials], None]) -> None:
        """Do work that can be begun again, until it is done or the patience with the service's faults is at its end.

        Args:
            who: an arm's name, or what else is at work.
            backend: the session of the first trial; each later trial opens its own.
            work: gets the session, and the count of faults, which it clears whenever it gets on.

        Raises:
            AuditError: the service refused, or its faults did not pass.
            Stopped: the run was asked to stop.
        """
        trials = Trials(self.options.patience, self.stop, lambda *facts: self._note_fault(who, *facts))
        session: Backend | None = backend
        while True:
            try:
                session = session or backend.reconnected()
                work(session, trials)
                return
            except ServiceFault as fault:
                session = None
                trials.bear(fault)

    def _note_fault(self, who: str, fault: ServiceFault, faults: int, pause: float) -> None:
        self.writer.change_manifest(lambda manifest: {"service_faults": manifest.service_faults + 1})
        self.journal.write("fault", who=who, message=fault.message, faults=faults, pause=pause)
        self.note(f"{who}: {fault.message} (fault {faults}; next try in {pause:.0f} s)" if pause else fault.message)


@dataclass(frozen=True)
class Experiment:
    """What all arms share: plan, task, prompts, service and where the log goes.

    Attributes:
        kind: a pilot runs the gate's steps and is evaluated on validation items; a full run all, on test items.
        prompts: of all splits.
    """

    kind: Kind
    plan: Plan
    task: TaskModule
    backend: Backend
    conduct: Conduct
    renderer: PromptRenderer
    prompts: Sequence[Prompt]

    @property
    def writer(self) -> RunWriter:
        """Where the log goes."""
        return self.conduct.writer

    @property
    def steps(self) -> int:
        """Rollout steps of each arm."""
        return planned_steps(self.kind, self.plan)

    @property
    def items(self) -> list[Prompt]:
        """The prompts that checkpoints are evaluated on."""
        return self.split(evaluation_split(self.kind))

    @property
    def curve(self) -> Curve | None:
        """What is evaluated while a full run trains; a pilot has no curve."""
        return self.plan.evaluation.curve if self.kind == "full" else None

    @property
    def curve_items(self) -> list[Prompt]:
        """The validation prompts of each point of the curve."""
        return self.split("validation")[: self.curve.items] if self.curve else []

    def split(self, split: Split) -> list[Prompt]:
        """Return the prompts of one split."""
        return [prompt for prompt in self.prompts if prompt.problem.split == split]


def evaluation_split(kind: Kind) -> Split:
    """Return the split that checkpoints are evaluated on: a pilot never sees the primary endpoint's items."""
    return "validation" if kind == "pilot" else "test"


def settings_that_run(kind: Kind, plan: Plan) -> dict[str, Any]:
    """Return `executed` of `run.json`: what the loop reads; the service's reports are added to it as they come."""
    losses = {arm.loss for arm in plan.arms}
    return {
        "steps": planned_steps(kind, plan),
        "lora_rank": plan.lora_rank,
        "task": plan.task.model_dump(),
        "dataset": None
        if plan.dataset is None
        else {**plan.dataset.model_dump(), "read_from": source_of(plan.dataset)},
        "rollout": plan.rollout.model_dump(),
        "optimizer": plan.optimizer.model_dump(),
        "losses": {name: loss.model_dump() for name, loss in plan.losses.items() if name in losses},
        "minibatch_split": "whole groups, consecutive",
        "advantage": _advantage(plan),
        "evaluation": {**plan.evaluation.model_dump(), "split": evaluation_split(kind)},
    }


def _advantage(plan: Plan) -> str | dict[str, str]:
    """Return where advantages come from, by condition where this differs."""
    group = "reward minus the group's mean reward"
    found = {}
    for arm in plan.arms:
        if arm.advantage is not None:
            found[arm.condition] = f"generalised advantage estimation, advantages.{arm.advantage}"
        elif plan.losses[arm.loss].kind == "preference":
            found[arm.condition] = "none: pairs of a better and a worse completion"
        else:
            found[arm.condition] = group
    return found if len(set(found.values())) > 1 else next(iter(found.values()))


def is_evaluated(writer: RunWriter, arm: str, seed: int, checkpoint: str) -> bool:
    """Return whether the outcomes of a checkpoint are logged whole."""
    path = f"{partition_folder('evals', arm, seed)}/checkpoint={checkpoint}.parquet"
    return any(record.path == path for record in writer.files())
