"""A report as Markdown for a pull request: the verdict first, then what a reader must know, then how to have it again.

The text is GitHub-flavoured. Foreign text is escaped so that it can become neither markup nor a mention, link or
reference; command lines stand in fences longer than any run of backticks inside them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from audits.engine.check import Check, CheckReport
from reports.display import REDACTED, count, status_sign, status_word, text
from reports.emitters.lines import check_name, figure_line
from reports.model import ReportModel
from reports.parts import Section, Table
from reports.sections.gate import GateSection, by_severity, remarks
from reports.sections.verdict import VerdictSection

LIMIT = 60_000
COMMANDS_LIMIT = 20_000
SHOWN_ROWS = 40
SHOWN_FINDINGS = 15
SHOWN_REMARKS = 4
# Renders as nothing, and parts what GitHub would read as a mention, a reference or a link.
_GAP = "&#8203;"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
_REFERENCES = re.compile(r"@|#(?=\w)|:(?=//|[a-z+-][\w+-]*:)|(?<=www)\.|(?<=GH)-(?=\d)", re.IGNORECASE)
_OPENING = re.compile(r"^([-+](?=[-\s]|$)|[=#]|\d+(?=[.)](?:\s|$)))")


def render_markdown(model: ReportModel, findings: Mapping[str, CheckReport]) -> str:
    """Return a report as Markdown of at most 60,000 characters; what has no room is counted.

    Args:
        model: the page.
        findings: checks by what they are; those that need a reader are listed with their reasons.
    """
    blocks = [*_opening(model), *_needing_a_reader(findings), *_others(model), *_commands(model)]
    ending = f"parts are left out for length; `audit report` writes them all: {escaped(model.run)}"
    kept: list[str] = []
    room = LIMIT - len(ending) - 20
    for block in blocks:
        room -= len(block) + 2
        if room < 0:
            break
        kept.append(block)
    left_out = len(blocks) - len(kept)
    if left_out:
        kept.append(f"{count(left_out)} {ending}")
    return "\n\n".join(kept) + "\n"


def escaped(value: str) -> str:
    """Return text that Markdown shows as it is, on one line, at the start of a line or inside it or in a cell."""
    safe = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], value.replace("\n", " ").strip())
    safe = _MARKUP.sub(lambda found: "\\" + found[0], safe)
    safe = _REFERENCES.sub(lambda found: found[0] + _GAP, safe)
    return _OPENING.sub(lambda found: found[0] + _GAP if found[0].isdigit() else "\\" + found[0], safe)


def _opening(model: ReportModel) -> Iterator[str]:
    """Yield the first group's sections whole: there the claim is made or not."""
    first, *rest = model.groups[0].sections
    if isinstance(first, VerdictSection):
        yield f"## {escaped(first.sign)} {escaped(first.word)}: {escaped(first.takeaway)}"
        yield f"{escaped(model.kind)}: **{escaped(model.title)}**"
        if model.redacted:
            yield REDACTED
        if first.claim:
            yield f"**Claim:** {escaped(first.claim)}"
        said = [*(f"because {reason}" for reason in first.reasons), *(f"against it: {one}" for one in first.against)]
        yield from _bullets([*first.sentences, *said])
        if first.speaks:
            yield f"> {escaped(first.speaks)}"
        yield _grid(("Fact", "Value"), [(fact.name, fact.value) for fact in first.facts], (False, False))
    else:
        yield f"## {escaped(model.kind)}: {escaped(model.title)}"
        if model.redacted:
            yield REDACTED
        rest = [first, *rest]
    for section in (*rest, *(item for item in model.sections if isinstance(item, GateSection))):
        yield from _whole(section)


