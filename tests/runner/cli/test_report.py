"""`audit report`: three formats, two runs, and nothing recorded."""

import json

import pytest
from made_run import change_json, made_plan, right, rollouts, tokens, write_experiment
from made_run import evals as outcomes_of

from audits.store.looks import read_looks
from audits.store.reader import open_run
from audits.store.writer import RunWriter
from reports.emitters.html import render_html
from runner.pages import build_page

SIZE_LIMIT = 1_500_000
ITEMS, STEPS = 1319, 50


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
    """Two arms, 50 steps of 64 rollouts, and 1,319 items with answers of a few hundred characters."""

    def step_tokens(arm, seed, step):
        rows = [(update, -0.5, -0.5 - 0.02 * update - 0.001 * (n % 7), 1.0 if n % 2 else -1.0)
                for update in (0, 1) for n in range(512)]  # fmt: skip
        rows += [(1, -0.5, -0.2, 1.0)] * 24
        return tokens(rows, step)

    plan = made_plan(
        task__test_items=ITEMS, rollout__rollout_batches=STEPS, activation_gate__pilot_steps=5,
        title="Two arms on 1,319 items",
    )  # fmt: skip
    full = write_experiment(
        tmp_path_factory.mktemp("large"), plan, scores=None, tokens_of=step_tokens,
        rollouts_of=lambda arm, seed, step: rollouts(step, [float((n + step) % 3 == 0) for n in range(64)]),
        status="running",
    )  # fmt: skip
    run = open_run(full)
    writer = RunWriter.reopen(full)
    for number, record in enumerate(run.manifest.arms):
        scores = [float((item * 7 + number * (item % 5)) % 3 > 0) for item in range(ITEMS)]
        texts = [
            f"Item {item}: " + "she has 12 apples and gives 3 away, " * 9 + f"#### {item}" for item in range(ITEMS)
        ]
        extra = {"completion": texts, "extracted": [str(item) for item in range(ITEMS)],
                 "gold": [str(item) for item in range(ITEMS)], "stop_reason": "stop", "n_tokens": 120}  # fmt: skip
        writer.write_evals(record.arm, record.seed, "final", outcomes_of(scores, **extra))
    change_json(full / "run.json", status="complete")
    return full


def test_a_page_of_1319_items_stays_under_a_megabyte_and_a_half(audit, large):
    audit("report", large)
    page = (large / "report.html").read_bytes()
    assert 900_000 < len(page) < SIZE_LIMIT
    assert b"1,319 paired items" in page


def test_the_page_is_the_one_that_is_built_in_one_process(audit, full):
    audit("report", full)
    assert (full / "report.html").read_text(encoding="utf-8") == render_html(build_page(open_run(full)))
