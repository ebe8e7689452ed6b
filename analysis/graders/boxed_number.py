r"""Boxed number: the last `\boxed{...}` of the completion is one number, and it equals the gold answer exactly.

Extraction: the content of the last `\boxed{...}`, braces balanced. A completion that was cut off later still counts:
its brace closed the answer. Without a box, or where the last one was never closed, nothing is right.
Comparison: of rational numbers, so that 18, 18.00 and 36/2 are equal and 18.001 is not. Currency and percent signs,
LaTeX spacing, thousands separators, a unit in words behind the number and a name with `=` before it are passed over. A
comma that separates no thousands, a second number (`18 or 20`) or a word that changes the number (`2 million`, `18 and
a half`) leaves no number.
"""

import re
from fractions import Fraction

from analysis.graders.grade import Grade

_BOX = "\\boxed{"
_MOST_DIGITS = 200
"""More digits than any answer has; Python refuses to convert thousands of them."""

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PLAIN = re.compile(rf"({_NUMBER})(?:\s*/\s*({_NUMBER}))?")
_FRACTION = re.compile(rf"([+-]?)\\[dt]?frac\{{({_NUMBER})\}}\{{({_NUMBER})\}}")
_WORDS = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_SPACING = re.compile(r"\\[,!;: ]|~")
_SIGNS = re.compile(r"\\?[$%]|[€£]")
_NAME_BEFORE = re.compile(r"^[^\d=]*=")
_UNIT_BEHIND = re.compile(r"(?<=[\d.}])\s*[^\W\d_][^\d=]*$")
_CHANGES_THE_NUMBER = re.compile(
    r"\b(?:and|or|to|half|third|quarter|point|plus|minus|times|dozen|hundred|thousand|million|billion|trillion)s?\b",
    re.I,
)
_THOUSANDS = re.compile(r"(?<![\d.,])([0-9]{1,3})((?:,[0-9]{3})+)(?![\d,])")


def last_box(completion: str) -> tuple[str | None, str]:
    r"""Return the content of the last `\boxed{...}`, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The content without surrounding white space, or None; and `last_box`, `no_box` or `unclosed_box`.
    """
    begin = completion.rfind(_BOX)
    if begin < 0:
        return None, "no_box"
    depth, start = 1, begin + len(_BOX)
    for place in range(start, len(completion)):
        depth += {"{": 1, "}": -1}.get(completion[place], 0)
        if depth == 0:
            return completion[start:place].strip(), "last_box"
    return None, "unclosed_box"


def number_of(text: str) -> Fraction | None:
    """Return the one number that an answer consists of, None where it is not one number.

    Args:
        text: a gold answer, or the content of a box.
    """
    text = _WORDS.sub(r" \1 ", _SIGNS.sub("", _SPACING.sub("", text.replace("−", "-").replace("{,}", ","))))
    text = _NAME_BEFORE.sub("", text).strip()
    if _CHANGES_THE_NUMBER.search(text):
        return None
    text = _UNIT_BEHIND.sub("", text).strip()
    text = _THOUSANDS.sub(lambda found: found[1] + found[2].replace(",", ""), text)
    if len(text) > _MOST_DIGITS:
        return None
    plain, fraction = _PLAIN.fullmatch(text), _FRACTION.fullmatch(text)
    if plain is not None:
        return _quotient(plain[1], plain[2] or "1")
    return _quotient(fraction[1] + fraction[2], fraction[3]) if fraction is not None else None


def grade(completion: str, stop_reason: str, gold: str) -> Grade:
    """Grade a completion: reward 1 where its last box holds the gold number, else 0.

    Args:
        completion: decoded text without special tokens.
        stop_reason: not read: a closed box is an answer, however the completion ended.
        gold: the right answer, a number.

    Raises:
        ValueError: the gold answer is no number, so nothing could be right.
    """
    right = number_of(gold)
    if right is None:
        raise ValueError(f"gold answer {gold!r} is not a number")
    found, extraction = last_box(completion)
    if found is None:
        return Grade(0.0, False, None, extraction)
    value = number_of(found)
    if value is None:
        return Grade(0.0, False, found, "box_is_no_number")
    return Grade(float(value == right), value == right, found, extraction)


def _quotient(numerator: str, denominator: str) -> Fraction | None:
    below = Fraction(denominator)
    return Fraction(numerator) / below if below else None
