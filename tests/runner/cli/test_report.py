"""`audit report`: three formats, two runs, and nothing recorded."""

import json
import os
import subprocess
import sys

import pytest
from large_run import write_large_run
from made_run import made_plan, right, write_experiment

from audits.store.looks import read_looks
from audits.store.reader import open_run
from reports.emitters.html import render_html
from runner.pages import build_page

SIZE_LIMIT = 1_500_000


@pytest.fixture
def full(tmp_path):
    return write_experiment(tmp_path)


def test_the_page_stands_in_the_run_and_no_look_is_recorded(audit, full):
    assert audit("report", full).code == 0
    assert audit.out.startswith(f"{full}/report.html (")
    assert (full / "report.html").read_bytes().startswith(b"<!doctype html>")
    assert read_looks(full) == ()


def test_the_object_goes_to_stdout_and_holds_the_decision_s_own_contract(audit, full):
    found = json.loads(audit("report", full, "--format", "json").out)
    assert found["schema_version"] == 1
    decided = json.loads(audit("decide", full, "--format", "json").out)
    assert found["decision"]["criteria"] == decided["criteria"]
    gate = json.loads(audit("gate", full.parent / "pilot", "--format", "json").out)
    assert [check["value"] for check in found["checks"]["gate"]["checks"]] == [
        check["value"] for check in gate["checks"]
    ]


def test_markdown_goes_to_stdout_or_into_a_file(audit, full, tmp_path):
    text = audit("report", full, "--format", "md", "--out", "-").out
    assert text.startswith("## ✓ Validated: ")
    audit("report", full, "--format", "md", "--out", tmp_path / "comment.md")
    assert (tmp_path / "comment.md").read_text(encoding="utf-8") == text


def test_an_unknown_format_and_a_place_that_cannot_be_written_are_refused(audit, full, tmp_path):
    assert "'pdf'" in audit.refuses("report", full, "--format", "pdf")
    assert "Choose another place with --out" in audit.refuses(
        "report", full, "--format", "md", "--out", tmp_path / "absent" / "x.md"
    )


@pytest.mark.parametrize("place", ["plan.json", "run.json", "files.jsonl", "evals/page.html", "../pilot/plan.json"])
def test_a_page_replaces_no_file_of_a_run(audit, full, place):
    before = {path: path.read_bytes() for path in full.parent.rglob("*.json*")}
    refused = audit.refuses("report", full, "--format", "json", "--out", full / place)
    assert "whose own files a page must not replace" in refused
    assert {path: path.read_bytes() for path in full.parent.rglob("*.json*")} == before
    assert audit("report", full, "--format", "json", "--out", full / "report.json").code == 0


def test_two_runs_are_compared_on_one_page(audit, full, tmp_path):
    other = write_experiment(
        tmp_path / "other", made_plan(optimizer__learning_rate=5e-4), scores={"grpo": right(3), "dppo": right(20)}
    )
    audit("report", full, other)
    page = (full / "comparison.html").read_text(encoding="utf-8")
    assert "Comparison of two runs" in page
    assert "The two runs have different plans" in page
    found = json.loads(audit("report", full, other, "--format", "json").out)
    items = next(section for section in found["sections"] if section["id"] == "items")
    assert "grpo: 3 of 20 items have another score in B, 3 a higher and 0 a lower one." in items["takeaway"]
    settings = next(section for section in found["sections"] if section["id"] == "settings")
    assert ["optimizer.learning_rate", "all", "0.001", "0.0005"] in settings["tables"][0]["rows"]
    assert read_looks(full) == read_looks(other) == ()


def test_a_run_compared_with_itself_differs_in_nothing(audit, full):
    found = json.loads(audit("report", full, full, "--format", "json").out)
    said = {section["id"]: section["takeaway"] for section in found["sections"]}
    assert "same sealed plan" in said["verdicts"]
    assert "came out alike" in said["checks"]
    assert said["settings"].count("alike") == 2


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return write_large_run(tmp_path_factory.mktemp("large"))


def test_a_page_of_1319_items_stays_under_a_megabyte_and_a_half(audit, large):
    audit("report", large)
    page = (large / "report.html").read_bytes()
    assert 900_000 < len(page) < SIZE_LIMIT
    assert b"1,319 paired items" in page


def test_the_page_is_the_one_that_is_built_in_one_process(audit, full):
    audit("report", full)
    assert (full / "report.html").read_text(encoding="utf-8") == render_html(build_page(open_run(full)))


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_wherever_and_whenever_it_is_asked(audit, full, tmp_path):
    audit("decide", full, "--method", "paired_bootstrap")
    audit("decide", full)
    assert len(read_looks(full)) == 2
    pages = []
    surroundings = [
        {"TZ": "UTC", "LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "1", "COLUMNS": "60"},
        {"TZ": "Asia/Kathmandu", "LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2", "COLUMNS": "200"},
        # The third finds the second's script in the cache.
        {"TZ": "America/St_Johns", "LANG": "C.UTF-8", "PYTHONHASHSEED": "3", "OMP_NUM_THREADS": "1"},
    ]
    for number, variables in enumerate(surroundings):
        folder = tmp_path / f"elsewhere {number}"
        folder.mkdir()
        cache = {"RUNAUDIT_CACHE": str(tmp_path / f"cache{min(number, 1)}")}
        command = [sys.executable, "-m", "runner.cli.main", "report", str(full), "--out", "page.html"]
        subprocess.run(command, cwd=folder, env=os.environ | variables | cache, check=True, capture_output=True)
        pages.append((folder / "page.html").read_bytes())
    assert b"paired_bootstrap" in pages[0]
    assert pages[0] == pages[1] == pages[2]
