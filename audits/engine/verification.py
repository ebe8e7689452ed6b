"""`audit verify`: the run's files and its sealed plan are what was written."""

from audits.engine.check import Check, CheckReport, combine
from audits.store.manifest import manifest_fault
from audits.store.reader import Run
from audits.store.status import Status
from audits.store.verify import damaged_files, unlisted_files


def verify_run(run: Run) -> CheckReport:
    """Compare every data file with its manifest line, the plan with its seal and run.json with its own digest."""
    checks = (_manifest(run), _seal(run), _files(run), _unlisted(run))
    return CheckReport(str(run.path), combine(check.status for check in checks), checks, run.notes)


def _manifest(run: Run) -> Check:
    fault = manifest_fault(run.path)
    return Check(
        id="manifest",
        status="pass" if fault is None else "fail",
        value=run.manifest.content_sha256,
        limit=None,
        unit="sha256",
        definition="content_sha256@run.json",
        arm=None,
        rows_examined=1,
        reason=fault,
        measures="run.json is, byte for byte, what was written last; who rewrites it whole can write its digest too",
        mend="restore run.json from a copy" if fault else None,
    )


def _seal(run: Run) -> Check:
    sealed, recorded = run.sealed, run.manifest.plan_sha256
    status: Status = "fail"
    reason: str | None = None
    if sealed is None and recorded is None:
        status, reason = "not_applicable", "no plan is sealed in this run"
    elif sealed is None:
        reason = "run.json names a sealed plan, and plan.json is missing"
    elif sealed.sha256 != recorded:
        reason = f"plan.json has sha256 {sealed.sha256}, run.json was sealed with {recorded}"
    else:
        status = "pass"
    return Check(
        id="sealed_plan",
        status=status,
        value=sealed.sha256 if sealed is not None else None,
        limit=None,
        unit="sha256",
        definition="canonical_json_sha256@plan.json",
        arm=None,
        rows_examined=int(sealed is not None),
        reason=reason,
        measures="plan.json is the plan whose sha256 run.json has held since the run was made",
    )


def _files(run: Run) -> Check:
    faults = list(damaged_files(run))
    return Check(
        id="data_files",
        status="fail" if faults else "pass" if run.files else "inconclusive",
        value=float(len(faults)),
        limit=None,
        unit="damaged files",
        definition="size_sha256_rows_pages@files.jsonl",
        arm=None,
        rows_examined=len(run.files),
        denominator=len(run.files),
        reason=None if run.files and not faults else "; ".join(faults) or "no data file is listed",
        measures="every listed file has its size, sha256, rows and page checksums",
        mend="restore the named files from a copy, or run the experiment again" if faults else None,
    )


def _unlisted(run: Run) -> Check:
    found = unlisted_files(run)
    return Check(
        id="unlisted_files",
        status="warn" if found else "pass",
        value=float(len(found)),
        limit=None,
        unit="files",
        definition="parquet_files@run_directory",
        arm=None,
        rows_examined=len(run.files) + len(found),
        reason=f"no command reads them: {', '.join(found[:8])}" if found else None,
        measures="no Parquet file stands beside the listed ones",
    )
