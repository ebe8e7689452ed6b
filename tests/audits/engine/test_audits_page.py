"""docs/audits.md is what the audits declare: `RUNAUDIT_WRITE=1 pytest` on this file writes it."""

import os
from pathlib import Path

from audits.engine.audit import audit_ids, load_audit
from audits.engine.audits_page import audits_page

PAGE = Path(__file__).parents[3] / "docs" / "audits.md"


def test_the_page_is_what_the_audits_declare():
    if os.environ.get("RUNAUDIT_WRITE"):
        PAGE.write_text(audits_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == audits_page()


def test_every_audit_has_its_section_with_what_to_do():
    page = audits_page()
    for audit_id in audit_ids():
        section = page.split(f"\n## {audit_id}\n")[1].split("\n## ")[0]
        assert load_audit(audit_id).title in section
        assert load_audit(audit_id).mend in section
