"""Outputs that are another arm's byte for byte: how much text it takes, and what explains it."""

import pytest
from executed_run import batch, outcomes, small_plan, write_executed
from made_run import evals, rewrite, right, tokens, write_outcomes

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def findings(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "identical_outputs")


def faults(path):
    found = findings(path)
    rows = [dict(zip(found.columns, values, strict=True)) for values in found.rows]
    return {(row["fault"], row["severity"], row["arm"], row["seed"], row["twin"]) for row in rows}


def alike(names, n_tokens):
    """Outcomes in which the arms of `names` write one text, of so many tokens an item."""
    return lambda arm, n, **where: (
        outcomes("one" if arm in names else arm, n, **where) | {"n_tokens": [n_tokens] * n, "stop_reason": ["stop"] * n}
    )


def without_column(path, column):
    """The run as if the column of its evaluations had never been logged."""
    for file in sorted(path.glob("evals/*/*/*.parquet")):
        rewrite(path, file.relative_to(path).as_posix(), lambda table: table.drop_columns(column))
    return path


def imported(path, texts, **extra):
    arms = {name: [evals(right(1, len(text)), completion=text, **extra)] for name, text in texts.items()}
    return write_outcomes(path, arms)


def log(arm, seed, step):
    """Forty tokens a step that depend on the step alone."""
    return tokens([(0, -0.5 - step / 10, -0.5 - step / 10, 1.0)] * 40, step)


def test_a_treatment_with_its_base_models_outputs_fails_and_the_other_arm_does_not(tmp_path):
    plan = small_plan()
    plan["arms"][1]["condition"] = "adapted"
    path = write_executed(tmp_path / "run", plan, outcomes_of=alike({"base", "adapted"}, 15))
    assert faults(path) == {("outputs of base", "fail", "adapted", 0, "the base model")}
    assert "adapted against base: 20 of 20 completions are the same" in findings(path).check.notes
    assert "adapted against grpo, same seed: 0 of 20 completions are the same" in findings(path).check.notes


@pytest.mark.parametrize(("n_tokens", "severity"), [(15, "fail"), (14, "warn")])
def test_two_arms_with_one_text_fail_from_300_tokens_on(tmp_path, n_tokens, severity):
    path = write_executed(tmp_path / "run", outcomes_of=alike({"grpo", "dppo"}, n_tokens))
    assert faults(path) == {("same outputs", severity, "grpo", 0, "dppo seed 0")}
    assert findings(path).check.status == severity


def test_one_completion_that_differs_clears_the_arms(tmp_path):
    def nearly(arm, n, **where):
        columns = alike({"grpo", "dppo"}, 50)(arm, n, **where)
        return columns | {"completion": [*columns["completion"][:-1], f"{columns['completion'][-1]} {arm}"]}

    path = write_executed(tmp_path / "run", outcomes_of=nearly)
    assert findings(path).check.status == "pass"
    assert "dppo against grpo, same seed: 19 of 20 completions are the same" in findings(path).check.notes


def test_the_same_texts_on_swapped_items_are_not_the_same_outputs(tmp_path):
    texts = [f"text {number} " * 40 for number in range(4)]
    path = imported(tmp_path / "run", {"baseline": texts, "treatment": texts[::-1]})
    assert findings(path).check.status == "pass"


def test_arms_that_both_write_nothing_but_the_gold_answer_have_to_agree(tmp_path):
    answers = ["82", " 82\n"] * 500
    path = imported(tmp_path / "run", {"baseline": answers, "treatment": answers}, gold="82", n_tokens=3)
    assert faults(path) == {("same outputs", "warn", "treatment", 0, "baseline seed 0")}
    wrong = imported(tmp_path / "wrong", {"baseline": answers, "treatment": answers}, gold="83", n_tokens=3)
    assert findings(wrong).check.status == "fail"


def test_without_token_counts_four_characters_are_a_token_and_hostile_text_is_only_text(tmp_path):
    text = ["'); DROP TABLE evals; --\0 \u202e" + "x" * 1200]
    assert findings(imported(tmp_path / "a", {"baseline": text, "treatment": text})).check.status == "fail"
    short = ["y" * 1196]
    assert findings(imported(tmp_path / "b", {"baseline": short, "treatment": short})).check.status == "warn"


def test_a_run_whose_updates_had_no_signal_explains_outputs_of_base(tmp_path):
    same = alike({"base", "dppo"}, 50)
    flat = write_executed(
        tmp_path / "flat", outcomes_of=same, batch_of=lambda step: batch(step) | {"advantage": [0.0] * 4}
    )
    assert faults(flat) == {("no training signal", "warn", "dppo", 0, "the base model")}
    frozen = write_executed(tmp_path / "frozen", outcomes_of=same, learning_rate=0.0)
    assert findings(frozen).check.status == "warn"


def test_training_logs_count_after_the_first_batch(tmp_path):
    first = write_executed(tmp_path / "first", steps=1, tokens_of=lambda *key: tokens([(0, -0.5, -0.5, 1.0)] * 400))
    assert findings(first).check.status == "pass"
    plan = small_plan(rollout__rollout_batches=9)
    same = write_executed(tmp_path / "same", plan, tokens_of=log)
    assert faults(same) == {("same training log", "fail", "grpo", 0, "dppo seed 0")}
    assert faults(write_executed(tmp_path / "few", tokens_of=log)) == {
        ("same training log", "warn", "grpo", 0, "dppo seed 0")
    }

    def last_differs(arm, seed, step):
        return tokens([(0, -0.5, -0.6 if (arm, step) == ("dppo", 8) else -0.5, 1.0)] * 40, step)

    assert findings(write_executed(tmp_path / "late", plan, tokens_of=last_differs)).check.status == "pass"


def test_two_seeds_of_one_arm_are_told_apart_too(tmp_path):
    text = ["one text " * 200]
    seeds = [evals([1.0], completion=text), evals([1.0], completion=text)]
    other = [evals([1.0], completion=["another " * 200])]
    path = write_outcomes(tmp_path / "run", {"treatment": seeds, "baseline": other})
    assert faults(path) == {("same outputs", "fail", "treatment", 1, "treatment seed 0")}


def test_one_arm_alone_has_nothing_to_be_compared_with(tmp_path):
    found = findings(imported(tmp_path / "run", {"treatment": ["text"]}))
    assert (found.check.status, found.check.rows_examined) == ("inconclusive", 1)
    assert "nothing to compare" in found.check.reason


def test_completions_that_were_never_logged_are_no_pass(tmp_path):
    path = without_column(write_executed(tmp_path / "run"), "completion")
    assert "completion" in findings(path).check.reason
    assert findings(path).check.status == "inconclusive"
