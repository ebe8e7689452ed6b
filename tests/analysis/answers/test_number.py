"""What one number is, in all the clothes that answers wear, and what is not one number."""

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answers.number import number_of

NUMBERS = {
    "18": 18, " 18 ": 18, "018": 18, "18.": 18, "18,": 18, "18.00": 18, "+18": 18, "-3": -3, "-0": 0, "- 18": -18,
    ".5": "1/2", "0.50": "1/2", "-.25": "-1/4",
    "1,234": 1234, "1,234.50": "2469/2", "12,345,678.9": "123456789/10", "1,234 apples": 1234, "65,960": 65960,
    "70{,}000": 70000, r"70\,000": 70000, r"70,\!000": 70000, "70~000": 70000, "70\u00a0000": 70000,
    "70\u202f000": 70000,
    "$18": 18, r"\$18": 18, "$18.00": 18, "-$18": -18, "$-18": -18, "€18": 18, "₹18": 18, "18€": 18, "US$18": 18,
    "USD 18": 18, "18 USD": 18, "Rs. 18": 18, "$18$": 18, "$$18$$": 18, "$-18$": -18, "$1,000/2": 500,
    r"50\%": 50, "50%": 50, "50 %": 50, "50 percent": 50, "12 pct": 12,
    "18 dollars": 18, "5 apples": 5, "5 hours": 5, "18 points": 18, "18 times": 18, "18kg": 18, "18 km/h": 18,
    "$18/hour": 18, "18 per week": 18, "18 m": 18, "18 square feet": 18, "18 cm^2": 18, "18 cm²": 18,
    r"18\text{ cm}^2": 18, "18°C": 18, r"90^\circ": 90, r"90^{\circ}": 90, "18个": 18, "5元": 5, "3 (in total)": 3,
    r"18\text{ dollars}": 18, r"\text{18 dollars}": 18, r"18\,\text{dollars}": 18, r"18\ \mathrm{kg}": 18,
    r"\mathbf{18}": 18, r"\boxed{18}": 18, r"\boxed{\frac{1}{2}}": "1/2", r"\text{Total} = 18": 18, "{18}": 18,
    "**18**": 18, "`18`": 18, "__18__": 18, r"\(18\)": 18, r"\[18\]": 18, r"\displaystyle 18": 18,
    "x = 18": 18, "profit = 18": 18, "= 18": 18, "Total: $18": 18, "Answer: x = 18": 18, "break-even = 5": 5,
    "9*2=18": 18, "9 * 2 = $18": 18, r"9 \times 2 = 18": 18, r"\frac{36}{2} = 18": 18, "20 - 2 = 18": 18,
    "36/2": 18, "36 / 2": 18, "36/-2": -18, "-36/2": -18, "1,000/2": 500, "1/3": "1/3", "1/2 cup": "1/2",
    r"\frac{36}{2}": 18, r"\dfrac{1}{2}": "1/2", r"\tfrac{1}{2}": "1/2", r"-\frac{1}{2}": "-1/2",
    r"\frac{-1}{2}": "-1/2", r"\frac12": "1/2", r"\frac 12": "1/2", r"\frac{1,000}{4}": 250, r"\frac{1}{2}\%": "1/2",
    "3 1/2": "7/2", "-3 1/2": "-7/2", r"3\frac{1}{2}": "7/2", r"3 \frac{1}{2}": "7/2", r"$3\frac{1}{2}$": "7/2",
    "3½": "7/2", "½": "1/2", "3 ½ hours": "7/2",
    "1e3": 1000, "1E+3": 1000, "1e3 dollars": 1000, "-1.5e-2": "-3/200", r"1.5\times10^3": 1500,
    r"1.5 \times 10^{3}": 1500, r"1.5\cdot 10^{-1}": "3/20", "1.5×10³": 1500, "1.5 x 10^3": 1500,
    r"-1.5\times10^3": -1500,
    "10^2": 100, "10^{2}": 100, "10²": 100, "10^12": 10**12, "2^{-1}": "1/2", "2^10 bytes": 1024,
    "１８": 18, "١٨": 18, "१८": 18, "−3": -3, "–3": -3, "﹣3": -3, "－3": -3, "１，２３４": 1234, "٣٫٥": "7/2",
    "1\u200b8": 18, "50％": 50, "１／２": "1/2", "1⁄2": "1/2",
}  # fmt: skip

