r"""The number that an answer consists of: exact, and only where there is one way to read it.

Values are rational numbers, so that 18, 18.00 and 36/2 are equal and 18.001 is not. What surrounds a number is passed
over: currency and percent signs (50% is 50, never 0.5), LaTeX and Markdown around it, a unit in words behind it, a name
or a calculation with `=` before it. Digits of any script and all minus signs count.

What can be read in two ways is no number: `18 or 20`, `1,2345` and `0,5` (a comma that separates no thousands),
`70 000` (a plain space), `2 million` and `3 dozen` (2 or 2,000,000: it depends on what was asked), `-3^2`, `3 5/2`,
`18x`, `5k`, `(18)`, `18!`, `3.33...`. A power of plain numbers has one reading: 10^2 is 100, and so is `10^12` without
the braces that LaTeX would need, since nobody writes it for 10^1 times 2.
"""

import re
import unicodedata
from fractions import Fraction

_LONGEST_ANSWER = 1000
"""Characters. Longer text is no answer but an essay; it keeps every pattern below fast on hostile text."""
_MOST_DIGITS = 200
"""More digits than any answer has, written out or through an exponent."""

_THIN = "\u2009"
_SAME = dict.fromkeys("−–‐‑‒﹣－", "-") | dict.fromkeys("＋﹢", "+") | dict.fromkeys("⁄∕／", "/")
_SAME |= dict.fromkeys("，٬", ",") | dict.fromkeys("．٫", ".") | dict.fromkeys("％٪﹪", "%") | {"＝": "=", "：": ":"}
_SAME |= dict.fromkeys("×⋅·∗✕", "*") | {"°": " degrees ", "º": " degrees ", "’": "'"}
_SAME |= dict.fromkeys("\u00a0\u2007\u2008\u2009\u200a\u202f", _THIN)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")

_SHORT_INTEGER = re.compile(r"-?[0-9]{1,18}")
_LATEX = (
    (re.compile(r"\\!|\\displaystyle|\\left|\\right"), ""),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;:]|\\thinspace|~"), _THIN),
    (re.compile(r"\\ |\\quad|\s+(?<!\u2009)"), " "),
    (re.compile(r"\^\s*(?:\\circ|\{\s*\\circ\s*\})|\\degree"), " degrees "),
    (re.compile(r"\\([$%])"), r"\1"),
    (re.compile(r"\\(?:times|cdot)(?![A-Za-z])"), "*"),
)
_COMMAND = re.compile(
    r"\\(?:boxed|text|textbf|textit|textrm|emph|mathrm|mathbf|mathit|mathsf|mbox|operatorname)\s*"
    r"\{((?:[^{}]|\{[^{}]*\})*)\}"
)
_AROUND = re.compile(r"\s*(?:\*\*?|__?|`|\\\(|\\\[|\{)\s*(.*?)\s*(?:\*\*?|__?|`|\\\)|\\\]|\})\s*", re.DOTALL)
_THOUSANDS = re.compile(
    r"(?<![0-9.,\u2009])[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:\u2009[0-9]{3})+)(?![,\u2009]?[0-9])(?!\.[0-9]+[,\u2009])"
)

_NAME = re.compile(r"(?:[^\W\d_]|(?<=[^\W\d_])-(?=[^\W\d_])|[\s\\(){}._,'$])*")
_CALCULATION = re.compile(
    r"(?=.*[+*/÷]|.*[0-9)]\s*-|.*frac)(?:[0-9.,%$\s(){}+*/÷^-]|\\(?:div|[dt]?frac)(?![A-Za-z]))+", re.DOTALL
)

_N = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_E = rf"({_N})(?:[eE]([+-]?[0-9]+))?"
_POWER = r"\s*\^\s*(?:\{\s*([+-]?[0-9]+)\s*\}|([+-]?[0-9]+))"
_FRAC = (
    rf"\\[dt]?frac\s*(?:\{{\s*([+-]?{_N})\s*\}}\s*\{{\s*([+-]?{_N})\s*\}}"
    r"|\s([0-9])\s*([0-9])(?![0-9])|([0-9])([0-9])(?![0-9]))"
)
_MONEY = r"(?:[A-Z]{0,3}\$|(?:USD|EUR|GBP|INR|CAD|AUD|CHF|JPY|CNY|Rs\.?)(?=[\s0-9.+-])|\s)*"
_SIGN = re.compile(rf"{_MONEY}([+-]?){_MONEY}")
_SCIENTIFIC = re.compile(rf"({_N})\s*[*xX]\s*10{_POWER}")
_BARE_POWER = re.compile(rf"({_N}){_POWER}")
_MIXED = re.compile(rf"([0-9]+)(?:\s*{_FRAC}|\s+([0-9]+)\s*/\s*([0-9]+))")
_FRACTION = re.compile(_FRAC)
_QUOTIENT = re.compile(rf"{_E}\s*/\s*([+-]?){_E}")
_PLAIN = re.compile(_E)

_UNIT = re.compile(r"[%$\s]*(?:(?:[(/]\s*)?[^\W\d_](?:[^\W\d_]|[\s.,;:'/()%$-])*(?:\^\s*(?:[23]|\{[23]\}))?)?[.,;:]?")
_LETTER_UNITS = frozenset("acdghlmstACFJLNVW")
"""Single letters that are units. Any other is a variable (18x), a constant (3e, 2i) or a factor (5k, 5M)."""
_CHANGES_THE_NUMBER = re.compile(
    r"\b(?:and|or|to|plus|minus|squared|cubed|factorial|dozens?|score|gross|grand|lakhs?|crores?|mn|bn|mil"
    r"|hal(?:f|ves)|thirds?|fourths?|quarters?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?|hundredths?"
    r"|thousandths?|hundreds?|thousands?|[mb]illions?|trillions?|zero|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)\b",
    re.IGNORECASE,
)


