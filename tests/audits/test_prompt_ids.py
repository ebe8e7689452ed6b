"""Ids, golds, splits and hashes that do not fit together."""

from asked_run import answers, prompts, together, write_asked
from made_run import SHIPPED_PLAN, change_json, rewrite
from ran_audit import faults, ran

from audits.store.seal import seal_text

AUDIT_ID = "prompt_ids"
BOTH = together(prompts(["a b", "c d"]), prompts(["e f", "g h"], split="train"), prompts(["i j"], split="validation"))


def test_a_good_run_says_what_names_what(tmp_path):
    found = ran(write_asked(tmp_path / "run", BOTH, sampled=["train-000", "train-001"]), AUDIT_ID)
    assert found.check.status == "pass"
    assert found.check.notes == (
        "evals: prompts named: 2 (test), by rows: 4",
        "rollouts: prompts named: 2 (train), by rows: 4",
    )


def test_a_prompt_that_is_not_in_the_table_is_found_in_evaluations_and_rollouts(tmp_path):
    outcomes = {"treatment": [answers(3)]}
    path = write_asked(tmp_path / "run", BOTH, outcomes=outcomes, arms=("treatment",), sampled=["train-000", "nobody"])
    found = ran(path, AUDIT_ID)
    assert [(row[0], row[2], row[6]) for row in found.rows] == [
        ("unknown prompt", "evals", "test-002"),
        ("unknown prompt", "rollouts", "nobody"),
    ]


def test_a_rollout_on_a_held_out_prompt_is_training_on_it(tmp_path):
    found = ran(write_asked(tmp_path / "run", BOTH, sampled=["train-000", "validation-000", "test-000"]), AUDIT_ID)
    assert faults(found) == {("held-out prompt trained on", "fail"): 4}
    assert {row[6] for row in found.rows} == {"validation-000", "test-000"}


def test_a_training_prompt_cannot_be_evaluated(tmp_path):
    outcomes = {"treatment": [answers(1, prompt_id="train-000")]}
    found = ran(write_asked(tmp_path / "run", BOTH, outcomes=outcomes, arms=("treatment",)), AUDIT_ID)
    assert faults(found) == {("training prompt evaluated", "fail"): 1}


def test_a_pilot_is_not_evaluated_on_test_items(tmp_path):
    path = write_asked(tmp_path / "run", BOTH)
    change_json(path / "run.json", kind="full")
    plan = seal_text(SHIPPED_PLAN.read_text(encoding="utf-8"), source="demo")
    (path / "plan.json").write_bytes(plan.canonical)
    assert ran(path, AUDIT_ID).check.status == "pass"
    change_json(path / "run.json", kind="pilot")
    assert faults(ran(path, AUDIT_ID)) == {("pilot on test items", "fail"): 4}


def test_a_gold_may_be_absent_but_not_another(tmp_path):
    golds = {"treatment": [answers(2, gold=[None, " 1 "])], "baseline": [answers(2, gold=["1", "2"])]}
    found = ran(write_asked(tmp_path / "run", BOTH, outcomes=golds), AUDIT_ID)
    assert [(row[0], row[3], row[6], row[7]) for row in found.rows] == [
        ("another gold", "baseline", "test-001", "the prompt has 1, here 2; rows: 1")
    ]


def test_an_id_stands_once(tmp_path):
    twice = together(BOTH, prompts(["k l"]))
    found = ran(write_asked(tmp_path / "run", twice, n=2), AUDIT_ID)
    assert [(row[0], row[2], row[6]) for row in found.rows] == [("id stands twice", "prompts", "test-000")]


def test_the_hash_is_of_the_logged_tokens_where_there_are_any(tmp_path):
    path = write_asked(tmp_path / "run", BOTH)
    assert ran(path, AUDIT_ID).check.status == "pass"

    def with_tokens(token_ids):
        def change(table):
            import pyarrow as pa

            values = pa.array([token_ids, *table.column("token_ids").to_pylist()[1:]], pa.list_(pa.int32()))
            place = table.schema.get_field_index("token_ids")
            return table.set_column(place, table.schema.field(place), values)

        return change

    rewrite(path, "prompts.parquet", with_tokens([1, 2, 3]))
    found = ran(path, AUDIT_ID)
    assert [(row[0], row[6]) for row in found.rows] == [("hash of other tokens", "test-000")]
    rewrite(path, "prompts.parquet", with_tokens([]))
    assert ran(path, AUDIT_ID).check.status == "pass"


def test_rows_without_a_prompt_are_a_warning(tmp_path):
    outcomes = {"treatment": [answers(2, prompt_id=["test-000", None])]}
    found = ran(write_asked(tmp_path / "run", BOTH, outcomes=outcomes, arms=("treatment",)), AUDIT_ID)
    assert (found.check.status, faults(found)) == ("warn", {("no prompt named", "warn"): 1})


def test_hostile_ids_are_only_text(tmp_path):
    nasty = "'; DROP TABLE prompts; --\x00" + "x" * 100_000
    outcomes = {"treatment": [answers(1, prompt_id=nasty, gold=nasty)]}
    found = ran(write_asked(tmp_path / "run", BOTH, outcomes=outcomes, arms=("treatment",)), AUDIT_ID)
    assert found.rows[0][6] == nasty


def test_a_source_that_names_no_prompt_at_all_is_not_examined_and_what_was_not_logged_is_no_fault(tmp_path):
    columns = BOTH | {name: [None] * 5 for name in ("token_ids", "prompt_sha256", "rendered", "template_sha256")}
    path = write_asked(tmp_path / "run", columns, sampled=[None, None], arms=("treatment",))
    found = ran(path, AUDIT_ID)
    assert (found.check.status, found.rows) == ("pass", ())
    assert found.check.notes[1] == "rollouts: prompts named: 0 (none known), by rows: 2"


def test_a_split_of_another_name_hides_what_a_prompt_was_for(tmp_path):
    path = write_asked(tmp_path / "run", together(BOTH, prompts(["k l"], split="Test")), sampled=["Test-000"])
    found = ran(path, AUDIT_ID)
    assert faults(found) == {("unknown split", "fail"): 1}
    assert (found.rows[0][6], found.rows[0][7][:10]) == ("Test-000", "split Test")
