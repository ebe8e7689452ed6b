"""Every sentence of a page is true of its data, for each verdict and for data that are no data."""

import dataclasses
import math
import random

import pytest

from reports.display import beside, block, command, decimals, number, signed, text
from reports.emitters.markdown import render_markdown
from reports.model import build_report
from reports.parts import ReportInputs
from reports.sections.gate import value_text
from reports.series import Series, describe, thin
from reports.verdicts import position


def texts(model):
    """All strings of a model, wherever they stand."""

    def walk(value):
        if isinstance(value, str):
            yield value
        elif dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from walk(getattr(value, field.name))
        elif isinstance(value, list | tuple):
            for item in value:
                yield from walk(item)

    return list(walk(model))


def section(model, name):
    return next(item for item in model.sections if item.id == name)


@pytest.mark.parametrize(
    ("verdict", "registered", "expected"),
    [
        ("validated", True, "The planned claim may be made."),
        ("validated", False, "not a registered decision"),
        ("refuted", True, "refuted"),
        ("refuted", False, "not a registered decision"),
        ("tie", True, "tie"),
        ("tie", False, "not a registered decision"),
        ("inconclusive", True, "not decided"),
        ("inconclusive", False, "not a registered decision"),
        ("void", True, "No claim may be made"),
        ("void", False, "No claim may be made"),
        ("marvellous", True, "not one this report knows"),
    ],
)
def test_the_banner_says_what_the_verdict_permits(make, verdict, registered, expected):
    decision = make.decision(verdict=verdict, registered=registered)
    banner = section(build_report(ReportInputs(**make.page(decision=decision, integrity=None))), "verdict")
    assert expected in banner.takeaway
    assert banner.word == verdict.capitalize()
    assert banner.sign.strip()


def test_only_a_registered_validation_permits_the_claim(make):
    for verdict in ("validated", "refuted", "tie", "inconclusive", "void", "other"):
        for registered in (True, False):
            decision = make.decision(verdict=verdict, registered=registered)
            banner = section(build_report(ReportInputs(**make.page(decision=decision, integrity=None))), "verdict")
            permits = "may be made." in banner.takeaway
            assert permits == (verdict == "validated" and registered)


@pytest.mark.parametrize("source", ["integrity", "gate_in_full"])
def test_what_failed_beside_the_verdict_stands_in_the_banner(make, source):
    failed = [make.check(id=f"audit_{n}", status="fail") for n in range(8)]
    page = make.page(
        **{"integrity": None, source: make.gate(status="fail", checks=(*failed, make.check(id="calm", status="warn")))}
    )
    banner = section(build_report(ReportInputs(**page)), "verdict")
    assert banner.word == "Validated"
    assert "may be made" not in banner.takeaway
    said = banner.against[0]
    assert said.startswith("8 ")
    assert said.endswith(": audit_0, audit_1, audit_2, audit_3, audit_4, audit_5 and 2 more.")
    assert said.split("; ")[0] in " ".join(render_markdown(build_report(ReportInputs(**page)), {}).split()).replace(
        "\\", ""
    )


def test_why_no_rule_was_applied_stands_in_the_banner(make):
    page = make.page(decision=None, undecided="the pairing is broken\n  missing: item a")
    assert section(build_report(ReportInputs(**page)), "verdict").reasons == (
        "the pairing is broken",
        "missing: item a",
    )
    assert "items that only one arm answered" in section(build_report(ReportInputs(**page)), "disagreements").takeaway


def test_the_sentence_names_estimate_interval_margin_method_and_guarantee(make):
    (sentence,) = section(build_report(ReportInputs(**make.page())), "verdict").sentences
    for part in ("+4.20 pp", "95 % interval", "[+1.10, +7.30]", "margin +1.00 pp", "paired_hoeffding", "proven"):
        assert part in sentence


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (0.011, 0.073, "all of it lies above the margin"),
        (-0.2, -0.1, "all of it lies below the floor"),
        (-0.005, 0.004, "inside the tie band"),
        (-0.009, 0.0095, "none of it lies above the margin"),
        (-0.009, 0.05, "none of it lies below the floor"),
        (-0.05, 0.0, "none of it lies above the margin"),
        (-0.05, 0.05, "reaches from below the floor"),
        (math.nan, 0.05, "cannot be compared"),
    ],
)
def test_the_position_is_read_from_the_numbers_not_from_the_word(make, lower, upper, expected):
    assert expected in position(make.criterion(verdict="validated", lower=lower, upper=upper))


