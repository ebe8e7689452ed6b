"""The integrity section: findings before what passed, and a query for each."""

import dataclasses

from reports.emitters.html import render_html
from reports.model import build_report
from reports.parts import ReportInputs


def section(page):
    return next(item for item in build_report(ReportInputs(**page)).sections if item.id == "integrity")


def test_findings_come_first_and_what_passed_keeps_what_it_measured(make):
    built = section(make.page())
    findings, clean = built.tables
    assert [row[:4] for row in findings.rows] == [("truncation", "✕ fail", "3", "2,638")]
    assert "To do: raise evaluation.max_tokens" in findings.rows[0][-1]
    assert [row[:4] for row in clean.rows] == [("pairing", "✓ pass", "0", "2,638")]
    assert "2 arms" in clean.rows[0][-1]
    assert clean.folded
    assert not findings.folded


def test_the_sentence_counts_and_names_what_speaks_against_the_measurement(make):
    assert section(make.page()).takeaway == "2 audits of the logs: 1 fail, 1 pass. Against the measurement: truncation."


def test_each_finding_has_the_query_that_lists_its_rows(make):
    again, finding = section(make.page()).commands
    assert again.text == "audit integrity runs/full"
    assert finding.text == "audit integrity runs/full --rows truncation"


def test_a_clean_run_shows_what_was_looked_at(make):
    report = make.page()["integrity"]
    clean = dataclasses.replace(report, status="pass", checks=report.checks[1:])
    built = section(make.page(integrity=clean))
    assert built.takeaway == "1 audit of the logs: 1 pass."
    assert not built.tables[0].folded


def test_without_an_audit_it_says_that_this_is_no_pass(make):
    assert "nothing here shows" in section(make.page(integrity=None)).takeaway
    report = dataclasses.replace(make.page()["integrity"], checks=())
    assert "not a pass" in section(make.page(integrity=report)).takeaway


def test_findings_without_limit_leave_a_note_of_the_queries_left_out(make):
    report = make.page()["integrity"]
    many = dataclasses.replace(report, checks=report.checks[:1] * 20)
    built = section(make.page(integrity=many))
    assert len(built.commands) == 13
    assert "8 more findings" in built.notes[0]


def test_a_status_has_its_colour_beside_its_sign(make):
    page = render_html(build_report(ReportInputs(**make.page())))
    cells = page[page.index('<section id="integrity"') :]
    assert '<td class="status fail">✕\N{NO-BREAK SPACE}fail</td>' in cells
    assert '<td class="status pass">✓\N{NO-BREAK SPACE}pass</td>' in cells
