"""The grader that reads the last number of an answer in words."""

import pytest

from analysis.graders.last_integer import grade, last_integer


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        ("82", "82"),
        ("37 + 45 = 82", "82"),
        ("37+45", "45"),
        ("The sum of 37 and 45 is 82.", "82"),
        ("**082**", "82"),
        ("about 1,234", "1234"),
        ("37,45", "45"),
        ("12,3456", "3456"),
        ("45-82", "82"),
        ("(45)-82", "82"),
        ("= -82", "-82"),
        ("x-82", "82"),
        ("82.0", None),
        ("82 or 83.5", None),
        ("eighty-two", None),
        ("٨٢", None),
        ("", None),
    ],
)
def test_the_last_number_is_extracted_if_it_is_an_integer(completion, found):
    assert last_integer(completion)[0] == found


def test_a_right_answer_in_a_sentence_is_right():
    right = grade("37 + 45 = 82.", "stop", "82")
    assert (right.reward, right.correct, right.extracted, right.extraction) == (1.0, True, "82", "last_integer")


def test_a_number_that_may_go_on_is_wrong_even_if_equal():
    cut = grade("37 + 45 = 82", "length", "82")
    assert (cut.reward, cut.correct, cut.extracted, cut.extraction) == (0.0, False, "82", "unfinished")


def test_wrong_and_missing_answers_say_which_they_are():
    wrong, none, broken = grade("82 or 83", "stop", "82"), grade("no idea", "stop", "82"), grade("82.0", "stop", "82")
    assert (wrong.reward, wrong.correct, wrong.extracted) == (0.0, False, "83")
    assert [(grade.reward, grade.extraction) for grade in (none, broken)] == [
        (0.0, "no_number"),
        (0.0, "not_an_integer"),
    ]


def test_a_gold_answer_that_is_no_integer_is_an_error():
    with pytest.raises(ValueError, match="gold"):
        grade("1", "stop", "one")