def test_rounding_keeps_an_interval_on_its_side_of_the_margin(make):
    decision = make.decision(criteria=(make.criterion(lower=0.010001, margin=0.01),))
    (sentence,) = section(
        build_report(ReportInputs(**make.page(decision=decision, integrity=None))), "verdict"
    ).sentences
    assert "[+1.0001," in sentence
    assert "+1.0000 pp" in sentence


def test_shown_numbers_differ_where_numbers_differ():
    random_state = random.Random(7)
    for _ in range(300):
        values = [random_state.choice([1.0, 1e-3, 1e-7]) * random_state.uniform(-1, 1) for _ in range(4)]
        values[1] = values[0] + 1e-8
        places = decimals(values)
        assert len({number(value, places) for value in values}) == len(set(values))


def test_a_measured_value_never_reads_as_its_limit_unless_it_is_the_limit():
    assert beside(0.19999999, [0.2]) == "0.19999999"
    assert beside(0.2, [0.2]) == "0.2"
    assert beside(0.021312345, [0.2, None]) == "0.02131"


def test_numbers_are_words_where_they_are_none():
    assert number(math.nan) == "no number"
    assert number(-math.inf) == "\u2212infinite"
    assert signed(-0.0, 2) == "0.00"
    assert signed(-1.5, 1) == "\u22121.5"


def test_commands_are_read_back_by_a_shell_as_they_were_meant():
    import shlex

    for words in (["audit", "sql", "a b", "select 'x'"], ["audit", "sql", "r", "a'b\"$(c)`d`!"], ["audit", "it's", ""]):
        assert shlex.split(command(*words)) == words


def test_sql_keeps_its_lines_and_loses_its_control_characters():
    assert block("select 1,\n\t2\x1b[31m") == "select 1,\n    2\\x1b[31m"
    assert block("x" * 30_000).endswith("… (+18000 characters)")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), "No step was logged."),
        ((math.nan, math.inf), "None of the 2 steps has a number."),
        ((0.5, 0.5, 0.5), "The same value, 0.5, in all 3 steps"),
        ((0.5, math.nan, 0.5), "1 of 3 steps have no number."),
        ((0.1, 0.4, 0.2), "0.100 at step 0, 0.200 at step 2; between 0.100 and 0.400 over 3 steps."),
        ((0.25,), "One step with a number: 0.25 at step 0."),
    ],
)
def test_a_series_is_described_as_it_is(values, expected):
    assert expected in describe(Series(tuple(range(len(values))), values))


def test_thinning_keeps_the_first_and_the_last_step_and_its_bound():
    for total in (1, 2, 59, 60, 61, 1000, 9999):
        kept, stride = thin(range(total), 60)
        assert (kept[0], kept[-1]) == (0, total - 1)
        assert len(kept) <= 60
        assert (stride == 1) == (len(kept) == total)


def test_an_empty_run_claims_nothing(pages):
    model = build_report(ReportInputs(**pages["empty"]))
    assert model.verdict == "none"
    said = " ".join(item.takeaway for item in model.sections)
    assert "supports no claim" in said
    assert "nothing here shows that the treatment was active" in said
    assert "No drift was measured" in said
    assert not any(item.figures for item in model.sections)


def test_no_command_is_printed_for_what_was_never_logged(pages):
    """`audit sql` and `audit gate` refuse where their tables or plan are missing."""
    model = build_report(ReportInputs(**pages["empty"]))
    for name in ("gate", "drift", "mask_curve", "calibration", "training"):
        assert not section(model, name).commands


def test_the_forest_s_caption_names_only_marks_that_are_drawn(make):
    for exploratory in (make.decision().exploratory, ()):
        page = make.page(decision=make.decision(verdict="void", exploratory=exploratory))
        caption = section(build_report(ReportInputs(**page)), "interval").figures[0].caption
        assert "Filled mark: paired_hoeffding, registered, decides nothing." in caption
        assert ("Open mark" in caption) == bool(exploratory)