def _whole(section: Section) -> Iterator[str]:
    yield f"### {escaped(section.title)}"
    yield escaped(section.takeaway)
    if isinstance(section, GateSection):
        yield from _bullets(section.reasons)
        if section.rows:
            head = ("Check", "Arm", "Status", "Value", "Limit", "Counted")
            rows = [(r.id, r.arm, f"{r.sign} {r.word}", r.value, r.limit, r.counted) for r in section.rows]
            yield from _table(head, rows, (False, False, False, True, True, True))
    for table in section.tables:
        if not table.folded:
            yield from _captioned(table)
    if not isinstance(section, GateSection):
        # The gate's notes speak of its profiles, which stand on the page only.
        yield from _bullets(section.notes)


def _captioned(table: Table) -> Iterator[str]:
    yield f"**{escaped(table.caption)}**"
    yield from _table(
        [column.name for column in table.columns], table.rows, [column.numeric for column in table.columns]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> Iterator[str]:
    yield _grid(head, rows[:SHOWN_ROWS], numeric)
    if len(rows) > SHOWN_ROWS:
        yield f"{count(len(rows) - SHOWN_ROWS)} more rows stand on the page."


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool]) -> str:
    rules = ["---:" if right else "---" for right in numeric]
    lines = [_row([escaped(name) for name in head]), _row(rules)]
    return "\n".join([*lines, *(_row([escaped(cell) for cell in row]) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _needing_a_reader(findings: Mapping[str, CheckReport]) -> Iterator[str]:
    loud = [
        (name, check)
        for name, report in findings.items()
        for check in by_severity(report.checks)
        if check.status not in {"pass", "not_applicable"}
    ]
    if not findings:
        return
    yield "### What needs a reader"
    if not loud:
        kinds = ", ".join(name for name, report in findings.items() if report.checks)
        yield f"Nothing: every check ({escaped(kinds)}) passes or does not apply." if kinds else "No check was made."
        return
    for name, check in loud[:SHOWN_FINDINGS]:
        yield _finding(name, check)
    if len(loud) > SHOWN_FINDINGS:
        yield f"{count(len(loud) - SHOWN_FINDINGS)} more findings stand on the page."


def _finding(name: str, check: Check) -> str:
    status = f"{status_sign(check.status)} {status_word(check.status)}"
    line = f"- {escaped(status)} · {escaped(name)} · **{escaped(check_name(check))}**: {escaped(figure_line(check))}"
    said = remarks(check)
    more = [f"{count(len(said) - SHOWN_REMARKS)} more remarks stand on the page."] if len(said) > SHOWN_REMARKS else []
    return "\n".join([line, *(f"  - {escaped(text(remark, 300))}" for remark in [*said[:SHOWN_REMARKS], *more])])


def _others(model: ReportModel) -> Iterator[str]:
    """Yield the sentence of every other section, under its group's name."""
    for group in model.groups[1:]:
        said = [
            f"- **{escaped(section.title)}**: {escaped(section.takeaway)}"
            for section in group.sections
            if not isinstance(section, GateSection)
        ]
        if said:
            yield f"### {escaped(group.name)}"
            yield "\n".join(said)


def _commands(model: ReportModel) -> Iterator[str]:
    """Yield every command line once, under what it gives, folded."""
    lines: dict[str, str] = {}
    for section in model.sections:
        for command in section.commands:
            lines.setdefault(command.text, f"# {section.title}: {command.gives}")
    shown = list(_within(lines.items(), COMMANDS_LIMIT))
    body = "\n".join(f"{said}\n{line}" for line, said in shown)
    if len(shown) < len(lines):
        body += f"\n# {count(len(lines) - len(shown))} more commands stand on the page."
    fence = "`" * max([3, *(len(found) + 1 for found in re.findall("`+", body))])
    summary = "<summary>The commands that give these numbers again</summary>"
    yield f"<details>\n{summary}\n\n{fence}sh\n{body}\n{fence}\n\n</details>"


def _within(pairs: Iterable[tuple[str, str]], room: int) -> Iterator[tuple[str, str]]:
    for line, said in pairs:
        room -= len(line) + len(said) + 2
        if room < 0:
            return
        yield line, said


def _bullets(sentences: Iterable[str]) -> Iterator[str]:
    lines = [f"- {escaped(sentence)}" for sentence in sentences]
    if lines:
        yield "\n".join(lines)
