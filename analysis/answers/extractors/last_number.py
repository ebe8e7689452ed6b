r"""The last number in the text, whatever it stands for: the usual lenient fallback.

A number is read whole: `8,000` is not `000`, a bare comma is no number (`72 clips, altogether.` ends in 72), the dot of
`$18.` ends the sentence. Fractions, mixed numbers, powers and scientific notation count as one number; exponents
(`18 cm^2`) and indices (`x_1`) are none. A sign counts where no word, digit or bracket stands before it: `45-82` ends
in 82.
"""

import re
from collections import deque
from collections.abc import Iterator

STRICT = False

_DIGITS = r"(?:\d+(?:,\d+|(?:\\,|\{,\}|,\\!|[\u2009\u202f\u00a0])\d{3}(?!\d))*(?:\.\d+)?|(?<![\w.])\.\d+)"
_RAISED = r"(?:[ \t]*\^[ \t]*(?:\{[ \t]*[+-]?\d+[ \t]*\}|[+-]?\d+)|[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+)"
_FRAC = r"\\[dt]?frac[ \t]*\{[ \t]*[+-]?[\d.,]+[ \t]*\}[ \t]*\{[ \t]*[+-]?[\d.,]+[ \t]*\}"
_NUMBER = re.compile(
    # Where no number can begin, the engine need not try the rest.
    r"(?=[\d.$€£¥+−–﹣－\\½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞-])"
    r"(?<![\d^_])(?<!\d[.,])(?<![\^_][{+−-])(?<!\^\{[+−-])"
    r"(?:(?<![\w)\]}.])[+−–﹣－-])?(?:\\?\$|[€£¥])?(?:(?<=[$€£¥])[−-])?"
    rf"(?:{_FRAC}|{_DIGITS}"
    rf"(?:{_FRAC}|[ \t]?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]|[ \t]\d+/\d+(?![\d/])|[eE][+-]?\d+(?!\w)|/[+-]?{_DIGITS}(?!/)"
    rf"|[ \t]*(?:\\times|\\cdot|[×·*])[ \t]*10{_RAISED}|{_RAISED})?|[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])"
)
_FEW = 8
"""Characters that are looked at together, from the end, in whole lines: no number goes over the end of a line."""


def extract(completion: str) -> tuple[str | None, str]:
    """Return the last number as it is written, and how it was found or why it was not.

    Args:
        completion: decoded text without special tokens.

    Returns:
        The number's text, or None; and `last_number` or `no_number`.
    """
    end = len(completion)
    while end:
        begin = completion.rfind("\n", 0, max(end - _FEW, 0)) + 1
        last = next(iter(deque(_NUMBER.finditer(completion, begin, end), maxlen=1)), None)
        if last is not None:
            return last[0], "last_number"
        end = begin
    return None, "no_number"


def numbers_in(completion: str) -> Iterator[str]:
    """Yield every number of a completion as it is written, from first to last.

    Args:
        completion: decoded text without special tokens.
    """
    return (found[0] for found in _NUMBER.finditer(completion))
