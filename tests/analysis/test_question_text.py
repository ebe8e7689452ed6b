"""When two questions are one."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.question_text import has_words, normalised_question, question_form

ALIKE = [
    ("How much is it?", "how  much is it"),
    ("Tom's “big” dog.", "Tom’s 'big' dog"),
    ("a two-digit number", "A two digit number"),
    ("37 + 45 = ?", "37+45="),
    ("１２ ｅｇｇｓ", "12 eggs"),
    ("ﬁve", "FIVE"),
    ("It costs 1,000 dollars", "it costs 1000 dollars"),
    ("3 − 4", "3-4"),
    ("a **bold** word", "a bold word"),
    ("a\tb\r\nc\x00", "a b c"),
    ("Fill the ____ in", "fill the in"),
]
DIFFERENT = [
    ("12+3", "1+23"),
    ("3.5 miles", "35 miles"),
    ("45-82", "45 82"),
    ("x > 3", "x < 3"),
    ("20% of 5", "20 of 5"),
    ("2*3", "2/3"),
    ("1,00 2", "1002"),
    ("temperature of -3", "temperature of 3"),
    ("-.5", ".5"),
    ("-(3 + 4)", "(3 + 4)"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_spelling_does_not_make_another_question(one, other):
    assert normalised_question(one) == normalised_question(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_belongs_to_a_number_does(one, other):
    assert normalised_question(one) != normalised_question(other)


def test_a_form_is_the_question_without_its_numbers():
    assert question_form(normalised_question("Tom has 3 eggs, 2.5 are gone?")) == "tom has # eggs # are gone"
    assert has_words("tom has #")
    assert not has_words("#+#=")
    assert not has_words("x+#")


@given(st.text("aB30 .,-−*+(/%'_\n", max_size=30))
def test_normalising_twice_changes_nothing_more(text):
    once = normalised_question(text)
    assert normalised_question(once) == once


def test_a_text_of_a_megabyte_takes_no_time():
    for text in ("- " * 500_000, "-" * 1_000_000, "1," * 500_000, " " * 1_000_000 + "x", ".+" * 500_000):
        normalised_question(text)


@pytest.fixture
def gsm8k():
    """The questions of GSM8K's two splits, where the whole data set is beside this checkout."""
    folder = Path(__file__).parents[3] / "shared" / "data" / "gsm8k"
    if not folder.exists():
        pytest.skip("the whole of GSM8K is not beside this checkout")
    read = {}
    for split in ("test", "train"):
        lines = (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        read[split] = [json.loads(line)["question"] for line in lines]
    return read


def test_gsm8k_asks_no_question_twice(gsm8k):
    """1,319 test and 7,473 train questions; two train questions differ in their numbers alone."""
    asked = {split: [normalised_question(question) for question in questions] for split, questions in gsm8k.items()}
    assert {split: len(set(questions)) for split, questions in asked.items()} == {"test": 1319, "train": 7473}
    assert not set(asked["test"]) & set(asked["train"])
    forms = {split: Counter(map(question_form, questions)) for split, questions in asked.items()}
    assert not set(forms["test"]) & set(forms["train"])
    assert [max(counts.values()) for counts in (forms["test"], forms["train"])] == [1, 2]
