"""The whole story on one small model: pilot, gate, full run, decision, report."""

import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import AuditError
from audits.engine.decide import decide
from audits.engine.decision import DecisionReport
from audits.engine.gate import evaluate_gate
from audits.store.durable import write_whole
from audits.store.manifest import read_manifest
from audits.store.reader import open_run
from audits.store.seal import SealedPlan
from reports.emitters.emit import emit_checks, emit_decision
from runner.loop.backend import EMBEDDED, Backend, open_backend
from runner.loop.launch import execute_on, prepare
from runner.loop.progress import Progress

MEANINGS = {
    "validated": "The interval lies above the margin: the plan's claim may be made, for these checkpoints and this "
    "kind of item.",
    "refuted": "The interval lies below the floor: the treatment is worse here, and the plan says so in public.",
    "tie": "The interval lies inside the band: the plan calls the arms equal.",
    "inconclusive": "The interval still holds values on both sides of the margin: by this rule, with this many items, "
    "the treatment may be better or worse, so no claim is made. A gap smaller than half the interval's width could not "
    "have been seen. `audit power` says before a run which gap a rule can see, `audit methods` which rules there are.",
    "void": "A rule of the plan was broken, so the numbers decide nothing. The reasons stand above.",
}


@dataclass(frozen=True)
class Places:
    """Where the demo writes; `pilot` and `full` are its two runs."""

    out: Path

    @property
    def pilot(self) -> Path:
        """The pilot's run directory."""
        return self.out / "pilot"

    @property
    def full(self) -> Path:
        """The full run's directory."""
        return self.out / "full"

    @property
    def state(self) -> Path:
        """The service's checkpoints and log."""
        return self.out / "demo-state"


def run_demonstration(
    sealed: SealedPlan,
    out: Path,
    say: Callable[[str], None],
    progress: Progress,
    record: Callable[..., DecisionReport],
    write_report: Callable[[Path], str],
) -> None:
    """Run a plan from pilot to report.

    Args:
        sealed: the demo's plan.
        out: folder for the runs.
        say: prints one paragraph.
        progress: shows how far the experiments are.
        record: records the look at the outcomes (`runner.looks.record`).
        write_report: returns the HTML page of a run.

    Raises:
        AuditError: a directory that the demo did not make is in its way, or the service fails.
    """
    places = Places(out)
    _clear(places)
    say(f"{sealed.plan.title}\n{sealed.plan.hypothesis}\nSealed before the first token: sha256 {sealed.sha256}")
    with open_backend(EMBEDDED, places.state) as backend:
        if _pilot_allows(sealed, places, backend, say, progress):
            say(_heading("3. Full run: both arms, then the test items"))
            launch = prepare(sealed, "full", places.full, places.pilot, progress)
            execute_on(launch, nullcontext(backend), progress)
            progress.close()
            _decide(places, say, record)
            write_whole(places.full / "report.html", write_report(places.full).encode("utf-8"))
            say(_where(places))


def _pilot_allows(
    sealed: SealedPlan, places: Places, backend: Backend, say: Callable[[str], None], progress: Progress
) -> bool:
    steps = sealed.plan.activation_gate.pilot_steps
    say(_heading(f"1. Pilot: {steps} steps of each arm, evaluated on validation items"))
    execute_on(prepare(sealed, "pilot", places.pilot, None, progress), nullcontext(backend), progress)
    progress.close()
    say(_heading("2. Activation gate: was the treatment really active?"))
    gate = evaluate_gate(open_run(places.pilot), sealed.plan)
    emit_checks(gate, "table", sys.stdout, command="gate")
    if gate.exit_code == 0:
        return True
    say(
        "The gate did not pass on this machine, so the plan forbids the full run: a comparison in which the treatment "
        "was hardly active would mean nothing. That refusal is what the gate is for.\n"
        f"Look closer: audit gate {places.pilot}"
    )
    return False


def _decide(places: Places, say: Callable[[str], None], record: Callable[..., DecisionReport]) -> None:
    say(_heading("4. Decision: may the plan's claim be made?"))
    run = open_run(places.full)
    report = record(run, decide(run))
    emit_decision(report, "table", sys.stdout)
    say(f"\nIn plain words: {MEANINGS.get(report.verdict, 'see above.')}")


def _where(places: Places) -> str:
    return "\n".join(
        [
            _heading("5. Where everything is"),
            f"report       {places.full / 'report.html'}",
            f"full run     {places.full}",
            f"pilot        {places.pilot}",
            f"service log  {places.state / 'service.log'}",
            "",
            "Next:",
            f"  audit gate {places.pilot}",
            f"  audit decide {places.full} --format json",
            f'  audit sql {places.full} "SELECT arm, avg(reward) FROM rollouts GROUP BY arm"',
        ]
    )


def _heading(text: str) -> str:
    return f"\n{text}\n{'-' * len(text)}"


def _clear(places: Places) -> None:
    """Remove runs that an earlier demo made, and refuse to touch anything else."""
    if places.out.exists() and not places.out.is_dir():
        raise AuditError(f"{places.out}: is a file; choose a folder for the demo's runs with --out")
    made = [run for run in (places.pilot, places.full) if run.exists() and any(run.iterdir())]
    for run in made:
        _check_ours(run)
    for run in made:
        shutil.rmtree(run)
    if made:
        shutil.rmtree(places.state, ignore_errors=True)


def _check_ours(run: Path) -> None:
    try:
        manifest = read_manifest(run)
    except AuditError:
        manifest = None
    if manifest is None or manifest.command_line[1:2] != ["demo"]:
        raise AuditError(
            f"{run}: exists and was not made by this demo, so it is left alone. Choose another --out, or move it away"
        )