NO_NUMBERS = {
    "several answers": ["18 or 20", "18, 20", "18 and 20", "18 20", "x = 18 or x = 20", "{18, 20}", "18;20"],
    "ranges": ["18-20", "18–20", "18 - 20", "18 to 20", "10..20"],
    "commas that separate no thousands": ["1,2345", "1,8", "0,5", "0,123", "1,00,000", "1.234,56", "12,34", ",5"],
    "spaces that may separate two answers": ["70 000", r"1\,8", "1 2345"],
    "several dots": ["1.2.3", "1.234.567", "18..", "3.333...", "3.3…"],
    "words that change the number": [
        "2 million", "18 and a half", "18 and a bit", "3 dozen", "3 tenths", "5 hundred", "1 half", "18 squared",
        "18 plus tax", "18 point five", "18 twenty", "18 times two",
    ],
    "letters that are no unit": ["18x", "5k", "5K", "5M", "2i", "18 y", "18π", r"18\pi", r"18\sqrt{2}", "18 x^2", "1e"],
    "characters that count": ["5万", "5百", "5Ⅻ"],
    "arithmetic that was not done": ["9*2", "9+9", "18-x", "3 - 1/2", r"2 \times 9", "18!", "(18)", "|18|", "-3^2"],
    "equations that say something else": ["2x = 18", "-x = 18", "x = 18 = y", "2=18=18", "2 = 18", "x \\neq 18",
                                          "x != 18", "x ≈ 18", "x <= 18", "x + 2 = 18"],
    "fractions that are none": ["18/0", "1/2/3", "3 5/2", r"3\frac{5}{2}", r"3\frac{-1}{2}", r"\frac{1}{0}",
                                r"\frac123", "1/", "0^0", "0^{-1}"],
    "other notations": ["3:1", "5:30", "0x12", "1_000", "5 ft 10 in", "5'10", "#18", "±18", "--18", "18e"],
    "numbers glued by a sign": ["5$6", "18%20", "1$ 000"],
    "no digits": ["", " ", "eighteen", "nan", "inf", "Infinity", "-", "$", "%", "=", "apples", "NaN dollars"],
    "too large to write out": ["9" * 5000, "1e999999999", "10^1000000000", "10^{1000000000}", "1e" + "9" * 900,
                               "10^{10^9}", "9^9^9^9", "9^{9999}", "1/1e9999"],
    "not an answer": ["18" + " " * 2000, "word " * 1000 + "18", "18\x00", "18\n20", "\\" * 900, "{" * 900, "^" * 900],
}  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_one_number_is_read_exactly(text):
    assert number_of(text) == Fraction(NUMBERS[text])


@pytest.mark.parametrize("text", [text for texts in NO_NUMBERS.values() for text in texts])
def test_what_can_be_read_in_two_ways_or_not_at_all_is_no_number(text):
    assert number_of(text) is None


def test_a_percentage_is_its_figure_and_not_a_share():
    assert number_of("50%") != Fraction(1, 2)


CLOTHES = [
    "{:,}", "{}", "${}", r"\${}", "{}%", r"{}\%", "{} dollars", r"{}\text{{ dollars}}", "x = {}", "{}.00", "{}.0",
    " {}\n", "**{}**", r"\boxed{{{}}}", r"\frac{{{}}}{{1}}", "{}/1", "{}e0", "+{}", "00{}", r"{}\times10^0", "{:,}.",
]  # fmt: skip


@given(st.integers(0, 10**15), st.sampled_from(CLOTHES))
def test_an_integer_in_any_clothes_is_read_back(value, clothes):
    assert number_of(clothes.format(value)) == value


@given(st.integers(-(10**15), 10**15))
def test_thousands_separators_of_all_kinds_change_nothing(value):
    for separator in (",", "{,}", r"\,", r",\!", "\u202f", "\u00a0"):
        assert number_of(f"{value:,}".replace(",", separator)) == value


@given(st.integers(-(10**9), 10**9), st.sampled_from(["0٠", "0０", "0०", "0০"]))
def test_digits_of_other_scripts_are_digits(value, zeros):
    ascii_zero, zero = map(ord, zeros)
    moved = "".join(chr(ord(sign) - ascii_zero + zero) if sign.isdigit() else "−" for sign in str(value))
    assert number_of(moved) == value


@given(st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=1000))
def test_a_rational_is_read_back_as_fraction_and_as_mixed_number(value):
    assert number_of(str(value)) == value
    assert number_of(rf"\frac{{{value.numerator}}}{{{value.denominator}}}") == value
    whole, part = divmod(abs(value), 1)
    if whole and part:
        sign = "-" if value < 0 else ""
        assert number_of(f"{sign}{whole} {part}") == value
        assert number_of(rf"{sign}{whole}\frac{{{part.numerator}}}{{{part.denominator}}}") == value


@given(st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, places=6), st.integers(-20, 20))
def test_scientific_notation_is_exact(mantissa, exponent):
    value = Fraction(mantissa) * Fraction(10) ** exponent
    assert number_of(f"{mantissa:f}e{exponent}") == value
    assert number_of(rf"{mantissa:f}\times10^{{{exponent}}}") == value


@given(
    st.integers(0, 999), st.integers(0, 999), st.sampled_from([" or ", " and ", ", ", " ", "-", ";", " to ", "=", "x"])
)
def test_two_numbers_are_never_one(first, second, between):
    assert number_of(f"{first}{between}{second}") is None


PIECES = st.sampled_from(
    ["\\frac", "\\text", "\\boxed", "{", "}", "^", "_", "$", "%", ",", ".", " ", "1", "0", "9", "-", "=", "e", "x", "/",
     "²", "½", "\\,", "\\times", "10", "apples", "and", "\n", "(", ")", "*", "٣", "\u200b", "万"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=1100), st.lists(PIECES, max_size=300).map("".join)))
def test_no_text_raises_or_takes_long(text):
    begin = time.process_time()
    number_of(text)
    assert time.process_time() - begin < 0.05
