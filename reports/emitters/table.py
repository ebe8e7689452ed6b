"""Results for a terminal: the decision line first, 80 columns, no colour codes where no terminal listens."""

import io
import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from analysis.printable import printable
from audits.engine.check import Check, CheckReport
from audits.engine.decision import CriterionResult, DecisionReport
from reports.display import VERDICT_SIGNS, count, number, status_sign, status_word, text
from reports.emitters.lines import again_command, check_name
from reports.sections.gate import SEVERITY, by_severity, counted_text, limit_text, remarks, value_text
from reports.verdicts import (
    against_sentences,
    audited_sentence,
    brief_interval,
    compared,
    decide_command,
    guarantee,
    head,
    interval_sentence,
    speaks_of,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PIPED_WIDTH = 80
_STYLES = {"pass": "green", "fail": "bold red", "inconclusive": "yellow", "warn": "yellow", "waived": "cyan"}
_VERDICT_STYLES = {"validated": "bold green", "refuted": "bold red", "tie": "bold cyan", "void": "bold red"}


def write(result: "RenderableType", stream: TextIO, *, width: int | None = None) -> None:
    """Write a renderable to a stream: coloured on a terminal, plain and 80 columns wide elsewhere.

    Args:
        result: what `checks_table` or `decision_text` returned.
        stream: standard output, or a file.
        width: columns; None takes the terminal's, and 80 without a terminal.
    """
    from rich.console import Console

    terminal = stream.isatty()
    plain = not terminal or bool(os.environ.get("NO_COLOR"))
    buffer = io.StringIO()
    console = Console(
        file=buffer if not terminal else stream,
        width=width or (None if terminal else PIPED_WIDTH),
        force_terminal=terminal,
        color_system=None if plain else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(result, soft_wrap=False)
    if not terminal:
        # Padding to the full width is noise in a file.
        stream.write("".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines()))


def checks_table(
    report: CheckReport, *, width: int | None = None, command: str = "gate", brief: bool = False
) -> "RenderableType":
    """Return the checks for a terminal, the whole's status first, then each check, those that need a reader first.

    Args:
        report: the checks.
        width: columns to lay out for; None leaves it to `write`.
        command: the command that ran.
        brief: checks that passed or do not apply are named in a line each kind, and their figures left out.
    """
    from rich.console import Group
    from rich.text import Text

    tally: Counter[str] = Counter(check.status for check in report.checks)
    counted = ", ".join(f"{count(tally[status])} {status_word(status)}" for status in SEVERITY if tally[status])
    first = Text.assemble(
        (f"{status_sign(report.status)} {status_word(report.status).upper()}", _STYLES.get(report.status, "")),
        f"  audit {command} {text(report.run, 120)}: {counted or 'no check was made'}",
    )
    grid = _grid(width)
    quiet = ("pass", "not_applicable") if brief else ()
    alike = _lacking_alike(report.checks)
    for check in by_severity(report.checks):
        if check.status in quiet:
            continue
        same = alike.get(check.reason or "", []) if _is_lacking(check) else []
        if same and check is not same[0]:
            continue
        label = f"{status_sign(check.status)} {status_word(check.status)}"
        grid.add_row(
            Text(label, style=_STYLES.get(check.status, "")),
            _body(report.run, check) if not same else _lacking_body(same),
        )
    for status in quiet:
        names = ", ".join(check_name(check) for check in report.checks if check.status == status)
        if names:
            label = f"{status_sign(status)} {status_word(status)}"
            grid.add_row(Text(label, style=_STYLES.get(status, "")), Text(names))
    reasons = [Text(f"because {text(reason)}") for reason in report.reasons]
    if not report.checks:
        return Group(first, *reasons)
    return Group(first, *reasons, Text(""), grid)


def _is_lacking(check: Check) -> bool:
    """Return whether an audit had nothing to look at, so that the reason is all that there is to say of it."""
    bare = check.value is None and not check.rows_examined and not check.notes
    return check.status == "inconclusive" and check.unit == "offending rows" and bare and bool(check.reason)


def _lacking_alike(checks: Iterable[Check]) -> dict[str, list[Check]]:
    """Return the audits that lack evidence, by the reason that they share."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        if _is_lacking(check):
            found.setdefault(check.reason or "", []).append(check)
    return found


def _lacking_body(same: list[Check]) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    names = ", ".join(check_name(check) for check in same)
    return Group(Text(names, "bold"), Text(text(same[0].reason or "")))


def decision_text(report: DecisionReport, *, width: int | None = None) -> "RenderableType":
    """Return the decision for a terminal: verdict and sentence first, then intervals, counts and reasons."""
    from rich.console import Group
    from rich.text import Text

    sign = VERDICT_SIGNS.get(report.verdict, "?")
    first = Text.assemble(
        (f"{sign} {text(report.verdict, 60).upper()}", _VERDICT_STYLES.get(report.verdict, "bold yellow")),
        f"  {head(report)}",
    )
    sentences = [Text(_capital(interval_sentence(report, item))) for item in report.criteria]
    reasons = [Text(f"because {text(reason)}") for reason in report.reasons]
    grid = _grid(width)
    for name, value in _facts(report):
        grid.add_row(Text(name, style="dim"), Text(value))
    return Group(first, *reasons, *sentences, Text(""), grid, Text(""), Text(speaks_of(report, None)))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:] if sentence.startswith("estimated") else sentence


def _grid(width: int | None) -> "Table":
    from rich.table import Table

    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.width = width
    grid.add_column(no_wrap=True)
    # A path longer than the line is broken: an ellipsis in a command could not be typed.
    grid.add_column(overflow="fold")
    return grid


def _body(run: str, check: Check) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    lines = [
        Text.assemble((check_name(check), "bold"), f"  {value_text(check)}{_limit(check)}"),
        Text(f"{_counted(check)}{count(check.rows_examined)} rows read · {text(check.definition, 200)}", "dim"),
    ]
    lines += [Text(remark) for remark in remarks(check)]
    again = again_command(run, check) if check.status not in {"pass", "not_applicable"} else None
    lines += [Text(printable(line), "dim") for line in again.split("\n")] if again else []
    return Group(*lines)


def _counted(check: Check) -> str:
    counted = counted_text(check)
    return f"{counted}, " if counted else ""


def _limit(check: Check) -> str:
    return "" if check.limit is None else f", limit {limit_text(check)}"


def _facts(report: DecisionReport) -> list[tuple[str, str]]:
    facts = [
        *(("against it", sentence) for sentence in against_sentences(report)),
        ("compared", compared(report)),
        ("difference", text(report.estimand) or "not named"),
        ("items", f"{count(report.n_items)} pairs"),
        *([] if report.n_seeds is None else [("seeds", f"{count(report.n_seeds)} training seeds an arm")]),
        ("method", f"{text(report.method, 60)}, alpha {report.alpha:g}"),
        ("guarantee", guarantee(report.guarantee)),
        ("assumes", text(report.assumption) or "not named"),
        ("integrity", audited_sentence(report)),
        ("registered", "yes" if report.registered else "no"),
        ("plan", text(report.plan_sha256, 80) if report.plan_sha256 else "no sealed plan"),
    ]
    for criterion in report.criteria:
        facts += _criterion_facts(criterion, len(report.criteria) > 1)
    for other in report.exploratory:
        label = f"exploratory {text(other.method, 40)}"
        facts += [(label, _short(item)) for item in other.criteria] or [(label, text(other.reason or "no interval"))]
    again = decide_command(report)
    return [*facts, ("again", again)]


def _criterion_facts(criterion: CriterionResult, named: bool) -> list[tuple[str, str]]:
    counts, title = criterion.counts, f"{text(criterion.id, 40)}: " if named else ""
    found = []
    if counts is not None:
        found.append(
            (
                "right",
                f"{title}both {count(counts.both)}, only treatment {count(counts.only_treatment)}, "
                f"only baseline {count(counts.only_baseline)}, neither {count(counts.neither)}",
            )
        )
    if criterion.p_value is not None:
        found.append(("p-value", f"{title}{number(criterion.p_value)}, of the interval's method"))
    if criterion.mcnemar_exact is not None and criterion.mcnemar_mid_p is not None:
        p_values = f"exact {number(criterion.mcnemar_exact)}, mid-p {number(criterion.mcnemar_mid_p)}"
        found.append(("McNemar", f"{title}{p_values}, of no difference; they decide nothing"))
    return found


def _short(criterion: CriterionResult) -> str:
    verdict = text(criterion.verdict, 40)
    return f"{brief_interval(criterion)}: {verdict}, decides nothing"
