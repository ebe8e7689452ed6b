"""Inspect's logs: samples that it wrote itself, and the same with something changed."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_archive import ZSTANDARD, member, write_archive

from analysis.errors import AuditError
from audits.engine.decide import decide
from runner.importers.engine.archives import open_archive
from runner.importers.engine.registry import recognise

DATA = Path(__file__).parents[2] / "data" / "inspect"
SHARED = Path(__file__).parents[4] / "shared" / "data" / "inspect"


def log_of(name):
    return json.loads((DATA / name).read_text())


def as_eval(folder, log, *, header="header.json", method=ZSTANDARD, more=()):
    """Write a log that was read from JSON as an archive, as Inspect lays it out."""
    samples = [
        member(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample).encode(), method=method)
        for sample in log["samples"]
    ]
    rest = {key: value for key, value in log.items() if key != "samples"}
    top = [member(header, json.dumps(rest).encode(), method=method)] if header else []
    return write_archive(folder / "log.eval", [*samples, *more, *top])


@pytest.fixture
def changed(importing, tmp_path):
    """Import the JSON sample with something changed, and return what was told."""

    def run(change, **options):
        log = log_of("sums.json")
        change(log)
        path = tmp_path / "log.json"
        path.write_text(json.dumps(log))
        return importing("inspect", path, **options)

    return run


def scores(log, *values):
    for sample, value in zip(log["samples"], values, strict=False):
        sample["scores"]["match"]["value"] = value


def test_two_logs_give_inspects_own_accuracies(importing):
    importing(arms=[(role, str(DATA / f"{role}.eval")) for role in ("baseline", "treatment")])
    for role in ("baseline", "treatment"):
        with open_archive(DATA / f"{role}.eval") as archive:
            (stated,) = json.loads(archive.read("header.json"))["results"]["scores"]
        found = importing.sql(f"SELECT avg(score), avg(correct::INT), count(*) FROM evals WHERE arm = '{role}'")
        assert found == [(stated["metrics"]["accuracy"]["value"],) * 2 + (24,)]
    (criterion,) = decide(importing.run).criteria
    assert criterion.estimate == pytest.approx(20 / 24 - 15 / 24)


def test_a_sample_becomes_a_row_and_a_prompt(importing):
    told = importing(DATA / "sums.json")
    assert importing.sql(
        "SELECT checkpoint, item_id, sample, score, correct, extracted, gold, completion, stop_reason, n_tokens, "
        "question FROM evals JOIN prompts USING (prompt_id, gold) WHERE item_id = 'sum-01'"
    ) == [("final", "sum-01", 0, 0.0, False, "4", "3", "The answer is 4", "stop", 5, "What is 1 + 2?")]
    (arm,) = importing.manifest.arms
    assert arm.settings == {
        "model": "mockllm/model", "evaluation.task": "sums", "evaluation.samples_per_item": 1,
        "evaluation.solver": "answers", "evaluation.temperature": 0.0, "evaluation.max_tokens": 64,
        "evaluation.seed": 7, "evaluation.grader": "inspect:match",
    }  # fmt: skip
    assert importing.manifest.source["packages"] == {"inspect_ai": "0.3.285"}
    assert "taken as test" in told


def test_both_containers_and_compressions_say_the_same(importing, tmp_path):
    rows = []
    for number, method in enumerate((None, ZSTANDARD, 8, 0)):
        path = DATA / "sums.json" if method is None else as_eval(tmp_path, log_of("sums.json"), method=method)
        assert recognise(path) == "inspect"
        importing.out = tmp_path / f"run-{number}"
        importing(path)
        rows.append(importing.sql("SELECT * EXCLUDE arm FROM evals ORDER BY item_id"))
    assert rows[0] == rows[1] == rows[2] == rows[3]
    assert len(rows[0]) == 4


def test_of_several_scorers_and_values_one_is_named(importing, tmp_path):
    path = DATA / "several.eval"
    with pytest.raises(AuditError, match=r"2 scorers \(match, form\).*--map score=NAME"):
        importing(path)
    with pytest.raises(AuditError, match=r"form\.brief, form\.polite"):
        importing(path, mapping=[("score", "form")])
    with pytest.raises(AuditError, match="forms is none of them"):
        importing(path, mapping=[("score", "forms")])
    with pytest.raises(AuditError, match="names a part"):
        importing(path, mapping=[("score", "match.x")])
    with pytest.raises(AuditError, match="--map item"):
        importing(path, mapping=[("item", "x")])
    told = importing(path, mapping=[("score", "form.polite")])
    assert "scorers match: form.polite is the score" in told
    assert importing.sql("SELECT item_id, sample, score, correct FROM evals WHERE score IS NOT NULL ORDER BY ALL") == [
        ("sum-00", 0, 0.0, None), ("sum-00", 1, 0.0, None), ("sum-01", 0, 1.0, None), ("sum-01", 1, 1.0, None),
    ]  # fmt: skip


def test_errors_and_what_could_not_be_scored_have_no_score(importing):
    told = importing(DATA / "several.eval", mapping=[("score", "form.brief")])
    assert "2 of 8 samples failed with an error" in told
    assert "2 of 8 samples could not be scored" in told
    assert importing.sql("SELECT item_id, error FROM evals WHERE sample = 0 AND score IS NULL ORDER BY ALL") == [
        ("sum-02", "error: RuntimeError('the model did not answer')"),
        ("sum-03", "not scored: the scorer gave no value"),
    ]
    assert importing.sql("SELECT DISTINCT gold FROM evals WHERE item_id = 'sum-03'") == [("9\na sum",)]


@pytest.mark.parametrize(
    ("value", "score", "correct"),
    [
        ("C", 1.0, True), ("I", 0.0, False), ("N", 0.0, False), ("P", 0.5, False), ("yes", 1.0, True),
        ("False", 0.0, False), (True, 1.0, True), (False, 0.0, False), (1, 1.0, None), (0.25, 0.25, None),
        ("0.75", 0.75, None), (math.nan, None, None), (None, None, None), ("nan", "refused", None),
    ],
)  # fmt: skip
def test_values_are_read_as_inspect_reads_them(changed, importing, value, score, correct):
    if score == "refused":
        with pytest.raises(AuditError, match="value"):
            changed(lambda log: scores(log, value))
        return
    changed(lambda log: scores(log, value))
    assert importing.sql("SELECT score, correct FROM evals WHERE item_id = 'sum-00'") == [(score, correct)]


@pytest.mark.parametrize("value", ["maybe", "c", [1, 0], 7, -0.1, math.inf, "1e400", {}, "\ud800"])
def test_what_is_no_score_is_refused_with_its_sample(changed, value):
    with pytest.raises(AuditError, match=r"samples\[0\]|sum-00|log\.json") as error:
        changed(lambda log: scores(log, value))
    assert len(error.value.message) < 600


def test_an_unscored_log_is_refused_and_a_sample_without_a_score_is_an_error(changed, importing):
    with pytest.raises(AuditError, match=r"none of its 4 samples has a score\. `inspect score` adds them"):
        changed(lambda log: [sample.update(scores={}) for sample in log["samples"]])
    with pytest.raises(AuditError, match="holds no sample"):
        changed(lambda log: log.update(samples=None))
    told = changed(lambda log: log["samples"][1].update(scores=None))
    assert "1 of 4 samples have no score and no error" in told
    assert importing.sql("SELECT count(*) FROM evals WHERE score IS NULL AND error LIKE 'not scored%'") == [(1,)]


def test_a_score_beside_an_error_is_not_taken(changed, importing):
    told = changed(
        lambda log: log["samples"][0].update(error={"message": "lost", "traceback": "", "traceback_ansi": ""})
    )
    assert "have a score all the same: the score was not taken" in told
    assert importing.sql("SELECT score, error FROM evals WHERE item_id = 'sum-00'") == [(None, "error: lost")]


@pytest.mark.parametrize("status", ["started", "cancelled", "error"])
def test_samples_that_a_log_owes_are_rows_without_a_score(changed, importing, status):
    def cut(log):
        log["status"], log["error"] = status, {"message": "out of money"}
        log["samples"] = log["samples"][:3]

    told = changed(cut)
    assert f"its status is '{status}' (out of money)" in told
    assert "1 of 4 samples that were to be evaluated are not in the log (sum-0" in told
    assert importing.sql("SELECT count(*), count(score) FROM evals") == [(4, 3)]
    (message,) = importing.sql("SELECT error FROM evals WHERE score IS NULL")[0]
    assert f"whose status is {status}" in message


def test_a_log_that_was_never_finished_is_read_by_its_start(importing, tmp_path):
    log = log_of("sums.json")
    log.pop("status")
    told = importing(as_eval(tmp_path, log, header="_journal/start.json"))
    assert "its status is 'started'" in told


def test_an_archive_of_something_else_is_refused(importing, tmp_path):
    log = log_of("sums.json")
    with pytest.raises(AuditError, match="no log of Inspect"):
        importing("inspect", as_eval(tmp_path, log, header=None))


def test_a_sample_that_was_run_again_is_the_last_one(importing, tmp_path):
    log = log_of("sums.json")
    again = json.loads(json.dumps(log["samples"][0]))
    again["scores"]["match"]["value"] = "I"
    name = f"samples/{again['id']}_epoch_1.json"
    told = importing(as_eval(tmp_path, log, more=[member(name, json.dumps(again).encode(), method=ZSTANDARD)]))
    assert "1 member of the archive stand again later" in told
    assert importing.sql(f"SELECT score FROM evals WHERE item_id = '{again['id']}'") == [(0.0,)]


def test_an_item_twice_and_another_input_are_refused(changed):
    with pytest.raises(AuditError, match="stand more than once"):
        changed(lambda log: log["samples"].append(log["samples"][0]))

    def other_epoch(log):
        log["samples"].append(log["samples"][0] | {"epoch": 2, "input": "What else?"})

    with pytest.raises(AuditError, match="another input here than in another epoch"):
        changed(other_epoch)


def test_arms_with_other_questions_under_one_id_are_not_paired(importing, tmp_path):
    log = log_of("sums.json")
    log["samples"][2]["input"] = "What is 2 - 4?"
    (tmp_path / "log.json").write_text(json.dumps(log))
    with pytest.raises(AuditError, match="1 items have another text"):
        importing(arms=[("baseline", str(DATA / "sums.json")), ("treatment", str(tmp_path / "log.json"))])


def test_turns_limits_choices_and_edits_are_told(changed, importing):
    def change(log):
        first, second, third, fourth = log["samples"]
        first["messages"].append({"role": "assistant", "content": "Again: 0"})
        second["limit"] = {"type": "token", "limit": 10}
        third["output"]["choices"] *= 2
        third["scores"]["match"]["history"] = [{"value": "I"}]
        fourth["error_retries"] = [{"message": "timeout"}]
        parts = [
            {"type": "text", "text": "What is"},
            {"type": "image", "image": "x"},
            {"type": "text", "text": "3 + 6?"},
        ]
        fourth["input"] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
        log["invalidated"] = True
        log["config_updates"] = [{}]
        log["plan"]["steps"][0]["params"] = {"temperature": 0.3}

    told = changed(change)
    for line in (
        "took several turns", "were stopped by the limit 'token'", "have several choices", "a score that was edited",
        "were run again after an error", "marked as invalidated", "its settings were changed",
    ):  # fmt: skip
        assert line in told
    by_id = f"SELECT n_tokens FROM evals WHERE item_id = '{log_of('sums.json')['samples'][2]['id']}'"
    assert importing.sql(by_id) == [(None,)]
    asked = importing.sql("SELECT question FROM prompts WHERE question LIKE 'system%'")
    assert asked == [("system: Be brief.\n\nuser: What is\n3 + 6?",)]
    assert "evaluation.temperature" not in importing.manifest.arms[0].settings


def test_a_folder_is_one_log_or_says_which_there_are(importing, tmp_path):
    with pytest.raises(AuditError, match=r"holds 4 logs .*--arm baseline="):
        importing(DATA)
    with pytest.raises(AuditError, match="holds no log"):
        importing("inspect", tmp_path)
    shutil.copy(DATA / "sums.json", tmp_path)
    importing(tmp_path)
    assert [file["name"] for file in importing.manifest.source["files"]] == ["sums.json"]


def test_other_versions_chunks_and_endless_epochs_are_refused(changed, importing, tmp_path):
    with pytest.raises(AuditError, match="a log of version 3; this importer knows 2"):
        changed(lambda log: log.update(version=3))
    with pytest.raises(AuditError, match="epochs"):
        changed(lambda log: log["eval"]["config"].update(epochs=10**9))
    chunk = member("samples/sum-09_epoch_1/sample.json", b"{}")
    with pytest.raises(AuditError, match="sum-09_epoch_1 is stored in pieces"):
        importing(as_eval(tmp_path, log_of("sums.json"), more=[chunk]))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_archive_is_refused(importing, tmp_path, share):
    content = (DATA / "several.eval").read_bytes()
    path = tmp_path / "cut.eval"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(AuditError, match=r"cut\.eval"):
        importing("inspect", path)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public logs are not beside this checkout")
def test_public_logs_import_or_say_why_not(importing, tmp_path):
    found = {}
    for number, path in enumerate(sorted(SHARED.glob("*.eval")) + sorted(SHARED.glob("*.json"))):
        importing.out = tmp_path / f"run-{number}"
        try:
            importing(path)
        except AuditError as error:
            found[path.name] = error.message.split(": ", 1)[1]
        else:
            found[path.name] = importing.sql("SELECT count(*), avg(score) FROM evals")[0]
    unscored, scored = sorted(name for name in found if "popularity" in name)
    assert found.pop(unscored) == "none of its 10 samples has a score. `inspect score` adds them"
    assert found == {
        scored: (10, 0.8), "custom.eval": (1, 1.0), "log_formats.eval": (1, 0.0), "log_formats.json": (1, 0.0),
        "log_read_sample.eval": (1, 1.0), "log_read_sample.json": (1, 1.0),
    }  # fmt: skip


@pytest.mark.formats
def test_logs_that_inspect_writes_now_are_imported(importing, tmp_path):
    pytest.importorskip("inspect_ai", reason="needs Inspect: pip install inspect_ai")
    # In a process of its own: what the tool leaves open when it ends is no fault of this test.
    subprocess.run([sys.executable, DATA / "write.py", tmp_path], check=True, capture_output=True)
    importing(arms=[(role, str(tmp_path / f"{role}.eval")) for role in ("baseline", "treatment")])
    assert importing.sql("SELECT arm, sum(score), count(*) FROM evals GROUP BY arm ORDER BY arm") == [
        ("baseline", 15.0, 24), ("treatment", 20.0, 24),
    ]  # fmt: skip
    importing.out = tmp_path / "several"
    importing(tmp_path / "several.eval", mapping=[("score", "form.brief")])
    assert importing.sql("SELECT count(*), count(score), count(error) FROM evals") == [(8, 4, 4)]