def test_data_without_numbers_say_so_and_draw_nothing_false(pages):
    model = build_report(ReportInputs(**pages["not_numbers"]))
    said = " ".join(texts(model))
    assert "there is no usable interval" in said
    assert "none of 3 updates has a number" in said
    assert "nan" not in said.lower().replace("provenance", "")
    for item in model.sections:
        for figure in item.figures:
            drawn = [point.value for point in getattr(figure.chart, "points", ())]
            drawn += [row.estimate for row in getattr(figure.chart, "rows", ())]
            assert any(math.isfinite(value) for value in drawn)


def test_updates_without_a_number_are_counted_beside_those_that_have_one(make):
    rows = [
        dataclasses.replace(row, abs_p_q90=math.nan, masked_share=math.nan) if row.update else row
        for row in make.drift_rows()
    ]
    built = section(build_report(ReportInputs(**make.page(drift=rows))), "drift")
    assert built.takeaway.count("24 of its 48 updates have no number") == 2
    assert "; 48 of 96 updates have no number" in built.figures[0].takeaway
    assert "; 48 of 96 cells have no number" in built.figures[2].takeaway


def test_the_largest_distance_is_not_given_to_one_cell_of_several(make):
    rows = [dataclasses.replace(row, abs_p_q90=0.5 if row.step < 2 else 0.1) for row in make.drift_rows()]
    alike = sum(row.step < 2 for row in rows) - 1
    built = section(build_report(ReportInputs(**make.page(drift=rows))), "drift")
    assert f"and as far in {alike} more cells" in built.figures[2].takeaway


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"command": "", "git reason": "no commit"},
            "Not recorded: the command line, the commit of the code and versions",
        ),
        (
            {"command": "x", "git commit": "ab", "version of b": "1"},
            "Recorded: the command line, the commit of the code and 1",
        ),
        ({"command": "x"}, "Recorded: the command line. Not recorded: the commit of the code and versions."),
    ],
)
def test_provenance_claims_only_what_is_recorded(make, facts, said):
    built = section(build_report(ReportInputs(**make.page(provenance=facts, plan_summary={}))), "provenance")
    assert built.takeaway.startswith(f"No plan was sealed. {said}")
    assert all(cell for table in built.tables for row in table.rows for cell in row)


def test_one_item_is_one(make):
    page = ReportInputs(**make.page(decision=make.decision(n_items=1)))
    assert "on 1 item like this one" in section(build_report(page), "verdict").speaks


def test_a_mask_that_never_fired_is_named(make):
    rows = [dataclasses.replace(row, masked_share=0.0) for row in make.drift_rows()]
    assert (
        "masked no token in any of 48 updates"
        in section(build_report(ReportInputs(**make.page(drift=rows))), "drift").takeaway
    )


def test_a_gate_without_checks_is_not_a_pass(make):
    said = section(build_report(ReportInputs(**make.page(gate=make.gate(status="inconclusive")))), "gate").takeaway
    assert "that is not a pass" in said


def test_the_gate_names_what_failed_first(pages):
    gate = section(build_report(ReportInputs(**pages["void"])), "gate")
    assert gate.takeaway == (
        "6 checks on runs/pilot: 1 fail, 1 inconclusive, 1 warning, 1 waived, 1 pass, 1 not applicable "
        "(fail: dppo_masked_token_fraction)."
    )
    assert [row.status for row in gate.rows][:2] == ["fail", "inconclusive"]


def test_checks_that_need_a_reader_come_first_and_others_keep_their_order(make):
    checks = [
        make.check(id=f"c{i}", status=status) for i, status in enumerate(("pass", "inconclusive", "pass", "fail"))
    ]
    gate = section(build_report(ReportInputs(**make.page(gate=make.gate(*checks, status="fail")))), "gate")
    assert [row.id for row in gate.rows] == ["c3", "c1", "c0", "c2"]


def test_a_profile_that_never_moves_is_a_table_without_a_chart(make):
    from audits.engine.check import StepValue

    def figures(*values):
        steps = tuple(StepValue("treatment", 0, number, value, None, 3) for number, value in enumerate(values))
        return section(build_report(ReportInputs(**make.page(gate=make.gate(make.check(steps=steps))))), "gate").figures

    assert not figures(2.0, 2.0, 2.0)
    assert len(figures(2.0, 2.0, 2.5)) == 1
    assert len(figures(2.0, math.nan, 2.0)) == 1


