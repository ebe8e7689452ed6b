"""When two questions are one question: alike but for case, spacing and punctuation, or but for their numbers."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−﹣", "-") | dict.fromkeys("'’‘`´", None))
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NO_SIGN = re.compile(r"[-*](?! ?[.\d])")
_NO_POINT = re.compile(r"\.(?!\d)")
_NOT_COMPARED = re.compile(r"[^\w+\-*/^=<>%.×÷±√≤≥≠]|_")
_AROUND_OPERATOR = re.compile(r" ?([+\-*/^=<>%×÷±√≤≥≠]) ?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]{2,}")


def normalised_question(text: str) -> str:
    """Return a question without what does not change it: case, spacing, punctuation, and how unicode writes it.

    What belongs to a number or to arithmetic stays: 3.5 is not 35, 12+3 is not 1+23, and 45-82 is not 45 82. Thousands
    separators go (1,000 is 1000).

    Args:
        text: the question; the time is linear in its length.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).translate(_DASHES).casefold())
    text = _THOUSANDS.sub("", _SPACE.sub(" ", text))
    text = _SPACE.sub(" ", _NOT_COMPARED.sub(" ", _NO_POINT.sub(" ", text)))
    return _AROUND_OPERATOR.sub(r"\1", _SPACE.sub(" ", _NO_SIGN.sub(" ", text))).strip()


def question_form(normalised: str) -> str:
    """Return what is left of a normalised question when each number is replaced by `#`."""
    return _NUMBER.sub("#", normalised)


def has_words(form: str) -> bool:
    """Say whether a form has a word of two letters or more: `#+#` has none, and says nothing about a question."""
    return _WORD.search(form) is not None