def number_of(text: str) -> Fraction | None:
    """Return the one number that an answer consists of, None where it is not one number.

    Args:
        text: a gold answer, or what an extractor found in a completion; any text at all.
    """
    if _SHORT_INTEGER.fullmatch(text):
        return Fraction(int(text))
    if len(text) > _LONGEST_ANSWER or ".." in text or "…" in text:
        return None
    answer = _without_name(_unwrapped(text if text.isascii() else _plain_signs(text)))
    if answer is None:
        return None
    answer = _THOUSANDS.sub(lambda found: found[0].replace(",", "").replace(_THIN, ""), answer)
    answer = answer.replace(_THIN, " ").strip()
    sign = _SIGN.match(answer)
    begin = sign.end() if sign else 0
    value, end = _value(answer, begin, is_signed=bool(sign and sign[1]))
    if value is None or not _is_unit(answer[end:]):
        return None
    return -value if sign and sign[1] == "-" else value


def _plain_signs(text: str) -> str:
    """Write digits, signs and spaces of other scripts as ASCII has them; what nobody sees is left out."""
    text = _RAISED.sub(lambda found: f"^{{{found[0].translate(_SUPERSCRIPTS)}}}", text)
    return "".join(character if character < "\x80" else _plain_sign(character) for character in text)


def _plain_sign(character: str) -> str:
    if character in _SAME:
        return _SAME[character]
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(character)
    if category == "No" and unicodedata.decomposition(character).startswith("<fraction>"):
        return f" {unicodedata.normalize('NFKD', character).replace('⁄', '/')} "
    return {"Sc": "$", "Zs": " ", "Cf": ""}.get(category, character)


def _unwrapped(text: str) -> str:
    for pattern, plain in _LATEX:
        text = pattern.sub(plain, text)
    for _ in range(4):
        before = text
        text = _COMMAND.sub(r" \1 ", text).strip(" \t\r\n")
        around = _AROUND.fullmatch(text)
        if around is not None and "{" not in around[1] and "}" not in around[1]:
            text = around[1]
        elif text.startswith("$") and text.endswith("$"):
            text = text[1:].rstrip("$")
        if text == before:
            break
    return text


def _without_name(text: str) -> str | None:
    """Return what follows `name:`, `name =` or a calculation and `=`; None where the `=` says something else."""
    name, colon, rest = text.partition(":")
    if colon and rest and _NAME.fullmatch(name):
        text = rest
    left, equals, right = text.partition("=")
    if not equals:
        return text
    return right if _NAME.fullmatch(left) or _CALCULATION.fullmatch(left) else None


def _value(text: str, begin: int, *, is_signed: bool) -> tuple[Fraction | None, int]:
    """Return the number that starts here without its sign, and where it ends."""
    if found := _SCIENTIFIC.match(text, begin):
        return _scaled(found[1], found[2] or found[3]), found.end()
    if found := _BARE_POWER.match(text, begin):
        return None if is_signed else _power(found[1], found[2] or found[3]), found.end()
    if found := _MIXED.match(text, begin):
        part = _ratio(*[piece for piece in found.groups()[1:] if piece is not None])
        whole = _scaled(found[1], None)
        proper = part is not None and whole is not None and 0 < part < 1
        return whole + part if proper and part is not None and whole is not None else None, found.end()
    if found := _FRACTION.match(text, begin):
        return _ratio(*[piece for piece in found.groups() if piece is not None]), found.end()
    if found := _QUOTIENT.match(text, begin):
        above, below = _scaled(found[1], found[2]), _scaled(found[3] + found[4], found[5])
        return above / below if above is not None and below else None, found.end()
    if found := _PLAIN.match(text, begin):
        return _scaled(found[1], found[2]), found.end()
    return None, begin


def _is_unit(text: str) -> bool:
    """Say whether what follows a number is nothing, a sign or a unit in words, and leaves the number as it is."""
    if not text:
        return True
    if not _UNIT.fullmatch(text) or _CHANGES_THE_NUMBER.search(text):
        return False
    words = re.findall(r"[^\W\d_]+", text)
    if words and len(words[0]) == 1 and words[0].isascii() and words[0] not in _LETTER_UNITS:
        return False
    return not any(
        character in "πφ" or unicodedata.numeric(character, None) is not None
        for character in text
        if character > "\x7f"
    )


def _scaled(digits: str, exponent: str | None) -> Fraction | None:
    power = _small_integer(exponent) if exponent is not None else 0
    if power is None or len(digits) + abs(power) > _MOST_DIGITS:
        return None
    return Fraction(digits) * Fraction(10) ** power


def _power(base: str, exponent: str) -> Fraction | None:
    power = _small_integer(exponent)
    if power is None or len(base) * abs(power) > _MOST_DIGITS or len(base) > _MOST_DIGITS:
        return None
    value = Fraction(base)
    return value**power if value or power > 0 else None


def _ratio(numerator: str, denominator: str) -> Fraction | None:
    above, below = _scaled(numerator, None), _scaled(denominator, None)
    return above / below if above is not None and below else None


def _small_integer(text: str) -> int | None:
    digits = text.lstrip("+-").lstrip("0")
    return int(text) if len(digits) <= 4 else None
