"""The section of disagreements: counts, and as many items as the page has room for."""

import dataclasses
import html

import made_sections
import pytest

from reports.model import build_report
from reports.parts import ReportInputs
from reports.sections.disagreements import BYTES_OF_ITEMS, build


def section(make, **changes):
    return build(ReportInputs(**make.page(**changes)))


def answers(built):
    return [answer for group in built.groups for item in group.items for answer in item.answers]


def test_the_sentence_counts_who_is_right_and_gives_the_exact_test(make):
    assert section(make).takeaway == (
        "dppo_binary_tv and grpo_clip answer 287 of 1,319 items differently (21.8 %): only dppo_binary_tv is right on "
        "171, only grpo_clip is right on 116. Exact McNemar test of equal chances: p = 0.0014; it decides nothing."
    )


def test_arms_that_agree_on_every_item_are_said_to(make):
    counts = {"only_treatment": 0, "only_baseline": 0, "both": 12, "neither": 8}
    alike = made_sections.disagreements(counts=counts, mcnemar_exact=1.0, items=())
    assert section(make, disagreements=alike).takeaway == (
        "dppo_binary_tv and grpo_clip answer all 20 items alike: both right or both wrong."
    )


def test_without_two_arms_there_is_nothing_to_set_side_by_side(make):
    built = section(make, disagreements=None)
    assert "no item can be shown" in built.takeaway
    assert not built.groups
    assert not built.tables


def test_the_table_gives_count_share_and_what_is_shown(make):
    (table,) = section(make).tables
    names = ["only dppo_binary_tv right", "only grpo_clip right", "both right", "neither right"]
    assert [row[0] for row in table.rows] == names
    assert [row[1] for row in table.rows] == ["171", "116", "702", "330"]
    assert [row[2] for row in table.rows] == ["13.0 %", "8.8 %", "53.2 %", "25.0 %"]
    shown = {group.title: len(group.items) for group in section(make).groups}
    assert [int(row[3]) for row in table.rows] == list(shown.values())


def test_both_answers_of_an_item_stand_side_by_side(make):
    first = section(make).groups[0].items[0]
    assert (first.question, first.gold) == ("How many are 7 and 5?", "12")
    treatment, baseline = first.answers
    assert (treatment.arm, treatment.result) == ("dppo_binary_tv", "✓ right")
    assert (baseline.arm, baseline.result) == ("grpo_clip", "✕ wrong")
    assert treatment.completion == "so it is 12"
    assert treatment.ended == "ended by stop, 132 tokens, answer found by last_integer"


@pytest.mark.parametrize("said", ["x" * 600, "<" * 600, "\x1b" * 600, "𝄞" * 600])
def test_items_take_a_bounded_part_of_the_page_and_the_rest_is_counted(make, said):
    built = section(make, disagreements=made_sections.disagreements(said))
    shown = sum(len(group.items) for group in built.groups)
    size = sum(len(html.escape(answer.completion).encode()) for answer in answers(built))
    assert 0.3 * BYTES_OF_ITEMS < size < BYTES_OF_ITEMS
    assert 8 <= shown < 212
    assert {group.title.split(":")[0] for group in built.groups} == {
        "Only dppo_binary_tv right", "Only grpo_clip right", "Both right", "Neither right",
    }  # fmt: skip
    assert any(f"{1319 - shown:,} of 1,319 items are left out of the page" in note for note in built.notes)


def test_what_fits_is_chosen_in_the_given_order_and_listed_by_id(make):
    items = tuple(reversed(made_sections.disagreements("x" * 600).items[:100]))
    (group,) = section(make, disagreements=made_sections.disagreements(items=items)).groups
    shown = [item.item_id for item in group.items]
    assert shown == sorted(shown)
    assert shown[-1] == "only_treatment-0099"
    assert 5 < len(shown) < 60


def test_of_a_cut_text_it_says_how_much_is_missing(make):
    long = made_sections.LongText("begin", "end", 1234)
    pair = dataclasses.replace(made_sections.item(0), treatment=made_sections.answer(completion=long))
    built = section(make, disagreements=made_sections.disagreements(items=(pair,)))
    assert answers(built)[0].completion == "begin\n… 1,234 characters left out …\nend"


def test_several_samples_say_what_stands_for_an_item(make):
    assert not any("mean over" in note for note in section(make).notes)
    built = section(make, disagreements=made_sections.disagreements(seeds=(0, 1, 2), most_samples=12))
    assert any("its mean over 3 training seeds and all samples" in note for note in built.notes)


def test_scores_between_right_and_wrong_go_to_the_higher_one(make):
    cells = {"only_treatment": 2, "only_baseline": 1, "alike": 1}
    built = section(make, disagreements=made_sections.disagreements(counts=cells, mcnemar_exact=None))
    assert "score on 3 of 4 items differently (75.0 %): dppo_binary_tv scores higher on 2" in built.takeaway
    assert "McNemar" not in built.takeaway
    assert [row[0] for row in built.tables[0].rows] == [
        "dppo_binary_tv scores higher", "grpo_clip scores higher", "both score the same",
    ]  # fmt: skip


def test_scores_alone_give_counts_and_no_empty_items(make):
    nothing = made_sections.answer(extracted=None, extraction=None, stop_reason=None, n_tokens=None, completion=None)
    pair = dataclasses.replace(made_sections.item(0), question=None, gold=None, treatment=nothing, baseline=nothing)
    built = section(make, disagreements=made_sections.disagreements(items=(pair,)))
    assert built.groups == ()
    assert any("neither completions nor questions were logged" in note for note in built.notes)


def test_a_redacted_page_holds_no_text_whatever_it_was_given(make):
    built = section(make, disagreements=made_sections.disagreements("TELLTALE"), redacted=True)
    assert "TELLTALE" not in repr(built)
    assert "How many are 7 and 5?" not in repr(built)
    assert {answer.completion for answer in answers(built)} == {"left out by --redact"}
    assert {answer.extracted for answer in answers(built)} == {"left out by --redact"}
    assert any(note.startswith("Made with --redact") for note in built.notes)


def test_the_section_is_part_of_the_page(make):
    sections = build_report(ReportInputs(**make.page())).sections
    assert {"disagreements", "power", "cost", "looks"} <= {item.id for item in sections}
