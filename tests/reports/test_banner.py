"""The verdict card: the claim first, what speaks against it, and no command that the run would refuse."""

import dataclasses

import pytest

from analysis.paired.methods import load_method
from analysis.power_answer import PowerAnswer, Study
from analysis.power_study import Row, Setting
from audits.engine.check import StepValue
from reports.emitters.html import render_html
from reports.emitters.markdown import render_markdown
from reports.emitters.page_object import page_object
from reports.model import build_report
from reports.parts import ReportInputs
from reports.sections.verdict import claim_of


def section(model, name):
    return next(item for item in model.sections if item.id == name)


def banner_of(page):
    return section(build_report(ReportInputs(**page)), "verdict")


def test_the_claim_stands_in_the_banner_and_in_markdown(make):
    page = make.page(plan_summary={"hypothesis": "Masks beat\n clips <b>on</b> sums."})
    assert banner_of(page).claim == "Masks beat clips <b>on</b> sums."
    lines = render_markdown(build_report(ReportInputs(**page)), {}).splitlines()
    assert "**Claim:** Masks beat clips &lt;b&gt;on&lt;/b&gt; sums." in lines[:6]
    assert lines[0].startswith("## ")
    shown = render_html(build_report(ReportInputs(**page)))
    assert shown.index("Claim:</span> Masks beat clips &lt;b&gt;on&lt;/b&gt; sums.") < shown.index('class="sentence"')


def test_a_run_without_a_plan_has_no_claim(make):
    page = make.page(plan_summary={})
    assert banner_of(page).claim == ""
    assert "Claim:" not in render_html(build_report(ReportInputs(**page)))
    assert "Claim:" not in render_markdown(build_report(ReportInputs(**page)), {})


def test_a_long_claim_is_cut_at_a_sentence():
    assert claim_of(f"Masks win. Here is why: {'x' * 400}. More.") == "Masks win. …"
    assert claim_of("y" * 400).startswith("y" * 300)
    assert claim_of(f"It is {'3.5 ' * 60}at most. {'z' * 200}") == f"It is {'3.5 ' * 60}at most. …"


def _shares(value, fired, of, **changes):
    steps = tuple(StepValue("treatment", 0, s, 0.1 if s < fired else 0.0, 1.0, 9) for s in range(of))
    return {"value": value, "steps": steps, "over": "mean_of_steps", **changes}


def against_of(make, **changes):
    return banner_of(make.page(integrity=None, **changes)).against


def test_activity_far_from_the_gate_s_speaks_against_it(make):
    gate = make.gate(make.check(**_shares(0.0184, 4, 5)))
    full = make.gate(make.check(**_shares(0.0043, 7, 30)))
    assert against_of(make, gate=gate, gate_in_full=full) == (
        "dppo_masked_token_fraction is 0.43 % in this run's own log, against 1.84 % in the gate; it is above 0 in 7 of "
        "30 steps.",
    )
    near = make.gate(make.check(**_shares(0.0083, 30, 30)))
    assert against_of(make, gate=gate, gate_in_full=near) == ()
    on_few = make.gate(make.check(**_shares(0.0083, 7, 30, status="warn")))
    assert len(against_of(make, gate=gate, gate_in_full=on_few)) == 1
    assert against_of(make, gate=None, gate_in_full=full) == ()
    no_number = make.gate(make.check(**_shares(None, 0, 3, status="inconclusive")))
    assert against_of(make, gate=gate, gate_in_full=no_number) == ()


def test_warnings_of_integrity_speak_against_it_and_put_no_claim_in_question(make):
    warned = make.check(id="fair_tuning", status="warn", reason="1 offending row: 1 untuned rate")
    banner = banner_of(make.page(integrity=make.gate(warned, make.check(id="pairing"))))
    assert banner.against == ("1 integrity audit warns: fair_tuning (1 untuned rate).",)
    assert banner.takeaway == "The planned claim may be made."


@pytest.mark.parametrize(("verdict", "gap", "told"), [("inconclusive", None, 1), ("inconclusive", 0.1, 0),
                                                      ("validated", None, 0), ("void", None, 0)])  # fmt: skip
def test_a_rule_that_could_show_nothing_speaks_against_an_inconclusive_verdict_alone(make, verdict, gap, told):
    rows = [Row(share, 0.12, found) for share, found in ((0.0519, None), (0.101, gap))]
    study = Study(Setting(load_method("paired_hoeffding"), 475), rows)
    power = PowerAnswer((study,), None, ())
    found = against_of(make, decision=make.decision(verdict=verdict), power=power)
    said = "With 475 items the rule validates no true difference with 80 % probability where 5.2 to 10.1 % of them are"
    assert found == (f"{said} discordant.",)[:told]


def test_the_gravest_of_many_findings_come_first_and_five_are_shown(make):
    checks = [make.check(id=f"share_{n}", **_shares(0.5, 1, 2)) for n in range(9)]
    full = [make.check(id="late", status="fail"), *(dataclasses.replace(check, value=0.01) for check in checks)]
    integrity = make.gate(make.check(id="pairing", status="fail"), make.check(id="texts", status="warn"))
    found = banner_of(make.page(gate=make.gate(*checks), gate_in_full=make.gate(*full), integrity=integrity)).against
    assert [line.partition(":")[0].partition(" is ")[0] for line in found] == [
        "1 integrity audit fails", "1 check of the gate in this run's own log fails", "share_0", "share_1", "share_2",
    ]  # fmt: skip


def test_no_command_is_offered_that_the_run_would_refuse(make):
    page = make.page(decision=None, undecided="no treatment", plan_summary={}, gate=None)
    assert not banner_of(page).commands
    built = build_report(ReportInputs(**page))
    assert [item.text for item in section(built, "gate").commands] == ["audit gate runs/full --plan PLAN"]
    empty = make.gate()
    (offered,) = section(build_report(ReportInputs(**make.page(preflights=empty))), "preflight").commands
    assert offered.gives == "the preflights"


@pytest.mark.parametrize("redacted", [True, False])
def test_a_redacted_page_says_so_beneath_its_title(make, redacted):
    model = build_report(ReportInputs(**make.page(redacted=redacted)))
    for shown in (render_html(model).partition("<nav")[0], render_markdown(model, {}).partition("**Claim")[0]):
        assert ("Redacted: questions, answers and completions are left out." in shown) == redacted
    assert page_object(model)["redacted"] is redacted
