"""JUnit XML: one test case a check. Fail is a failure, inconclusive an error, not applicable and waived are skipped."""

from xml.etree import ElementTree

from audits.engine.check import Check, CheckReport
from audits.engine.decision import DecisionReport
from reports.display import text
from reports.emitters.lines import again_command, check_lines, check_name, decision_lines
from reports.verdicts import head

_OUTCOMES = {"fail": "failure", "inconclusive": "error", "not_applicable": "skipped", "waived": "skipped"}


def checks_junit(report: CheckReport, *, command: str = "gate") -> str:
    """Return the checks as a JUnit document.

    Args:
        report: the checks.
        command: the command that ran, the suite's name.
    """
    suite = _suite(f"audit {command}")
    # A report whose checks could not start must not read as a green suite.
    if not report.checks:
        case = _case(suite, report.run, "checks")
        _outcome(case, _OUTCOMES.get(report.status, "error"), "no check was made", [text(r) for r in report.reasons])
    for check in report.checks:
        _check(_case(suite, report.run, check_name(check)), report.run, check)
    return _document(suite)


def decision_junit(report: DecisionReport) -> str:
    """Return the decision as a JUnit document: refuted and tie are failures, inconclusive and void errors."""
    suite = _suite("audit decide")
    case = _case(suite, report.run, f"decision ({text(report.method, 60)})")
    lines = decision_lines(report)
    if report.exit_code:
        _outcome(
            case, "failure" if report.exit_code == 1 else "error", f"{text(report.verdict, 60)}: {head(report)}", lines
        )
    else:
        ElementTree.SubElement(case, "system-out").text = _xml("\n".join([head(report), *lines]))
    return _document(suite)


def _check(case: ElementTree.Element, run: str, check: Check) -> None:
    lines = check_lines(check)
    again = again_command(run, check)
    if again:
        lines.append(again)
    outcome = _OUTCOMES.get(check.status, None if check.status in {"pass", "warn"} else "error")
    if outcome is None:
        ElementTree.SubElement(case, "system-out").text = _xml("\n".join([check.status, *lines]))
    else:
        _outcome(case, outcome, f"{check.status}: {lines[0]}", lines)


def _suite(name: str) -> ElementTree.Element:
    return ElementTree.Element("testsuite", {"name": name})


def _case(suite: ElementTree.Element, run: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", {"classname": _xml(text(run)), "name": _xml(name)})


def _outcome(case: ElementTree.Element, kind: str, message: str, lines: list[str]) -> None:
    element = ElementTree.SubElement(case, kind, {"message": _xml(message)})
    element.text = _xml("\n".join(lines))


def _document(suite: ElementTree.Element) -> str:
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def _xml(value: str) -> str:
    """Return text with the characters that XML 1.0 forbids shown as escapes; ElementTree would write them."""
    return "".join(character if _allowed(ord(character)) else f"\\u{ord(character):04x}" for character in value)


def _allowed(point: int) -> bool:
    return point in (0x9, 0xA) or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000
