"""lm-evaluation-harness's samples: what it wrote itself, and the same with something changed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.answers.extractors import last_number, strict_marker
from analysis.errors import AuditError
from audits.engine.decide import decide
from runner.importers.engine.registry import recognise

DATA = Path(__file__).parents[2] / "data" / "lm_eval"
PAIR = [("baseline", str(DATA / "baseline")), ("treatment", str(DATA / "treatment"))]


def samples(folder, task):
    return next((DATA / folder).glob(f"samples_{task}_*.jsonl"))


@pytest.fixture
def changed(importing, tmp_path):
    """Import the lines of a file with something changed, and return what was told."""

    def run(folder, task, change, **options):
        lines = [json.loads(line) for line in samples(folder, task).read_text().splitlines()]
        change(lines)
        path = tmp_path / f"samples_{task}_2026-01-01T00-00-00.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return importing("lm_eval", path, **options)

    return run


@pytest.mark.parametrize("chosen", ["strict-match", "flexible-extract"])
def test_a_filter_gives_the_harnesss_own_scores(importing, chosen):
    told = importing(arms=PAIR, mapping=[("filter", chosen)])
    stated = {}
    for role, folder in PAIR:
        results = json.loads(next(Path(folder).glob("results_*.json")).read_text())["results"]["sums"]
        stated[role] = results[f"exact_match,{chosen}"]
    assert dict(importing.sql("SELECT arm, avg(score) FROM evals GROUP BY arm")) == pytest.approx(stated)
    (criterion,) = decide(importing.run).criteria
    assert criterion.estimate == pytest.approx(stated["treatment"] - stated["baseline"])
    assert "left out: lines of filters" in told
    assert importing.sql("SELECT count(*), count(DISTINCT item_id) FROM evals") == [(48, 24)]


def test_a_line_becomes_a_row_and_a_prompt(importing):
    importing(DATA / "baseline", mapping=[("filter", "strict-match")])
    assert importing.sql(
        "SELECT checkpoint, sample, score, correct, extracted, gold, completion, extraction, question"
        " FROM evals JOIN prompts USING (prompt_id, gold) WHERE item_id IN ('sums/1', 'sums/2') ORDER BY item_id"
    ) == [
        ("final", 0, 0.0, False, "4", "3", "1 and 2 make\n#### 4", "lm_eval:strict-match", "What is 1 + 2?"),
        ("final", 0, 0.0, False, None, "6", "I would say 6.", "lm_eval:strict-match", "What is 2 + 4?"),
    ]
    (arm,) = importing.manifest.arms
    assert (arm.name, arm.settings) == ("baseline", {
        "model": "Sums", "evaluation.backend": "Sums", "evaluation.task": "sums", "evaluation.task_version": 1.0,
        "evaluation.fewshot": 0, "evaluation.temperature": 0.0, "evaluation.max_tokens": 64,
        "evaluation.stop": ["Question:"], "evaluation.seed": 0, "evaluation.repeats": 1, "dataset.path": "json",
        "evaluation.grader": "lm_eval:exact_match,strict-match",
    })  # fmt: skip


def test_filter_metric_and_task_are_named_where_there_are_several(importing):
    assert recognise(DATA / "baseline") == "lm_eval"
    with pytest.raises(AuditError, match=r"filters strict-match, flexible-extract.*--map filter=NAME"):
        importing(DATA / "baseline")
    with pytest.raises(AuditError, match="none is strict"):
        importing(DATA / "baseline", mapping=[("filter", "strict")])
    with pytest.raises(AuditError, match=r"2 files of samples .*--map task=NAME"):
        importing(DATA / "other")
    with pytest.raises(AuditError, match="0 files of samples"):
        importing(DATA / "other", mapping=[("task", "sums")])
    with pytest.raises(AuditError, match="holds task parity, not sums"):
        importing(samples("other", "parity"), mapping=[("task", "sums")])
    with pytest.raises(AuditError, match=r"metrics acc, acc_norm.*--map score=NAME"):
        importing(DATA / "other", mapping=[("task", "parity")])
    with pytest.raises(AuditError, match=r"no metric f1 \(metrics: acc, acc_norm\)"):
        importing(DATA / "other", mapping=[("task", "parity"), ("score", "f1")])
    with pytest.raises(AuditError, match="--map item"):
        importing(DATA / "baseline", mapping=[("item", "doc_id")])


def test_ranked_choices_have_no_completion_and_a_vote_has_none_of_its_own(importing, tmp_path):
    told = importing(DATA / "other", mapping=[("task", "parity"), ("score", "acc")])
    assert "likelihoods of choices" in told
    assert importing.sql("SELECT count(completion), count(extracted), count(extraction) FROM evals") == [(0, 0, 0)]
    assert importing.sql("SELECT sum(score), any_value(gold) FROM evals WHERE item_id = 'parity/1'") == [(0.0, "1")]
    importing.out = tmp_path / "voted"
    told = importing(DATA / "other", mapping=[("task", "voted_sums")])
    assert "4 documents with several responses" in told
    assert importing.sql("SELECT count(completion), count(extracted), count(score) FROM evals") == [(0, 3, 4)]


def test_the_harnesss_filters_are_not_our_extractors():
    """Its patterns find other answers than ours, so that they are named by a word of their own."""
    flexible = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
    strict = re.compile(r"#### (\-?[0-9\.\,]+)")

    def last(text):
        return next(group for group in flexible.findall(text)[-1] if group)

    assert (last("It is 18..."), last_number.extract("It is 18...")[0]) == ("18...", "18")
    assert (last("It is 18, so ..."), last_number.extract("It is 18, so ...")[0]) == ("...", "18")
    twice = "#### 3\n#### 4"
    assert (strict.findall(twice)[0], strict_marker.extract(twice)[0]) == ("3", "4")


def test_without_results_the_settings_are_not_known(importing, tmp_path):
    path = Path(shutil.copy(samples("other", "voted_sums"), tmp_path))
    told = importing(path)
    assert "no results_DATE.json" in told
    assert set(importing.manifest.arms[0].settings) == {"evaluation.task", "evaluation.grader"}


@pytest.mark.parametrize(
    ("arguments", "generation", "model", "temperature", "tokens"),
    [
        ("pretrained=org/model,dtype=bf16", "temperature=0.7,max_gen_toks=99,do_sample=true", "org/model", 0.7, 99),
        ({"pretrained": "org/model"}, {"temperature": 1}, "org/model", 1.0, 64),
        (None, {"do_sample": False, "temperature": 0.8, "max_new_tokens": "12"}, "Sums", 0.0, 64),
    ],
)
def test_settings_of_older_results_stand_as_text(
    importing, tmp_path, arguments, generation, model, temperature, tokens
):
    shutil.copytree(DATA / "other", tmp_path / "run")
    path = next((tmp_path / "run").glob("results_*.json"))
    results = json.loads(path.read_text())
    results["config"] |= {"model_args": arguments, "gen_kwargs": generation}
    path.write_text(json.dumps(results))
    importing(tmp_path / "run", mapping=[("task", "voted_sums")])
    settings = importing.manifest.arms[0].settings
    assert (settings["model"], settings["evaluation.temperature"]) == (model, temperature)
    assert settings["evaluation.max_tokens"] == tokens


def test_other_documents_under_one_id_are_not_paired(importing, tmp_path):
    shutil.copytree(DATA / "treatment", tmp_path / "run")
    path = next((tmp_path / "run").glob("samples_*.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"doc_hash": "0" * 64}) + "\n" for line in lines))
    with pytest.raises(AuditError, match="24 items have another text"):
        importing(arms=[PAIR[0], ("treatment", str(tmp_path / "run"))], mapping=[("filter", "strict-match")])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"exact_match": 7}, "no score from 0 to 1"),
        ({"exact_match": [1]}, "line 1.*exact_match"),
        ({"exact_match": None}, "line 1.*exact_match"),
        ({"metrics": []}, "line 1: holds no metric"),
        ({"doc_id": 1}, "stand more than once"),
        ({"doc_id": "0"}, "line 1.*doc_id"),
        ({"resps": "x"}, "line 1.*resps"),
        ({"filter": 3}, "line 1.*filter"),
        ({"resps": [["\ud800"]]}, "line 1.*resps"),
    ],
)
def test_a_broken_line_is_named(changed, change, said):
    with pytest.raises(AuditError, match=said):
        changed("other", "voted_sums", lambda lines: lines[0].update(change))


def test_a_metric_between_right_and_wrong_says_neither(changed, importing):
    changed("other", "voted_sums", lambda lines: lines[0].update(exact_match=0.5))
    assert importing.sql("SELECT score, correct FROM evals WHERE item_id = 'voted_sums/0'") == [(0.5, None)]


def test_lines_of_older_versions_name_no_metrics_and_no_filter(changed, importing):
    def older(lines):
        for line in lines:
            for key in ("metrics", "filter", "prompt_hash", "target_hash", "doc_hash"):
                line.pop(key)

    changed("other", "voted_sums", older)
    assert importing.sql("SELECT count(score), any_value(extraction) FROM evals") == [(4, "lm_eval:none")]


@pytest.mark.formats
def test_samples_that_the_harness_writes_now_are_imported(importing, tmp_path):
    pytest.importorskip("lm_eval", reason="needs lm-evaluation-harness: pip install lm-eval")
    # In a process of its own: what the tool leaves open when it ends is no fault of this test.
    subprocess.run([sys.executable, DATA / "write.py", tmp_path], check=True, capture_output=True)
    pair = [(role, str(tmp_path / role)) for role in ("baseline", "treatment")]
    importing(arms=pair, mapping=[("filter", "strict-match")])
    assert importing.sql("SELECT arm, sum(score), count(*) FROM evals GROUP BY arm ORDER BY arm") == [
        ("baseline", 13.0, 24), ("treatment", 18.0, 24),
    ]  # fmt: skip
