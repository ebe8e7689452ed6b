import json

import pytest


@pytest.fixture
def table(tmp_path):
    (tmp_path / "x.csv").write_text("item_id,a,b\nq1,1,0\nq2,1,1\n")
    return tmp_path / "x.csv"


def test_a_table_becomes_a_run_that_can_be_decided(audit, table, tmp_path):
    out = tmp_path / "runs" / "x"
    assert audit("import", "outcomes", table, "--arm", "baseline=a", "--arm", "treatment=b", "--out", out).code == 0
    assert "2 items" in audit.out
    manifest = json.loads((out / "run.json").read_text())
    assert (manifest["kind"], manifest["status"]) == ("imported", "complete")
    assert manifest["command_line"][0] == "audit"
    assert audit("decide", out).code == 4


def test_another_item_column_may_be_named(audit, tmp_path):
    (tmp_path / "x.csv").write_text("question,a,b\nq1,1,0\n")
    arguments = ["--arm", "baseline=a", "--arm", "treatment=b", "--out", tmp_path / "run"]
    assert "question" in audit.refuses("import", "outcomes", tmp_path / "x.csv", *arguments)
    assert audit("import", "outcomes", tmp_path / "x.csv", "--item", "question", *arguments).code == 0


@pytest.mark.parametrize(
    ("arms", "named"),
    [
        (["baseline"], "ROLE=COLUMN"), (["=a"], "ROLE=COLUMN"), (["baseline="], "ROLE=COLUMN"),
        (["baseline=a", "baseline=b"], "twice"), (["baseline=a", "treatment=a"], "twice"), (["baseline=c"], '"c"'),
    ],
)  # fmt: skip
def test_arms_that_are_none_are_refused(audit, table, tmp_path, arms, named):
    flags = [part for arm in arms for part in ("--arm", arm)]
    assert named in audit.refuses("import", "outcomes", table, *flags, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_is_missing_on_the_command_line_is_said(audit, table, tmp_path):
    assert "--arm" in audit.refuses("import", "outcomes", table, "--out", tmp_path / "run")
    assert "--out" in audit.refuses("import", "outcomes", table, "--arm", "baseline=a")
    assert "outcomes" in audit.refuses("import", "outcoms", table, "--arm", "baseline=a", "--out", tmp_path / "run")


def test_a_place_that_exists_or_cannot_be_made_is_refused(audit, table, tmp_path):
    (tmp_path / "file").write_text("x")
    for out in (tmp_path, tmp_path / "file", tmp_path / "file" / "run"):
        audit.refuses("import", "outcomes", table, "--arm", "baseline=a", "--out", out)


def test_a_missing_file_is_said(audit, tmp_path):
    said = audit.refuses("import", "outcomes", tmp_path / "no.csv", "--arm", "baseline=a", "--out", tmp_path / "run")
    assert "no such file" in said


def test_a_source_is_recognised_shown_and_imported(audit, tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "optim/lr": 0.1}\n')
    assert audit("import", tmp_path / "metrics.jsonl", "--dry-run").code == 0
    assert "by tinker_cookbook" in audit.out
    assert list(tmp_path.iterdir()) == [tmp_path / "metrics.jsonl"]
    assert audit("import", "tinker-cookbook", tmp_path / "metrics.jsonl", "--out", tmp_path / "run").code == 0
    assert "figures of 1 step" in audit.out


def test_one_source_an_arm_needs_no_other(audit, tmp_path):
    for arm in ("a", "b"):
        (tmp_path / arm).mkdir()
        (tmp_path / arm / "metrics.jsonl").write_text('{"step": 0, "optim/lr": 0.1}\n')
    arms = ["--arm", f"baseline={tmp_path / 'a'}", "--arm", f"treatment={tmp_path / 'b'}"]
    assert audit("import", *arms, "--out", tmp_path / "run").code == 0
    assert [arm["role"] for arm in json.loads((tmp_path / "run" / "run.json").read_text())["arms"]] == [
        "baseline", "treatment"
    ]  # fmt: skip


def test_what_a_file_says_cannot_steer_the_terminal(audit, tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "optim/lr": 0.1, "\\u001b[31mred": "x"}\n')
    assert audit("import", tmp_path / "metrics.jsonl", "--dry-run").code == 0
    assert "\x1b" not in audit.out
    assert "red" in audit.out


def test_help_names_the_list_and_the_list_names_importers_and_fields(audit):
    assert audit("import", "--help").code == 0
    assert "audit import --list" in " ".join(audit.out.split())
    assert "--map arm=model" in " ".join(audit.out.split())
    assert audit("import", "--list").code == 0
    for named in ("verl: dumps of rollouts", "trackio", "outcomes", "completion", "stop_reason"):
        assert named in audit.out


def test_one_importer_explains_itself(audit):
    assert audit("import", "--list", "tinker-cookbook").code == 0
    assert "metrics.jsonl" in audit.out
    assert "did you mean" in audit.refuses("import", "--list", "outcome")
    assert "one importer at a time" in audit.refuses("import", "--list", "verl", "trl")
