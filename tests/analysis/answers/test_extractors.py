"""Ways to find an answer in a completion."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answers.extraction import extractors
from analysis.answers.extractors import first_box, last_box, last_number, strict_marker, whole_completion
from analysis.answers.number import number_of


def test_the_ways_are_found_by_file_name_and_say_whether_they_are_strict():
    assert {way.id: way.is_strict for way in extractors()} == {
        "first_box": False,
        "last_box": True,
        "last_number": False,
        "strict_marker": True,
        "whole_completion": True,
    }


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        ("so 18\n#### 18", "18"),
        ("so 18\nA: 18", "18"),
        ("A: 12\nA: 18", "18"),
        ("A: 12\n#### 18\n", "18"),
        ("####18", "18"),
        ("  #### $1,800 ", "$1,800"),
        ("#### : 18", "18"),
        ("A: 18\r\nQ: next", "18"),
        ("#### ", ""),
        ("#### 18 dollars", "18 dollars"),
        ("### 18", None),
        ("so #### 18", None),
        ("a: 18", None),
        ("Q/A: 18", None),
        ("18", None),
        ("", None),
    ],
)
def test_the_last_marked_line_holds_the_answer(completion, found):
    assert strict_marker.extract(completion) == (found, "no_marker" if found is None else "strict_marker")


@pytest.mark.parametrize(
    ("completion", "first", "last"),
    [
        (r"\boxed{18}", "18", "18"),
        (r"\boxed{12} no, \boxed{18}", "12", "18"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", r"\frac{1}{2}"),
        (r"\boxed{\boxed{18}}", r"\boxed{18}", "18"),
        (r"\boxed{18} or \boxed{2", "18", None),
        (r"\boxed 18", None, None),
        ("18", None, None),
    ],
)
def test_the_first_and_the_last_box(completion, first, last):
    assert (first_box.extract(completion)[0], last_box.extract(completion)[0]) == (first, last)


def test_a_brace_ten_thousand_characters_later_closes_no_box():
    near, far = (last_box.extract(r"\boxed{" + "9" * n + "}") for n in (9_000, 11_000))
    assert (near[1], far) == ("last_box", (None, "unclosed_box"))


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        ("18", "18"), (" 18 dollars\n", "18 dollars"), (r"\boxed{18}", r"\boxed{18}"), ("The answer is 18", None),
        ("", None), ("18\n20", None),
    ],
)  # fmt: skip
def test_a_completion_that_is_nothing_but_a_number(completion, found):
    assert whole_completion.extract(completion)[0] == found


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        ("so 8,000", "8,000"),
        ("72 clips, altogether.", "72"),
        ("it costs $18.", "$18"),
        ("it costs $18.50, each", "$18.50"),
        ("loss of -$18.", "-$18"),
        ("loss of $-18.", "$-18"),
        ("= -82", "-82"),
        ("45-82", "82"),
        ("(45)-82", "82"),
        ("is −82.", "−82"),
        ("- 18", "18"),
        ("3 and .5", ".5"),
        ("about 50%", "50"),
        (r"so 70\,000 eggs", r"70\,000"),
        ("so 70{,}000 eggs", "70{,}000"),
        ("1,2345", "1,2345"),
        ("18, 20", "20"),
        ("36/2", "36/2"),
        ("it is 3 1/2.", "3 1/2"),
        (r"is $\frac{36}{2}$.", r"$\frac{36}{2}"),
        (r"is $3\frac{1}{2}$.", r"$3\frac{1}{2}"),
        ("is 3½", "3½"),
        ("1e3 eggs", "1e3"),
        (r"1.5\times10^3 eggs", r"1.5\times10^3"),
        ("10^2", "10^2"),
        ("10²", "10²"),
        ("18 cm^2", "18"),
        ("18 cm^{12}", "18"),
        ("18 x_1", "18"),
        (r"\boxed{18}", "18"),
        ("<<16-3=13>>13", "13"),
        ("١٨", "١٨"),
        ("**18**", "18"),
        ("A: 18\nQ: 5 eggs", "5"),
        ("none", None),
        ("", None),
        (", , .", None),
    ],
)
def test_the_last_number_is_read_whole(completion, found):
    assert last_number.extract(completion) == (found, "no_number" if found is None else "last_number")


@given(
    st.integers(0, 10**15), st.sampled_from(["", "-", "$", "-$", "€"]), st.sampled_from(["", ".", "!", " eggs, all."])
)
def test_the_last_number_is_the_one_that_was_written(value, sign, behind):
    found, _ = last_number.extract(f"Of 12 eggs 3,000 are sold, so {sign}{value:,}{behind}")
    assert number_of(found) == (-value if sign.startswith("-") else value)


PIECES = st.sampled_from(
    [
        "1",
        "23",
        ",",
        ".",
        "-",
        " ",
        "word " * 40,
        "\\frac{1}{2}",
        "/",
        "^",
        "_",
        "{",
        "}",
        "$",
        "e5",
        "½",
        "9" * 300,
        "\n",
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_looking_from_the_end_finds_the_last_of_all_numbers(text):
    every = list(last_number.numbers_in(text))
    assert last_number.extract(text)[0] == (every[-1] if every else None)


HOSTILE = ["9" * 10**6, "\\boxed{" * 10**5, "{" * 10**6, "A:" * 10**5,
           "#" * 10**6, "1 " * 10**5, "a" * 10**6, "^1" * 10**5, "\n" * 10**6,
           "1" + " " * 10**6, "1,1" * 10**5, "\\boxed{" + "{" * 10**6, "\n####" * 10**5,
           "-" * 10**6, "٣" * 10**5]  # fmt: skip


@pytest.mark.parametrize("way", extractors(), ids=lambda way: way.id)
def test_a_megabyte_of_anything_is_read_in_time_that_grows_with_its_length(way):
    for text in HOSTILE:
        begin = time.process_time()
        found, _ = way.extract(text)
        number_of(found or "")
        assert time.process_time() - begin < 1


@settings(max_examples=200)
@given(st.one_of(st.text(max_size=400), st.lists(PIECES, max_size=20).map("".join)))
def test_no_text_raises_or_takes_long(text):
    begin = time.process_time()
    for way in extractors():
        way.extract(text)
    assert time.process_time() - begin < 0.05
