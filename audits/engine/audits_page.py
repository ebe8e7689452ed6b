"""The page of all audits, written from their declarations: `docs/audits.md`."""

import importlib
import inspect

from audits.engine.audit import Audit, audit_ids, load_audit

_HEAD = """# Integrity audits

`audit integrity RUN` asks of a run's logs what would make a reviewer throw the result out. Each audit is one file in
[`audits`](../audits) and one query in [`sql/audits`](../sql/audits) that returns the offending rows; what stands here
is what they declare. A row is a failure unless its column `severity` says `warn` or `inconclusive`. Evidence that was
never logged, or no row examined, is `inconclusive` and never a pass. `evidence/<id>.parquet` in the run keeps the first
1,000 offending rows, and the printed query gives all of them.

"""


def audits_page() -> str:
    """Return the page, one section an audit, sorted by id."""
    declared = [(audit_id, load_audit(audit_id)) for audit_id in audit_ids()]
    listed = "".join(f"- [`{audit_id}`](#{audit_id}): {audit.title}\n" for audit_id, audit in declared)
    return _HEAD + listed + "".join(_section(audit_id, audit) for audit_id, audit in declared)


def _section(audit_id: str, audit: Audit) -> str:
    documentation = inspect.cleandoc(importlib.import_module(f"audits.{audit_id}").__doc__ or "")
    needs = [*audit.requires, *(f"what Python derives as `derived_{name}`" for name in audit.derived)]
    rows = [
        ("holds when", audit.title),
        ("needs", ", ".join(needs)),
        ("examines", f"`{' '.join(audit.examines.split())}`"),
        ("to do", audit.mend),
    ]
    table = "".join(f"| {name} | {value.replace('|', chr(92) + '|')} |\n" for name, value in rows)
    return f"\n## {audit_id}\n\n{documentation}\n\n| | |\n|---|---|\n{table}"
