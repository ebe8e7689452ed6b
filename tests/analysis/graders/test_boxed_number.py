"""The grader that reads the last box."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers.extractors.last_box import extract
from analysis.graders.boxed_number import grade


@pytest.mark.parametrize(
    ("box", "gold"),
    [
        ("18", "18"),
        (" 18 ", "18"),
        ("1,234", "1234"),
        ("1234", "1,234"),
        ("2{,}125", "2125"),
        (r"70\,000", "70000"),
        (r"\$18", "18"),
        ("$18.00", "18"),
        (r"50\%", "50"),
        ("18 dollars", "18"),
        (r"18\text{ dollars}", "18"),
        (r"\text{18 dollars}", "18"),
        ("5 apples", "5"),
        ("profit = 18", "18"),
        ("36/2", "18"),
        (r"\frac{36}{2}", "18"),
        (r"-\dfrac{1}{2}", "-0.5"),
        ("-3", "-3"),
        ("−3", "-3"),
        ("+3", "3"),
        (".5", "1/2"),
        ("018", "18"),
        ("18.", "18"),
        ("65,960", "65960"),
    ],
)
def test_what_is_the_gold_number_in_other_clothes(box, gold):
    found = grade(f"So \\boxed{{{box}}}.", "stop", gold)
    assert (found.reward, found.correct, found.extraction) == (1.0, True, "last_box")
    assert found.extracted == box.strip()


@pytest.mark.parametrize(
    "box",
    [
        "18 or 20",
        "1,2345",
        "1,8",
        "18.0001",
        "-18",
        "eighteen",
        "18x20",
        "18 and a half",
        "18 million",
        "3 1/2",
        "18/0",
        "1e1",
        "10^2",
        "",
        "8,000",
        "2=18=18",
    ],
)
def test_what_is_not_the_number_eighteen(box):
    assert not grade(f"\\boxed{{{box}}}", "stop", "18").correct


@pytest.mark.parametrize(
    ("completion", "extracted", "extraction"),
    [
        (r"\boxed{12} no, \boxed{18}", "18", "last_box"),
        (r"\boxed{18} no, \boxed{12}", "12", "last_box"),
        (r"\boxed{18} trailing }", "18", "last_box"),
        (r"\boxed{18} no, \boxed{1", None, "unclosed_box"),
        ("#### 18", None, "no_box"),
        (r"\boxed 18", None, "no_box"),
        ("", None, "no_box"),
        (r"\boxed{\text{18 or 20}}", r"\text{18 or 20}", "box_is_no_number"),
        (r"\boxed{}", "", "box_is_no_number"),
    ],
)
def test_how_the_answer_is_found(completion, extracted, extraction):
    found = grade(completion, "stop", "18")
    assert (found.extracted, found.extraction) == (extracted, extraction)
    assert found.correct == (extracted == "18")


def test_a_closed_box_counts_however_the_completion_ended():
    assert grade(r"\boxed{18} and so", "length", "18").correct


def test_a_gold_answer_that_is_no_number_is_an_error():
    with pytest.raises(ValueError, match="'many' is not a number"):
        grade(r"\boxed{1}", "stop", "many")


@given(st.text(max_size=60))
def test_no_text_breaks_it(text):
    grade(text, "stop", "1")
    grade(f"\\boxed{{{text}}}", "stop", "1")
    extract(text)
