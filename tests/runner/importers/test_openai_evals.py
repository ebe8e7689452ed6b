import json
from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError
from runner.importers import openai_evals

FOLDER = Path(__file__).parents[2] / "data" / "openai_evals"
SPEC, *LINES = [json.loads(line) for line in (FOLDER / "sums.jsonl").read_text().splitlines()]
RUN = SPEC["spec"]["run_id"]


def event(number, kind, data, sample="s.test.0"):
    return {"run_id": RUN, "event_id": number, "sample_id": sample, "type": kind, "data": data}


def sampling(number, text="4", prompt="2 + 2?", **where):
    return event(number, "sampling", {"prompt": prompt, "sampled": text}, **where)


def match(number, **changes):
    return event(number, "match", {"correct": True, "expected": "4", "picked": "4", **changes})


@pytest.fixture
def log(importing, tmp_path):
    """Import a log of these events; returns what was told."""

    def log(*events, spec=None, **mapping):
        lines = [{"spec": SPEC["spec"] | (spec or {})}, *events]
        (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return importing("openai-evals", tmp_path / "log.jsonl", mapping=list(mapping.items()))

    return log


def test_the_tools_own_log_keeps_the_sample_that_its_accuracy_leaves_out(importing):
    told = importing(FOLDER / "sums.jsonl", arms=[("treatment", "sums")])
    assert "1 sample failed with an error: no score, and its accuracy 0.714" in told
    assert importing.sql("SELECT count(*), count(score), sum(score), count(error) FROM evals") == [(8, 7, 5.0, 1)]
    rows = importing.sql(
        "SELECT item_id, correct, extracted, gold, completion, extraction, prompt_id FROM evals ORDER BY 1"
    )
    assert rows[2] == ("sums.test.2", False, None, "5", "6, I think.", None, "sums.test.2")
    assert rows[3] == ("sums.test.3", True, "7", "7", "7, I think.", "openai_evals:Match", "sums.test.3")
    assert importing.sql("SELECT question, gold, split FROM prompts WHERE prompt_id = 'sums.test.3'") == [
        ("3 + 4 = ?", "7", "test")
    ]
    (arm,) = importing.manifest.arms
    assert arm.settings == {"model": "made-up", "evaluation.name": "sums.test.v1", "evaluation.seed": 20220722}
    assert importing.manifest.source["final_report"]["accuracy"] == pytest.approx(5 / 7)


def test_the_text_is_that_of_the_one_sampling_event_of_the_sample(importing, log):
    log(sampling(0), sampling(1, "5", sample="s.test.1"), match(2))
    assert importing.sql("SELECT item_id, completion FROM evals") == [("s.test.0", "4")]


def test_of_several_sampling_events_none_is_chosen(importing, log):
    assert "1 outcome without one text" in log(sampling(0), sampling(1, "5"), match(2))
    assert importing.sql("SELECT completion, prompt_id FROM evals") == [(None, None)]


def test_several_accepted_answers_are_no_gold_and_that_is_told(importing, log):
    assert "several answers are accepted" in log(match(0, expected=["4", "four"]))
    assert importing.sql("SELECT gold, extracted FROM evals") == [(None, "4")]


def test_a_figure_is_the_score_where_that_is_said(importing, log):
    events = [event(0, "metrics", {"f1": 0.5, "length": 7, "note": "x"}), event(1, "metrics", {"f1": 1}, "s.test.1")]
    with pytest.raises(AuditError, match=r"hold f1, length: name the one .* --map score=KEY"):
        log(*events)
    with pytest.raises(AuditError, match=r'line 2, data: there is no "f2"'):
        log(*events, score="f2")
    with pytest.raises(AuditError, match="no event has figures"):
        log(match(0), score="f1")
    log(*events, score="f1")
    assert importing.sql("SELECT item_id, score FROM evals ORDER BY 1") == [("s.test.0", 0.5), ("s.test.1", 1.0)]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([match(0), match(2)], "line 3: event 2 follows event 0: events are missing"),
        ([match(1)], "line 2: the first event is 1"),
        ([match(0), match(1)], r"items stand more than once: s\.test\.0"),
        ([match(0) | {"run_id": "other"}], "line 2: of run other, and the log is of"),
        ([match(0, correct=1)], '"correct" is 1, and true or false is needed'),
        ([{"spec": {}}], "line 2: is neither an event nor a final report"),
        ([sampling(0)], "no event is a match, a metric or an error"),
        ([event(0, "match", None)], "an object"),
    ],
)
def test_a_log_that_is_none_is_refused_with_its_line(log, events, said):
    with pytest.raises(AuditError, match=said):
        log(*events)


def test_a_log_without_its_end_is_told_so(log):
    assert "no final report" in log(match(0))


def test_samples_whose_outcome_never_comes_do_not_pile_up(importing, log, monkeypatch):
    monkeypatch.setattr(openai_evals, "_MOST_WAITING", 3)
    log(*[sampling(number, sample=f"s.test.{number}") for number in range(5)], match(5))
    assert importing.sql("SELECT completion FROM evals") == [(None,)]


def test_prompts_of_a_split_of_another_name_are_left_out_and_told(importing, log):
    assert "left out: prompts" in log(sampling(0), match(1), spec={"split": "dev"})
    assert importing.sql("SELECT count(*) FROM prompts") == [(0,)]


@pytest.mark.formats
def test_a_log_that_the_tool_writes_afresh_is_imported(importing, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    pytest.importorskip("evals.record", reason="needs OpenAI's evals: pip install --no-deps evals, and what it imports")
    module = loaded_module(FOLDER / "write.py")
    importing(module.write(tmp_path, wrong=(1,), failing=()))
    assert importing.sql("SELECT count(*), sum(score), count(error) FROM evals") == [(8, 7.0, 0)]
