"""What the integrity audits tell a report: apart from the page's other sources, for a process that does only this."""

from typing import Any

from audits.engine.deviations import setting_differences
from audits.engine.integrity import integrity_report
from audits.engine.standing import started_on
from audits.store.reader import Run, connect


def integrity_inputs(run: Run) -> dict[str, Any]:
    """Return the fields of `reports.parts.ReportInputs` that the audits give; no chart of the page is of them.

    Raises:
        AuditError: a file of the run is damaged.
    """
    # One database, so that the settings are read from the logs once.
    with connect(run):
        integrity = integrity_report(run, today=started_on(run))
        return {"integrity": integrity, "settings": setting_differences(run, integrity)}
