"""`audit report --redact`: no question, answer or completion leaves the run."""

import json

import pytest
from asked_run import prompts
from made_run import evals, right, rollouts, write_experiment

from audits.engine.disagreements import disagreements
from audits.store.reader import open_run
from audits.store.writer import RunWriter
from reports.model import build_comparison, build_report
from runner.pages import comparison_inputs, report_inputs

SECRET = "telltale"


@pytest.fixture
def full(tmp_path):
    """A run whose every text has the secret in it, and whose logs have faults of many kinds."""
    said = {name: f"{SECRET} {name} 4" for name in ("completion", "extracted", "gold")}

    def sampled(arm, seed, step):
        rewards = [0.0, 1.0]
        return (
            rollouts(step, rewards) | {name: [text] * 2 for name, text in said.items()} | {"extraction": ["boxed"] * 2}
        )

    run = write_experiment(tmp_path, rollouts_of=sampled, scores=None)
    writer = RunWriter.reopen(run)
    questions = [f"{SECRET} question {number // 2}" for number in range(20)]
    writer.write_prompts(prompts(questions, golds=[said["gold"]] * 20))
    ids = [f"test-{number:03d}" for number in range(20)]
    for arm, n_right in (("dppo", 12), ("grpo", 5)):
        columns = evals(
            right(n_right), prompt_id=ids, stop_reason="length", extraction="last_integer", n_tokens=8, correct=True,
            **said,
        )  # fmt: skip
        writer.write_evals(arm, 0, "final", columns)
    return run


def test_nothing_that_a_model_or_a_data_set_said_is_on_a_redacted_page(full):
    assert repr(disagreements(open_run(full))).count(SECRET) > 100
    page = repr(build_report(report_inputs(open_run(full), redact=True)))
    assert SECRET not in page
    assert "Made with --redact" in page
    assert "item-003" in page


def test_a_comparison_tells_of_scores_and_of_nothing_that_was_said(full):
    runs = open_run(full), open_run(full)
    for redact in (False, True):
        page = build_comparison(comparison_inputs(*runs, redact=redact))
        assert "20 items have the same score" in repr(page)
        assert SECRET not in repr(page)


@pytest.mark.slow
def test_the_command_writes_such_a_page(full, audit, tmp_path):
    texts = []
    for options in ([], ["--redact"]):
        assert audit("report", full, *options, "--out", tmp_path / "page.html").code == 0
        texts.append((tmp_path / "page.html").read_text(encoding="utf-8"))
    whole, redacted = texts
    assert whole.count(SECRET) > 100
    assert SECRET not in redacted
    assert "left out by --redact" in redacted


def test_a_redacted_page_takes_no_other_page_s_place_and_says_so(audit, tmp_path):
    full = write_experiment(tmp_path)
    (full / "report.html").write_text("the whole page", encoding="utf-8")
    audit("report", full, "--redact")
    assert audit.out.startswith(f"{full}/report.redacted.html (")
    assert audit.out.endswith(" (redacted)\n")
    assert (full / "report.html").read_text(encoding="utf-8") == "the whole page"
    assert f"audit report {full} --redact" in (full / "report.redacted.html").read_text(encoding="utf-8")
    audit("report", full, full, "--redact")
    assert audit.out.startswith(f"{full}/comparison.redacted.html (")
    audit("report", full, "--redact", "--format", "json", "--out", full / "report.redacted.json")
    assert json.loads((full / "report.redacted.json").read_text(encoding="utf-8"))["redacted"] is True
