"""One report in three formats: the page's figures are the object's, and the Markdown holds in a pull request."""

import html.parser
import json

import pytest
from markdown_it import MarkdownIt

from reports.emitters.emit import report_text
from reports.emitters.markdown import LIMIT, escaped
from reports.parts import ReportInputs

KINDS = ["validated", "void", "inconclusive", "empty", "not_numbers", "hostile"]
# Words that templates write around what the model decided: none of them holds a figure.
TEMPLATE_WORDS = ("Table: ", "To get ", "Command for ", "Copy the command for ", "The query that gives ")


class Shown(html.parser.HTMLParser):
    """Collects the texts of the main part, its labels, and the specifications of the charts."""

    def __init__(self):
        super().__init__()
        self.texts, self.specs, self._path, self._spec = [], {}, [], None
        # Whether the next text goes on with the sentence before it: a command in a sentence is an element of its own.
        self._goes_on = False

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self._spec = attributes.get("id") if attributes.get("type") == "application/json" else None
        if tag not in {"meta", "br", "input"}:
            self._path.append(tag)
        self._goes_on = self._goes_on and self._in_a_sentence()
        if "main" in self._path and "aria-label" in attributes:
            self.texts.append(attributes["aria-label"])

    def handle_endtag(self, tag):
        self._spec = None
        self._goes_on = self._goes_on and self._in_a_sentence()
        while self._path and self._path.pop() != tag:
            pass

    def handle_data(self, data):
        if self._spec is not None:
            self.specs[self._spec.removesuffix("-spec")] = json.loads(data)
        elif {"main", "nav"} & set(self._path) and "svg" not in self._path and data.strip():
            text, is_name = data.strip(), self._in_a_sentence() and not data.startswith("audit ")
            if self._goes_on and not is_name:
                self.texts[-1] += text
            else:
                self.texts.append(text)
            self._goes_on = not is_name

    def _in_a_sentence(self):
        return self._path[-1:] == ["code"] and "pre" not in self._path


def strings(value, key=""):
    """Every text of an object that is shown, not what only names a part."""
    if isinstance(value, str):
        if key not in {"id", "kind", "group", "state", "status", "variant", "detail", "series"}:
            yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name != "chart":
                yield from strings(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, key)


def numbers(value):
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield float(f"{value:.6g}")
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)


@pytest.fixture(scope="module")
def both(pages, rendered):
    """Page and object of a kind, each as its own reader sees it."""

    def read(kind):
        page = Shown()
        page.feed(rendered[kind])
        return page, json.loads(report_text(ReportInputs(**pages[kind]), "json"))

    return read


def bare(text):
    return "".join(text.replace("`", "").split())


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_of_the_page_stands_in_the_object(both, kind):
    page, found = both(kind)
    known = {bare(text) for text in strings(found["sections"])}
    figures = [text for text in page.texts if any(character.isdigit() for character in text)]
    assert len(figures) > (-1 if kind == "empty" else 100)
    for text in figures:
        words = next((words for words in TEMPLATE_WORDS if text.startswith(words)), "")
        assert {bare(text), bare(text.removeprefix(words).removesuffix(":"))} & known, text


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_of_the_object_stands_on_the_page(both, kind):
    page, found = both(kind)
    shown = {bare(text) for text in page.texts}
    whole = "\n".join(shown)
    absent = [text for text in strings(found["sections"]) if bare(text) not in shown and bare(text) not in whole]
    assert absent == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_draws_the_object_s_numbers(both, kind):
    page, found = both(kind)
    figures = {figure["id"]: figure["chart"] for section in found["sections"] for figure in section["figures"]}
    assert figures.keys() == page.specs.keys() - {"chart-config"}
    for name, chart in figures.items():
        data = [row for part in drawn_data(page.specs[name]) for row in part]
        points = chart.get("points") or chart["rows"]
        drawn = set(numbers(data))
        for point in points:
            assert set(numbers({key: value for key, value in point.items() if key != "registered"})) <= drawn, name


def drawn_data(spec):
    """The values of every data set in a specification, wherever it stands."""
    if isinstance(spec, dict):
        if is_data(spec.get("values")):
            yield spec["values"]
        yield from (rows for rows in spec.get("datasets", {}).values() if is_data(rows))
        for item in spec.values():
            yield from drawn_data(item)
    elif isinstance(spec, list):
        for item in spec:
            yield from drawn_data(item)


def is_data(rows):
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def test_the_object_holds_what_the_commands_print(pages):
    found = json.loads(report_text(ReportInputs(**pages["void"]), "json"))
    assert found["schema_version"] == 1
    assert found["verdict"] == found["decision"]["verdict"] == "void"
    assert [check["status"] for check in found["checks"]["gate"]["checks"]][:2] == ["fail", "inconclusive"]
    assert found["checks"]["gate_in_full"] is None
    assert list(found) == sorted(found)
    empty = json.loads(report_text(ReportInputs(**pages["empty"]), "json"))
    assert empty["decision"] is None
    assert empty["checks"]["gate"] is None


