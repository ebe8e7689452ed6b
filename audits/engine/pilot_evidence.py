"""What the pilot of a run shows: the gate and the preflights that allow its full run."""

import dataclasses

from audits.engine.check import CheckReport
from audits.engine.executors import LOCAL, Engine
from audits.engine.gate import evaluate_gate
from audits.engine.preflights import preflight_report
from audits.engine.standing import linked_pilot, required_preflights, started_on
from audits.store.preflights import read_results
from audits.store.reader import Run


def pilot_of(run: Run) -> Run | None:
    """Return the pilot that speaks for a run: itself, or the one it is linked to; None where there is none.

    Raises:
        AuditError: the linked pilot is damaged.
    """
    if run.sealed is None:
        return None
    return run if run.manifest.kind == "pilot" else linked_pilot(run)[0]


def pilot_gate(run: Run, engine: Engine = LOCAL) -> CheckReport | None:
    """Return the gate that allows a run, recomputed from its pilot's logs; None where it has no pilot.

    Args:
        run: the run.
        engine: where the scans run.

    Raises:
        AuditError: a file of the pilot is damaged.
    """
    pilot = pilot_of(run)
    if pilot is None or run.sealed is None:
        return None
    return evaluate_gate(pilot, run.sealed.plan, engine=engine, today=started_on(run))


def pilot_preflights(run: Run) -> CheckReport | None:
    """Return the preflights beside a run's pilot, in brief, and which of them the plan requires; None without a pilot.

    Raises:
        AuditError: a result is not readable.
    """
    pilot = pilot_of(run)
    if pilot is None or run.sealed is None:
        return None
    required, results = required_preflights(run.sealed.plan), read_results(pilot.path)
    report = preflight_report(pilot.path, results.values(), brief=True)
    said = f"The plan requires {', '.join(required)}." if required else "The plan requires no preflight."
    other = [name for name, result in results.items() if result.plan_sha256 != run.sealed.sha256]
    absent = [f"No result of the {name} preflight is there." for name in required if name not in results]
    foreign = [f"The {name} preflight was made for another plan." for name in other]
    return dataclasses.replace(report, reasons=(said, *absent, *foreign))
