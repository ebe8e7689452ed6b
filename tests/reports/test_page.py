"""The page as text: same bytes for the same input, one policy, every section with its template."""

import base64
import hashlib
import html.parser
import os
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import reports
import reports.comparison
import reports.sections
from reports.emitters.html import render_html
from reports.model import build_report, section_modules
from reports.parts import ReportInputs, Section
from reports.vega import clean_svg

ROOT = Path(reports.__file__).parent
SIZE_LIMIT = 1_500_000


class Reader(html.parser.HTMLParser):
    """Collects what a browser would see as elements."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.ids, self.scripts, self._script = [], [], [], [], None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        self.ids += [value for key, value in attrs if key == "id"]
        self._script = dict(attrs) if tag == "script" else None

    def handle_data(self, data):
        if self._script is not None:
            self.scripts.append((self._script, data))
            self._script = None


@pytest.mark.parametrize("kind", ["validated", "void", "inconclusive", "empty", "not_numbers", "hostile", "long"])
def test_every_page_is_small_whole_and_asks_for_nothing(rendered, kind):
    page = rendered[kind]
    assert len(page.encode("utf-8")) < SIZE_LIMIT
    reader = Reader()
    reader.feed(page)
    assert len(reader.ids) == len(set(reader.ids))
    for tag, key, value in reader.attributes:
        assert not key.startswith("on")
        if key in {"src", "href", "action", "data", "poster", "srcset"}:
            assert (tag, key) == ("a", "href")
            assert value.startswith("#")
    assert not {"iframe", "object", "embed", "link", "form", "img", "base"} & set(reader.tags)


def test_the_policy_admits_the_pages_own_scripts_and_no_other(rendered):
    reader = Reader()
    reader.feed(rendered["hostile"])
    policy = next(value for tag, _, value in reader.attributes if tag == "meta" and value and "script-src" in value)
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    running = [text for attributes, text in reader.scripts if attributes.get("type") != "application/json"]
    assert allowed == {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running}
    assert len(running) == 2
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_the_same_input_gives_the_same_bytes_in_any_process(pages, rendered):
    code = (
        "import pickle, sys, hashlib;"
        "from reports.model import build_report; "
        "from reports.parts import ReportInputs; from reports.emitters.html import render_html;"
        "print(hashlib.sha256(render_html(build_report(ReportInputs(**pickle.load(sys.stdin.buffer)))).encode()).hexdigest())"
    )
    expected = hashlib.sha256(rendered["void"].encode()).hexdigest()
    result = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(pages["void"]),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "4711", "TZ": "UTC-9"},
    )
    assert result.stdout.decode().strip() == expected


def test_rendering_twice_in_one_process_changes_nothing(pages, rendered):
    assert render_html(build_report(ReportInputs(**pages["validated"]))) == rendered["validated"]


def test_a_page_is_built_in_time(pages):
    started = time.process_time()
    render_html(build_report(ReportInputs(**pages["inconclusive"])))
    assert time.process_time() - started < 6.0


@pytest.mark.parametrize("package", [reports.sections, reports.comparison])
def test_every_section_owes_an_order_and_a_docstring(package):
    found = section_modules(package)
    assert len(found) >= 5
    orders = [module.ORDER for _, module in found]
    assert len(set(orders)) == len(orders)
    for _, module in found:
        assert module.__doc__
    names = {name for name, _ in found}
    assert {path.name.removesuffix(".html.j2") for path in Path(package.__path__[0]).glob("*.j2")} <= names


def test_a_section_with_fields_of_its_own_has_a_template_that_reads_them(pages):
    own = {item.id for page in pages.values() for item in build_report(ReportInputs(**page)).sections
           if type(item) is not Section}  # fmt: skip
    assert {"verdict", "gate"} <= own
    for name in own:
        assert (ROOT / "sections" / f"{name}.html.j2").is_file()


def test_every_section_says_something_and_names_a_command(pages):
    for kind, page in pages.items():
        for item in build_report(ReportInputs(**page)).sections:
            assert item.takeaway.endswith((".", ":")) or item.takeaway
            assert item.commands or item.id == "interval" or kind == "empty"


def test_every_figure_has_a_sentence_a_label_and_a_table_beside_it(pages):
    for page in pages.values():
        for item in build_report(ReportInputs(**page)).sections:
            for figure in item.figures:
                assert figure.takeaway
                assert figure.label
                assert item.tables


def test_tables_name_their_rows_and_columns(rendered):
    page = rendered["void"].split("</main>")[0]
    tables = re.findall(r"<table.*?</table>", page, re.DOTALL)
    assert len(tables) >= 10
    for table in tables:
        assert table.count("<caption>") == table.count("<thead>") == 1
        assert 'scope="col"' in table
        assert 'scope="row"' in table


@pytest.mark.parametrize(
    "inside",
    [
        "<script>1</script>",
        "<image href='x.png'/>",
        "<foreignObject/>",
        "<rect onclick='x()'/>",
        "<a href='javascript:1'><rect/></a>",
    ],
)
def test_a_drawing_that_could_do_something_is_refused(inside):
    with pytest.raises(ValueError, match="unexpected"):
        clean_svg(f'<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>', "x")


def test_two_drawings_never_share_an_id():
    raw = '<svg xmlns="http://www.w3.org/2000/svg"><clipPath id="c"/><g clip-path="url(#c)"><rect/></g></svg>'
    assert 'id="a-0"' in clean_svg(raw, "a")
    assert "url(#b-0)" in clean_svg(raw, "b")
    assert clean_svg(raw.replace('"c"', '"c9"').replace("#c", "#c9"), "a") == clean_svg(raw, "a")


def test_commands_in_sentences_are_code_and_foreign_backticks_stay(make):
    mend = "run `audit sweep` and not `rm -rf <x>`"
    page = render_html(build_report(ReportInputs(**make.page(gate=make.gate(make.check(mend=mend))))))
    assert "To do: run <code>audit sweep</code> and not `rm -rf &lt;x&gt;`" in page
    assert "`audit " not in page.partition("<main")[2].partition("</main>")[0]


def test_a_status_is_not_parted_from_its_sign(rendered):
    main = rendered["void"].partition("<main")[2].partition("</main>")[0]
    assert ">!\u00a0warning</td>" in main
    assert ">! warning</td>" not in main
