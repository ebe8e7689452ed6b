"""JSON, JUnit, GitHub and terminal: the contract's keys, and no text that escapes its place."""

import io
import json
import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from reports.emitters.contracts import checks_object, decision_object
from reports.emitters.github import checks_github, decision_github
from reports.emitters.json import dumps
from reports.emitters.junit import checks_junit, decision_junit
from reports.emitters.table import checks_table, decision_text, write

DECISION_KEYS = {"verdict", "registered", "method", "guarantee", "alpha", "n_items", "criteria", "reasons"}
CRITERION_KEYS = {"id", "estimate", "lower", "upper", "margin", "band", "p_value", "counts"}
CHECK_KEYS = {
    "id", "status", "value", "limit", "numerator", "denominator", "rows_examined", "definition", "arm", "reason",
    "evidence", "sql",
}  # fmt: skip


def written(result, **options):
    stream = io.StringIO()
    write(result, stream, **options)
    return stream.getvalue()


def test_decide_json_keeps_its_contract(make):
    printed = json.loads(dumps(decision_object(make.decision())))
    assert set(printed) >= DECISION_KEYS | {"schema_version"}
    (criterion,) = printed["criteria"]
    assert set(criterion) >= CRITERION_KEYS
    assert criterion["counts"] == {"both": 702, "only_treatment": 171, "only_baseline": 116, "neither": 330}
    assert (criterion["lower"], criterion["margin"], criterion["band"]) == (0.011, 0.01, 0.008)
    assert printed["exploratory"][0]["method"] == "paired_bernstein"


def test_gate_json_keeps_its_contract(pages):
    printed = json.loads(dumps(checks_object(pages["void"]["gate"])))
    assert printed["status"] == "fail"
    for check in printed["checks"]:
        assert set(check) >= CHECK_KEYS
        assert set(check["limit"]) == {"min", "max", "one_of"}
    assert printed["checks"][2]["limit"] == {"min": None, "max": None, "one_of": ["ratio", "score"]}


@pytest.mark.parametrize("kind", ["validated", "void", "inconclusive", "not_numbers"])
def test_every_missing_number_has_its_reason_beside_it(pages, kind):
    numbers = {"estimate", "lower", "upper", "p_value", "band", "counts", "value", "numerator", "denominator"}

    def walk(value):
        if isinstance(value, dict):
            for key in numbers & set(value):
                assert (value[key] is None) == (key in value["null_reasons"]), key
            for name, item in value.items():
                if name != "null_reasons":
                    walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    page = pages[kind]
    walk(json.loads(dumps({**decision_object(page["decision"]), "gate": checks_object(page["gate"])})))


def test_a_value_that_is_no_number_is_null_and_says_why(make):
    printed = checks_object(make.gate(make.check(value=math.nan, reason=None)))
    assert printed["checks"][0]["value"] is None
    assert printed["checks"][0]["reason"]
    assert printed["checks"][0]["null_reasons"]["value"] == "not a number"


def test_junit_has_one_case_a_check_and_a_kind_for_each_status(pages):
    suite = ElementTree.fromstring(checks_junit(pages["void"]["gate"])).find("testsuite")
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [["failure"], ["error"], ["system-out"], ["skipped"], ["skipped"], ["system-out"]]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "1", "errors": "1", "skipped": "2",
    }  # fmt: skip


def test_junit_of_no_checks_is_an_error_not_a_green_suite(make):
    suite = ElementTree.fromstring(checks_junit(make.gate(status="inconclusive"))).find("testsuite")
    assert suite.get("errors") == "1"


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("validated", "system-out"),
        ("refuted", "failure"),
        ("tie", "failure"),
        ("inconclusive", "error"),
        ("void", "error"),
    ],
)
def test_junit_of_a_decision_follows_the_exit_code(make, verdict, kind):
    root = ElementTree.fromstring(decision_junit(make.decision(verdict=verdict)))
    assert root.find(f"testsuite/testcase/{kind}") is not None


def test_junit_is_well_formed_for_any_character(make):
    every = "".join(chr(point) for point in [*range(0x20), 0x7F, 0x85, 0xD800, 0xFFFE, 0xFFFF, 0x1F600]) + "]]>&<\"'"
    page = make.hostile(every)
    for document in (checks_junit(page["gate"]), decision_junit(page["decision"])):
        ElementTree.fromstring(document.encode("utf-8"))


COMMAND = re.compile(r"^::(error|warning|notice) file=[^:,\n\r]*,title=[^:,\n\r]*::[^\n\r]*$")


def test_no_text_can_start_another_workflow_command(pages, make):
    page = make.hostile("x\n::set-output name=a::b\r::error::c ##[add-mask]d %0A%25,title=e::f")
    printed = checks_github(page["gate"], file="a,b:c\n::stop-commands::x") + "\n" + decision_github(
        page["decision"], file="plan.json"
    )  # fmt: skip
    lines = printed.split("\n")
    assert len(lines) == 4
    for line in lines:
        assert COMMAND.match(line), line[:200]
        assert "##[" not in line
        assert not re.search("%(?!25|0A|0D|3A|2C)", line)


def test_github_annotates_what_needs_a_reader_only(pages):
    lines = checks_github(pages["void"]["gate"], file="plan.json").split("\n")
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "::error", "::warning", "::notice"]
    passed = checks_github(pages["validated"]["gate"], file="plan.json")
    assert passed.startswith("::notice")
    assert "\n" not in passed


@pytest.mark.parametrize("kind", ["validated", "void", "inconclusive", "not_numbers", "hostile"])
def test_piped_tables_fit_80_columns_without_escapes(pages, kind, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    page = pages[kind]
    for result in (checks_table(page["gate"]), decision_text(page["decision"])):
        printed = written(result)
        assert "\x1b" not in printed
        assert max(map(len, printed.split("\n"))) <= 80


def test_the_terminal_says_the_decision_first(pages):
    page = pages["void"]
    assert written(checks_table(page["gate"])).startswith("✕ FAIL  audit gate runs/pilot: 1 fail, 1 inconclusive")
    assert written(decision_text(page["decision"])).startswith("∅ VOID  No claim may be made")


def test_the_terminal_gives_denominators_definitions_and_commands(pages):
    printed = written(checks_table(pages["void"]["gate"]), width=200)
    assert "0 of 41,230, 41,230 rows read · dppo_binary_tv@sampler/loss_tokens" in printed
    assert 'audit sql runs/pilot "select arm,' in printed
    decided = written(decision_text(pages["validated"]["decision"]), width=200)
    assert "only treatment 171, only baseline 116" in decided
    assert "audit decide runs/full --method paired_hoeffding" in decided


def test_a_terminal_gets_colour_and_no_color_takes_it_away(pages, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    for no_color, coloured in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        stream = Terminal()
        write(checks_table(pages["void"]["gate"]), stream, width=80)
        assert ("\x1b[" in stream.getvalue()) == coloured


def test_emitting_json_loads_no_drawing_library():
    code = (
        "import sys, reports.emitters.contracts, reports.emitters.json, reports.emitters.github, "
        "reports.emitters.junit, reports.emitters.table, reports.model, reports.emitters.html;"
        "print(sorted({'altair', 'jinja2', 'vl_convert', 'rich', 'duckdb', 'polars'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
