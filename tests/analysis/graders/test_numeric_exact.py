"""The strict integer grader."""

import pytest

from analysis.graders.numeric_exact import extract_integer, grade


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        ("82", "82"),
        (" 82\n", "82"),
        ("082", "82"),
        ("+82", "82"),
        ("-0", "0"),
        ("-07", "-7"),
        ("0", "0"),
        ("", None),
        ("82.", None),
        ("82 83", None),
        ("8 2", None),
        ("1,234", None),
        ("the answer is 82", None),
        ("--2", None),
        ("٨٢", None),
        ("82\u200b", None),
    ],
)
def test_only_a_bare_integer_is_extracted(completion, found):
    assert extract_integer(completion) == found


def test_the_right_number_that_ended_by_itself_is_right():
    right = grade("82", "stop", "82")
    assert (right.reward, right.correct, right.extracted, right.extraction) == (1.0, True, "82", "whole_completion")


def test_a_number_that_was_cut_off_is_wrong_even_if_equal():
    cut = grade("82", "length", "82")
    assert (cut.reward, cut.correct, cut.extraction) == (0.0, False, "unfinished")


def test_wrong_or_missing_answers_have_no_reward():
    assert grade("83", "stop", "82") == grade("083", "stop", "82")
    assert not grade("83", "stop", "82").correct
    assert grade("eighty-two", "stop", "82").extracted is None


def test_numbers_of_any_length_are_compared_exactly():
    long = "9" * 6000
    assert grade(long, "stop", long).correct
    assert not grade(long, "stop", long[:-1] + "8").correct


def test_a_gold_answer_that_is_no_integer_is_an_error():
    with pytest.raises(ValueError, match="gold"):
        grade("1", "stop", "one")