def test_a_number_that_is_none_is_null(pages):
    text = report_text(ReportInputs(**pages["not_numbers"]), "json")
    assert json.loads(text)["decision"]["criteria"][0]["estimate"] is None
    assert "NaN" not in text
    assert "Infinity" not in text


def markdown(page):
    return report_text(ReportInputs(**page), "md")


def parsed(text):
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def inline_types(text):
    return {child.type for token in parsed(text) for child in token.children or ()}


def test_the_markdown_says_the_verdict_first_and_the_interval_next(pages):
    lines = markdown({**pages["validated"], "integrity": None}).splitlines()
    assert lines[0] == "## ✓ Validated: The planned claim may be made."
    assert lines[4].startswith("**Claim:** ")
    assert lines[6].startswith("- Estimated difference (dppo_binary_tv minus grpo_clip) +4.20 pp, 95 % interval")


def test_the_markdown_names_each_finding_with_its_reason_and_what_to_do(pages):
    text = markdown(pages["void"])
    assert "- ✕ fail · gate · **dppo_masked_token_fraction (treatment)**: 0 share of loss tokens" in text
    assert "the rule cannot fire: one update a batch" in text
    assert "To do: set rollout.updates_per_batch to 2 or more" in text
    assert "| dppo_masked_token_fraction | treatment | ✕ fail |" in text


def test_the_markdown_of_checks_that_pass_says_so(make):
    page = make.page(preflights=None, integrity=None)
    assert "Nothing: every check (gate) passes or does not apply." in markdown(page)


def test_every_command_stands_in_the_markdown_once(make):
    text = markdown(make.page())
    for line in ("audit decide runs/full --method paired_hoeffding", "audit gate runs/pilot", "audit verify runs/full"):
        assert text.splitlines().count(line) == 1


@pytest.mark.parametrize("kind", [*KINDS, "long"])
def test_the_markdown_fits_and_its_tables_are_whole(pages, kind):
    text = markdown(pages[kind])
    assert len(text) <= LIMIT
    tokens = parsed(text)
    widths, tables = [], 0
    for token in tokens:
        if token.type == "tr_open":
            widths.append(0)
        elif token.type in {"th_open", "td_open"}:
            widths[-1] += 1
        elif token.type == "table_close":
            tables += 1
            assert len(set(widths)) == 1
            widths = []
    assert tables >= (0 if kind == "empty" else 2)
    assert sum(token.type == "fence" for token in tokens) == 1


@pytest.mark.parametrize("kind", ["hostile", "long"])
def test_hostile_text_becomes_no_markup(pages, kind):
    text = markdown(pages[kind])
    assert inline_types(text) <= {"text", "text_special", "strong_open", "strong_close", "softbreak"}
    blocks = [token.content for token in parsed(text) if token.type == "html_block"]
    assert all(block.startswith(("<details>", "</details>")) for block in blocks)
    assert len(blocks) == 2


@pytest.mark.parametrize(
    "text",
    ["# a", "- a", "+ a", "1. a", "1) a", "---", "===", "    a", "> a", "~~~", "```", "a | b", "**a**", "_a_ b_c",
     "<b>a</b>", "[a](http://x)", "![a](x)", "&lt;a", "a\\", "\\*a\\*", "https://x.example", "<https://x>", "`a` ``b",
     "~~a~~", "$a$"],
)  # fmt: skip
def test_escaped_text_is_shown_as_it_is_wherever_it_stands(text):
    for before, after in (("", ""), ("- ", ""), ("| a |\n| --- |\n| ", " |"), ("> ", "")):
        tokens = parsed(before + escaped(text) + after)
        inline = [token for token in tokens if token.type == "inline"][-1]
        assert {child.type for child in inline.children} <= {"text", "text_special"}
        assert "".join(child.content for child in inline.children).replace("\u200b", "") == text.strip()


@pytest.mark.parametrize(
    "text", ["@octocat", "a@b.example", "#12", "GH-12", "org/repo#3", "http://x.example", "www.x.example", ":smile:"]
)
def test_what_a_forge_would_link_is_parted_by_a_gap(text):
    assert escaped(text).count("&#8203;") >= 1


def test_plain_names_and_numbers_stay_as_they_are():
    for text in ("paired_hoeffding", "0.05", "+8.88", "2026-01-02T03:04:05Z", "a-b", "≥ 0.001"):
        assert escaped(text) == text


def test_a_note_counts_what_was_left_out(make):
    many = [make.check(id=f"check_{i}", status="fail", reason="r" * 500, notes=("n" * 300,) * 8) for i in range(400)]
    text = markdown(make.page(gate=make.gate(*many, status="fail")))
    assert len(text) <= LIMIT
    assert "more findings stand on the page." in text
    assert "more rows stand on the page." in text


def test_formats_of_one_page_agree_on_the_verdict_s_numbers(pages):
    page = pages["validated"]
    sentence = json.loads(report_text(ReportInputs(**page), "json"))["sections"][0]["sentences"][0]
    assert escaped(sentence) in markdown(page)