def test_the_figures_of_the_full_run_stand_beside_the_gate_s(make):
    full = make.gate(make.check(value=0.5), make.check(id="late", arm=None), make.check(id="every", over="every_step"))
    full = dataclasses.replace(full, checks=tuple(dataclasses.replace(c, over=c.over or "pooled") for c in full.checks))
    (table,) = [
        table
        for table in section(build_report(ReportInputs(**make.page(gate_in_full=full))), "gate").tables
        if "full run" in table.caption
    ]
    assert [(row[0], row[1], row[2], row[3]) for row in table.rows] == [
        ("dppo_masked_token_fraction", "treatment", "0.0213 share of loss tokens", "0.5 share of loss tokens"),
        ("late", "all", "not gated", "0.0213 share of loss tokens"),
    ]


def test_a_profile_of_words_is_a_table_without_a_chart(make):
    from audits.engine.check import StepValue

    check = make.check(value="a", steps=(StepValue("treatment", 0, 0, "a", None, 3),))
    gate = section(build_report(ReportInputs(**make.page(gate=make.gate(check)))), "gate")
    assert not gate.figures
    assert gate.tables[0].rows[0][4] == "a"


def test_a_void_run_shows_its_interval_as_one_that_decides_nothing(pages):
    interval = section(build_report(ReportInputs(**pages["void"])), "interval")
    assert interval.tables[0].rows[0][1] == "registered, decides nothing"


def test_who_answered_right_is_counted_once(make):
    def captions(**changes):
        built = section(build_report(ReportInputs(**make.page(**changes))), "interval")
        return [table.caption for table in built.tables]

    counted = "Items by who answered right"
    assert counted not in captions()
    assert counted in captions(disagreements=None)
    other = dataclasses.replace(make.criterion().counts, both=700)
    assert counted in captions(decision=make.decision(criteria=(make.criterion(counts=other),)))
    assert counted in captions(decision=make.decision(criteria=(make.criterion(), make.criterion(id="second"))))


def test_exploratory_methods_stand_beneath_the_registered_one(make):
    rows = section(build_report(ReportInputs(**make.page())), "interval").tables[0].rows
    assert [row[1] for row in rows] == ["registered", "exploratory", "exploratory", "exploratory"]


def test_scores_outside_unit_bounds_are_not_called_percentage_points(pages):
    sentences = section(build_report(ReportInputs(**pages["inconclusive"])), "verdict").sentences
    assert " pp" in sentences[0]
    assert " pp" not in sentences[1]
    assert "alpha 0.05 for 2 criteria" in sentences[0]


def test_what_the_result_says_nothing_about_depends_on_the_unit(make):
    def speaks(**changes):
        return section(build_report(ReportInputs(**make.page(decision=make.decision(**changes)))), "verdict").speaks

    assert "greedy decoding. It says nothing about the algorithm" in speaks()
    assert "greedy" not in speaks(plan_sha256=None)
    assert "other models" in speaks(unit="training_seeds")


def test_long_runs_are_thinned_alike_in_charts_and_table(pages):
    drift = section(build_report(ReportInputs(**pages["inconclusive"])), "drift")
    assert len(drift.tables[0].rows) == len(drift.figures[0].chart.points) <= 240
    assert any("of 300 steps" in note for note in drift.notes)


def test_no_control_character_and_no_endless_text_reaches_a_page(make):
    import unicodedata

    model = build_report(ReportInputs(**make.hostile("\x1b[2J\u202e\x00\r" + "y" * 1_000_000)))
    for value in texts(model):
        assert len(value) < 60_000
        assert not any((unicodedata.category(c) in {"Cc", "Cs"} and c != "\n") or c == "\u202e" for c in value)


def test_characters_that_nobody_sees_are_escaped_and_those_that_join_letters_stay():
    assert text("a\u200bb\ufeff\U000e0041\u00ad\u2066") == "a\\u200bb\\ufeff\\U000e0041\\xad\\u2066"
    assert text("क्‍ष") == "क्‍ष"


def test_an_unregistered_interval_is_an_open_mark(make):
    page = make.page(decision=make.decision(registered=False))
    figure = section(build_report(ReportInputs(**page)), "interval").figures[0]
    assert not any(row.registered for row in figure.chart.rows)
    assert "Open mark: paired_hoeffding, not registered. Open mark: exploratory." in figure.caption
    assert "Filled" not in figure.caption


def test_one_offending_row_is_one(make):
    told = [value_text(make.check(value=value, unit="offending rows")) for value in (1.0, 2.0)]
    assert told == ["1 offending row", "2 offending rows"]
