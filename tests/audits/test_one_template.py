"""The frame around the question: recomputed from the text, compared between training and evaluation."""

from hashlib import sha256

import pytest
from executed_run import FRAME, executed_by, prompts, small_plan, write_executed
from made_run import change_json, evals, right, write_outcomes

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run
from audits.store.writer import RunWriter


def findings(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "one_template")


def rows(path, *columns):
    found = findings(path)
    return [tuple(dict(zip(found.columns, values, strict=True))[name] for name in columns) for values in found.rows]


def asked(path, questions, frame=FRAME, **columns):
    """A run whose prompts, a training and a test prompt a question, are rendered as Python renders them."""
    both = [question for question in questions for _ in range(2)]
    rendered = [frame.replace("{question}", question) for question in both]
    templates = [text.replace(question, "{question}", 1) for text, question in zip(rendered, both, strict=True)]
    table = prompts({"train": len(questions), "test": len(questions)}) | {
        "split": ["train", "test"] * len(questions),
        "question": both,
        "rendered": rendered,
        "template_sha256": [sha256(template.encode()).hexdigest() for template in templates],
    }
    return write_executed(path, prompt_columns=table | columns)


def test_the_finding_shows_what_stands_around_the_question(tmp_path):
    path = write_executed(
        tmp_path / "run",
        prompt_columns=prompts(frame_of=lambda split, number: "Be brief. {question}?" if split == "test" else FRAME),
    )
    found = findings(path)
    assert found.check.value == 20
    assert rows(path, "split", "detail")[0] == (
        "test",
        'stands between "Be brief. " and "?", training prompts between "Compute " and "="',
    )
    assert "test: 20 prompts, 1 logged templates" in found.check.notes


def test_validation_prompts_are_evaluation_prompts(tmp_path):
    path = write_executed(
        tmp_path / "run",
        kind="pilot",
        prompt_columns=prompts(frame_of=lambda split, number: "{question}" if split == "validation" else FRAME),
    )
    assert set(rows(path, "fault", "split")) == {("other template", "validation")}


@pytest.mark.parametrize("faulty", [1, 500])
def test_a_hash_that_does_not_follow_from_the_text_fails_though_all_frames_are_one(tmp_path, faulty):
    table = prompts({"train": 8, "test": 992})
    table["template_sha256"] = ["0" * 64] * faulty + table["template_sha256"][faulty:]
    path = write_executed(tmp_path / "run", prompt_columns=table)
    assert findings(path).check.status == "fail"
    assert rows(path, "fault") == [("template hash",)] * faulty


def test_hostile_questions_have_the_hash_that_the_runner_logs(tmp_path):
    emoji = "e\u0301 \U0001f926\U0001f3fc\u200d\u2642\ufe0f \u202e"
    code = ["'); DROP TABLE prompts; --", "{question}", "$1 \\1 %", "a\0b"]
    hostile = ["What is 3 + 4?", emoji, *code, "\u0130\u00df\n\n", "x" * 1_000_000]
    assert findings(asked(tmp_path / "run", hostile)).check.status == "pass"


def test_a_short_question_that_stands_in_the_frame_too_has_the_same_frame(tmp_path):
    only_tested = ["train"] * 6 + ["test"] * 2
    path = asked(tmp_path / "run", ["24", "35", "17", "C"], frame="Compute 1+1=2, C. {question}=", split=only_tested)
    assert findings(path).check.status == "pass"


def test_a_question_that_the_template_trimmed_is_found(tmp_path):
    rendered = ["Compute 1+1="] * 2
    plain = sha256(rendered[0].encode()).hexdigest()
    path = asked(tmp_path / "run", [" 1+1\n"], rendered=rendered, template_sha256=[plain] * 2)
    assert findings(path).check.status == "pass"


def test_a_question_that_is_not_in_the_prompt_is_inconclusive(tmp_path):
    rendered = ["Compute one plus one="] * 2
    plain = sha256(rendered[0].encode()).hexdigest()
    path = asked(tmp_path / "run", ["1+1"], rendered=rendered, template_sha256=[plain] * 2)
    assert findings(path).check.status == "inconclusive"
    assert rows(path, "fault") == [("question not found",)] * 2


def test_prompts_whose_text_was_not_logged_are_inconclusive_and_never_pass(tmp_path):
    one = asked(tmp_path / "one", ["1+1", "2+2"], rendered=["Compute 1+1=", None, "Compute 2+2=", "Compute 2+2="])
    assert findings(one).check.status == "inconclusive"
    assert rows(one, "fault", "split") == [("not logged as sent", "test")]
    none = asked(tmp_path / "none", ["1+1", "2+2"], rendered=[None] * 4)
    assert [detail[:9] for (detail,) in rows(none, "detail")] == ["2 prompts"] * 2


def test_a_frame_that_was_only_trained_on_is_a_warning(tmp_path):
    def frame_of(split, number):
        return "Task: {question}" if split == "train" and number < 3 else FRAME

    path = write_executed(tmp_path / "run", prompt_columns=prompts(frame_of=frame_of))
    assert findings(path).check.status == "warn"
    assert rows(path, "fault", "detail") == [("not evaluated", '3 training prompts between "Task: " and ""')]


@pytest.mark.parametrize("items", [{"train": 8}, {"test": 20, "validation": 3}])
def test_prompts_of_one_side_alone_are_inconclusive(tmp_path, items):
    path = write_executed(tmp_path / "run", prompt_columns=prompts(items))
    assert findings(path).check.status == "inconclusive"
    assert rows(path, "fault") == [("one side only",)]


@pytest.mark.parametrize("name", ["stop", "renderer", "system_prompt"])
def test_what_run_json_states_of_both_sides_is_compared(tmp_path, name):
    executed = executed_by(small_plan())
    executed["rollout"][name] = executed["evaluation"][name] = ["\n"]
    path = write_executed(tmp_path / "run", executed=executed)
    assert findings(path).check.status == "pass"
    change_json(path / "run.json", **{f"executed__evaluation__{name}": ["END"]})
    assert rows(path, "fault", "detail") == [(f"other {name}", 'training: ["\\n"]; evaluation: ["END"]')]


def test_settings_of_other_names_are_not_compared(tmp_path):
    path = write_executed(tmp_path / "run")
    change_json(path / "run.json", executed__rollout__temperature=1.0, executed__evaluation__temperature=0.0)
    assert findings(path).check.status == "pass"


def test_imported_outcomes_were_not_trained_on_anything(tmp_path):
    path = write_outcomes(tmp_path / "run", {"treatment": [evals(right(3))]})
    RunWriter.reopen(path).write_prompts(prompts({"test": 20}))
    found = findings(path)
    assert (found.check.status, found.check.reason) == (
        "not_applicable",
        "no training stands in this run, so no prompt was trained on",
    )


def test_a_run_mended_by_hand_passes(tmp_path):
    table = prompts(frame_of=lambda split, number: "{question}" if (split, number) == ("test", 7) else FRAME)
    path = write_executed(tmp_path / "run", prompt_columns=table)
    assert rows(path, "prompt_id") == [("test-007",)]
    writer = RunWriter.reopen(path)
    writer.drop(lambda record: record.table == "prompts")
    writer.write_prompts(prompts())
    assert findings(path).check.status == "pass"
