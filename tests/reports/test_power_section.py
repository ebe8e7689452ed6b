"""The power section: what could have been shown, and no power of what was observed."""

import math

import made_sections
import pytest

from analysis.paired.methods import load_method
from analysis.power_answer import Study
from analysis.power_study import Row, Setting
from reports.parts import ReportInputs
from reports.sections.power import build


def section(make, power):
    return build(ReportInputs(**make.page(power=power)))


def test_the_sentence_has_the_gap_at_the_observed_discordance(make):
    assert section(make, made_sections.power()).takeaway == (
        "With 1,319 items, paired_hoeffding validates a true difference of 9.83 pp with a probability of 80 %, against "
        "a margin of 1.00 pp, with 21.8 % of the items discordant; smaller ones are missed more often. Its interval "
        "then reaches 7.48 pp to each side."
    )


def test_where_no_difference_could_be_shown_it_says_so(make):
    study = Study(Setting(load_method("paired_hoeffding"), 20), [Row(0.5, 0.6, None)])
    told = section(make, made_sections.power(studies=(study,), observed=None)).takeaway
    assert told == (
        "With 20 items and 50.0 % of them discordant, this rule cannot validate any difference with 80 % probability: "
        "the arms can differ by at most 50.0 pp, and its interval alone reaches 60.0 pp to each side."
    )
    narrow = Study(Setting(load_method("paired_hoeffding"), 20), [Row(0.5, 0.4, None)])
    told = section(make, made_sections.power(studies=(narrow,), observed=None)).takeaway
    assert told.endswith("the arms can differ by at most 50.0 pp, and even that is shown less often.")


def test_every_discordance_has_its_row(make):
    (table,) = section(make, made_sections.power()).tables
    assert table.rows == (
        ("19.60 %", "7.48 pp", "9.78 pp"),
        ("21.76 %", "7.48 pp", "9.83 pp"),
        ("24.10 %", "7.48 pp", "9.87 pp"),
    )


def test_it_says_that_it_is_no_observed_power(make):
    assert any("no observed power is computed" in note for note in section(make, made_sections.power()).notes)


def test_several_rules_are_told_apart(make):
    rows = [Row(0.2, 0.1, 0.15)]
    studies = tuple(Study(Setting(load_method("paired_hoeffding"), n), rows, f"criteria[{n}]") for n in range(100, 110))
    built = section(make, made_sections.power(studies=studies))
    assert "With 100 items for criteria[100]" in built.takeaway
    assert len(built.tables) == 8
    assert any("8 of 10 rules are shown" in note for note in built.notes)


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ((), ""),
        (("runs/full: the scores are not right or wrong",), " The scores are not right or wrong."),
        (("runs/x: the scores are not right or wrong",), " runs/x: the scores are not right or wrong."),
    ],
)
def test_a_power_that_was_not_computed_has_its_reason_and_no_command_that_would_be_refused(make, notes, said):
    built = section(make, made_sections.power(studies=(), observed=None, notes=notes))
    assert built.takeaway == f"What difference this experiment could have shown was not computed.{said}"
    assert not built.tables
    assert not built.commands


def test_it_names_the_command_of_these_figures(make):
    (again,) = section(make, made_sections.power()).commands
    assert again.text == "audit power --run runs/full"


def test_numbers_that_are_none_are_words(make):
    study = Study(Setting(load_method("paired_hoeffding"), 20), [Row(0.5, math.nan, 0.1)])
    (table,) = section(make, made_sections.power(studies=(study,))).tables
    assert table.rows[0][1] == "no number"
