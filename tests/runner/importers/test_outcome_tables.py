"""Tables in other formats and layouts than a wide CSV: JSON lines, Parquet, compressed, one row an outcome."""

import csv
import gzip
import io
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest

from analysis.errors import AuditError
from audits.store.gathered import Scratch
from runner.importers.engine.tables import delimited, outcome_rows

LONG = [
    {"id": item, "model": model, "ok": (item + len(model)) % 3 > 0, "text": f"it is {item}, é", "tokens": 7 + item}
    for item in range(5)
    for model in ("gpt2", "gpt2-rl")
]
MAPPING = {"item_id": "id", "arm": "model", "correct": "ok", "completion": "text", "n_tokens": "tokens"}
ARMS = [("baseline", "gpt2"), ("treatment", "gpt2-rl")]
PLAIN = [".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"]
FORMATS = [*PLAIN, ".csv.gz", ".jsonl.gz", ".csv.zst", ".tsv.zst", ".jsonl.zst"]


def text_of(rows, suffix):
    if suffix in (".jsonl", ".ndjson"):
        return "".join(json.dumps(row) + "\n" for row in rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if suffix == ".tsv" else ",")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.fixture
def table(tmp_path):
    """Write rows as a table of some format."""

    def table(rows, name="t.jsonl"):
        path = tmp_path / name
        suffix, *packed = (f".{part}" for part in name.split(".")[1:])
        if suffix == ".parquet":
            pl.DataFrame(rows, strict=False).write_parquet(path)
            return path
        content = text_of(rows, suffix).encode()
        if packed:
            content = gzip.compress(content) if packed == [".gz"] else pa.compress(content, "zstd", asbytes=True)
        path.write_bytes(content)
        return path

    return table


@pytest.fixture
def refused(importing, table):
    """Return why rows are refused."""

    def refused(rows, name="t.jsonl", **mapping):
        with pytest.raises(AuditError) as error:
            importing("outcomes", table(rows, name), mapping=list(mapping.items()))
        assert name in error.value.message
        assert len(error.value.message) < 2000
        return error.value.message

    return refused


@pytest.mark.parametrize("suffix", FORMATS)
def test_one_row_an_outcome_gives_the_same_run_in_every_format(importing, table, suffix):
    importing("outcomes", table(LONG, f"t{suffix}"), arms=ARMS, mapping=list(MAPPING.items()))
    rows = importing.sql("SELECT arm, item_id, score, correct, completion, n_tokens FROM evals ORDER BY ALL")
    assert rows == sorted(
        (arm, str(row["id"]), float(row["ok"]), row["ok"], row["text"], row["tokens"])
        for row in LONG for arm, model in ARMS if model == row["model"]
    )  # fmt: skip
    assert importing.manifest.source["fields"] == MAPPING


@pytest.mark.parametrize("suffix", FORMATS)
def test_one_column_an_arm_is_read_from_every_format(importing, table, suffix):
    rows = [{"item_id": f"q{i}", "a": i % 2, "b": 0.5, "note": "x"} for i in range(4)]
    told = importing("outcomes", table(rows, f"t{suffix}"), arms=[("baseline", "a"), ("treatment", "b")])
    assert "left out: columns note" in told
    assert importing.sql("SELECT arm, sum(score), count(correct) FROM evals GROUP BY ALL ORDER BY ALL") == [
        ("baseline", 2.0, 4), ("treatment", 2.0, 0),
    ]  # fmt: skip


def test_fields_of_equal_names_are_found_and_told_and_the_others_too(importing, table):
    row = {"item_id": "q1", "arm": "a", "score": 0.5, "gold": "4", "seed": 3, "level": 1}
    rows = [{**row, "sample": sample} for sample in (0, 1)]
    path = table(rows)
    told = importing("outcomes", path, dry_run=True)
    for line in ("column gold -> evals.gold (found by its name)", "column arm -> arms (found by its name)",
                 "column seed -> seeds", "left out: columns level"):  # fmt: skip
        assert line in told
    importing(path)
    assert importing.sql("SELECT arm, seed, sample, score, gold FROM evals ORDER BY ALL") == [
        ("a", 3, 0, 0.5, "4"), ("a", 3, 1, 0.5, "4"),
    ]  # fmt: skip


def test_what_is_of_one_arm_is_not_given_to_two(importing, table):
    path = table([{"item_id": "q", "a": 1, "b": 0, "completion": "4", "gold": "4"}], "t.csv")
    arms = [("baseline", "a"), ("treatment", "b")]
    told = importing(path, arms=arms)
    assert "left out: columns completion: not said of which arm" in told
    assert importing.sql("SELECT DISTINCT gold, completion FROM evals") == [("4", None)]
    with pytest.raises(AuditError, match=r"--map completion: 2 columns are named"):
        importing("outcomes", path, arms=arms, mapping=[("completion", "completion")], dry_run=True)


def test_of_what_is_left_out_it_is_said_what_would_take_it(importing, table):
    row = {"item_id": "q", "a": 1, "b": 0, "seed": 3, "question": "2+2", "answer": "4"}
    path, arms = table([row], "t.csv"), [("baseline", "a"), ("treatment", "b")]
    told = importing(path, arms=arms, dry_run=True)
    assert "left out: columns answer: called as no field; one is taken as --arm ROLE=COLUMN or --map FIELD" in told
    assert "left out: columns seed: taken with --map seed=seed" in told
    assert "left out: columns question: a prompt needs its right answer too" in told
    taken = importing(path, arms=arms, mapping=[("seed", "seed"), ("gold", "answer")])
    assert "left out" not in taken
    assert importing.sql("SELECT DISTINCT seed, gold FROM evals") == [(3, "4")]
    assert importing.sql("SELECT question FROM prompts") == [("2+2",)]


def test_a_column_whose_field_is_taken_from_another_is_said_to_be(importing, table):
    path = table([{"item_id": "q", "score": 1, "gold": "5", "answer": "4"}])
    told = importing(path, mapping=[("gold", "answer")])
    assert "left out: columns gold: gold is taken from column answer" in told


def test_with_one_arm_every_column_is_its_own(importing, table):
    path = table([{"item_id": "q", "a": 1, "completion": "4", "error": ""}, {"item_id": "r", "a": 0, "completion": "",
                  "error": "timed out"}], "t.csv")  # fmt: skip
    told = importing(path, arms=[("treatment", "a")])
    assert "1 row with an error stated the score 0" in told
    assert importing.sql("SELECT item_id, score, correct, completion, error FROM evals ORDER BY ALL") == [
        ("q", 1.0, True, "4", None), ("r", None, None, None, "timed out"),
    ]  # fmt: skip


@pytest.mark.parametrize("cell", ["", None])
def test_an_empty_text_is_one_in_json_and_none_in_a_csv(importing, table, cell):
    rows = [{"item_id": "q", "score": 1, "completion": cell}]
    importing("outcomes", table(rows))
    assert importing.sql("SELECT completion FROM evals") == [(cell,)]


def test_questions_become_prompts_with_their_golds(importing, table):
    rows = [{"item_id": "q1", "score": 1, "question": "1 + 1?", "gold": 2, "sample": s} for s in (0, 1)]
    told = importing("outcomes", table([*rows, {"item_id": "q2", "score": 1, "question": "?", "sample": 0}]))
    assert "taken as test" in told
    assert "1 row with a question and no gold" in told
    assert importing.sql("SELECT * FROM prompts") == [("q1", "test", None, "1 + 1?", None, None, "2", None)]
    assert importing.sql("SELECT item_id, prompt_id FROM evals ORDER BY ALL") == [
        ("q1", "q1"), ("q1", "q1"), ("q2", None),
    ]  # fmt: skip
    changed = [rows[0], {**rows[1], "question": "1 + 2?"}]
    with pytest.raises(AuditError, match=r"line 2: prompt q1 is another here"):
        importing("outcomes", table(changed), dry_run=True)


def test_checkpoints_and_seeds_have_files_of_their_own(importing, table):
    keys = [("base", 0, "base"), ("t", 1, "final"), ("t", 2, "final"), ("t", 2, "step000010")]
    names = ("arm", "seed", "checkpoint")
    importing("outcomes", table([{"item_id": "q", "score": 1, **dict(zip(names, key, strict=True))} for key in keys]))
    assert importing.sql("SELECT arm, seed, checkpoint FROM evals ORDER BY ALL") == keys


def test_two_tables_are_two_arms(importing, table):
    arms = [(role, str(table([{"item_id": "q", "correct": role == "treatment"}], f"{role}.jsonl")))
            for role in ("baseline", "treatment")]  # fmt: skip
    importing(arms=arms)
    assert importing.sql("SELECT arm, score FROM evals ORDER BY ALL") == [("baseline", 0.0), ("treatment", 1.0)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (87.5, r'column "score" are not a score from 0 to 1: q1 \({noun} 2\): \'?87.5\'?. Divide percent by 100'),
        ("87%", r"q1 \({noun} 2\): '87%'"), ("yes", r"q1 \({noun} 2\): 'yes'"), (-0.5, r"q1 \({noun} 2\): '?-0.5"),
        ("", r"q1 \({noun} 2\): (''|None)"), (float("nan"), r"q1 \({noun} 2\): '?nan"),
        (float("inf"), r"q1 \({noun} 2\): '?inf"), ("1e400", r"1e400"), ("0_1", "0_1"),
    ],
)  # fmt: skip
def test_a_cell_that_is_no_score_is_named_with_item_and_line(refused, suffix, cell, said):
    noun = {".csv": "line", ".jsonl": "line", ".parquet": "row"}[suffix]
    rows = [{"item_id": "q0", "score": type(cell)(1)}, {"item_id": "q1", "score": cell}]
    line = "2" if suffix != ".csv" else "3"
    assert re.search(said.format(noun=noun).replace(" 2", f" {line}"), refused(rows, f"t{suffix}"))


@pytest.mark.parametrize(
    ("field", "cell", "needed"),
    [
        ("correct", "yes", "true or false"), ("correct", 2, "true or false"), ("correct", [True], "true or false"),
        ("n_tokens", 1.5, "whole number"), ("n_tokens", -1, "whole number"), ("n_tokens", "many", "whole number"),
        ("n_tokens", True, "whole number"), ("sample", 40_000, "32767"), ("sample", "true", "32767"),
        ("seed", 0.5, "whole number"), ("seed", 10**16, "whole number"), ("checkpoint", "last", "stepNNNNNN"),
        ("completion", {"a": 1}, "a text"), ("completion", True, "a text"), ("gold", [1], "a text"),
        ("gold", float("nan"), "a text"), ("item_id", 1.0, "name or a whole"), ("item_id", {}, "name or a whole"),
        ("completion", "\ud800", "a text"), ("arm", ["a"], "a name"), ("score", 10**400, "score from 0 to 1"),
        ("score", {"value": 1}, "score from 0 to 1"), ("question", [{"role": "user"}], "a text"),
    ],
)  # fmt: skip
def test_a_cell_of_another_type_is_refused_with_its_line(refused, field, cell, needed):
    good = {"item_id": "q0", "score": 1, "sample": 0, "seed": 0, "checkpoint": "final", "arm": "a"}
    said = refused([good, {**good, "item_id": "q1", field: cell}])
    assert needed in said
    assert "line 2" in said


@pytest.mark.parametrize("cell", [datetime(2026, 1, 1, tzinfo=UTC), b"\xff", [1, 2], {"a": 1}])
@pytest.mark.parametrize("field", ["score", "gold", "item_id"])
def test_columns_of_parquet_that_are_no_text_and_no_number_are_refused(refused, field, cell):
    rows = [{"item_id": "q0", "score": 1.0, "gold": "4"} | {field: cell}]
    assert "row 1" in refused(rows, "t.parquet")


def test_typed_cells_of_parquet_say_what_they_are(importing, tmp_path):
    frame = pl.DataFrame(
        {"item_id": [1, 2], "score": [Decimal("0.50"), Decimal("1")], "gold": [3.0, None], "n_tokens": [7.0, None],
         "stop_reason": pl.Series(["stop", "length"], dtype=pl.Categorical),
         "when": [datetime(2026, 1, 1, tzinfo=UTC)] * 2}
    )  # fmt: skip
    frame.write_parquet(tmp_path / "t.parquet")
    assert "left out: columns when" in importing(tmp_path / "t.parquet")
    assert importing.sql("SELECT item_id, score, gold, n_tokens, stop_reason FROM evals ORDER BY ALL") == [
        ("1", 0.5, "3.0", 7, "stop"), ("2", 1.0, None, None, "length"),
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [4, 100, -9, -1])
def test_a_damaged_parquet_file_is_refused(importing, table, cut):
    path = table(LONG, "t.parquet")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(AuditError, match=r"t\.parquet: not readable as Parquet"):
        importing("outcomes", path, mapping=list(MAPPING.items()))


def test_a_damaged_page_of_parquet_is_refused(importing, table):
    path = table([{"item_id": f"{i}" * 50, "score": 1.0} for i in range(900)], "t.parquet")
    content = bytearray(path.read_bytes())
    content[200:400] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(AuditError, match=r"t\.parquet"):
        importing(path)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_an_item_twice_is_named_with_its_lines(refused, suffix):
    rows = [{"item_id": item, "score": 1} for item in ("q0", "q1", "q0", "q2", "q0")]
    lines = "lines 2, 4, 6" if suffix == ".csv" else "lines 1, 3, 5" if suffix == ".jsonl" else "rows 1, 3, 5"
    assert f"1 item ids stand more than once: q0 ({lines})" in refused(rows, f"t{suffix}")


def test_the_lines_of_an_item_twice_are_those_of_its_arm(refused):
    rows = [{"item_id": "q", "score": 1, "arm": arm} for arm in ("a", "b", "b")]
    assert "q (lines 2, 3)" in refused(rows)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"score": 1}, 'no column "item_id"|"item_id" is empty'), ({"item_id": " ", "score": 1}, "an item needs an id"),
        ({"item_id": None, "score": 1}, "an item needs an id"),
        ({"item_id": "q1", "score": 0.5, "error": "x"}, "an error too"),
        ({"item_id": "q1", "correct": True, "error": "x"}, "an error too"), ({"item_id": "q1", "score": None}, "None"),
        ({"item_id": "q1", "score": 1, "arm": "b"}, "earlier rows have none"), ({"item_id": "q1"}, "None"),
    ],
)  # fmt: skip
def test_a_row_that_is_no_outcome_is_refused_with_its_line(refused, row, said):
    message = refused([{"item_id": "q0", "score": 1}, row])
    assert re.search(said, message)
    assert "line 2" in message


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"colour": "x"}, "--map colour: there is no such field; known: item_id"),
        ({"golds": "x"}, 'did you mean "gold"'),
        ({"gold": "ansewr"}, 'no column "ansewr"; did you mean "answer"'), ({"score": "absent"}, 'no column "absent"'),
        ({"item_id": "absent"}, 'no column "absent"'),
        ({"score": "answer.x"}, 'no column "answer.x"; did you mean "answer"'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_mapping_to_what_is_not_there_is_answered(importing, table, mapping, said, suffix):
    path = table([{"item_id": "q", "score": 1, "answer": "4"}], f"t{suffix}")
    with pytest.raises(AuditError) as error:
        importing("outcomes", path, mapping=list(mapping.items()))
    assert said in error.value.message


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_without_a_column_of_item_ids_it_is_said_how_one_is_named(importing, table, suffix):
    path = table([{"question_id": "q", "a": 1}], f"t{suffix}")
    with pytest.raises(AuditError, match=r'no column "item_id".*; name the column of item ids with --item'):
        importing("outcomes", path, arms=[("baseline", "a")])


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_key_of_an_object_in_a_column_is_no_column(importing, table, suffix):
    path = table([{"item_id": "q", "x": {"is_correct": True}}], f"t{suffix}")
    with pytest.raises(AuditError, match=r'no column "x\.is_correct": x holds an object; a column is a key of the row'):
        importing("outcomes", path, arms=[("baseline", "x.is_correct")])


def test_what_is_said_of_a_nested_column_makes_one(importing, table, tmp_path):
    if not shutil.which("jq"):
        pytest.skip("no jq")
    path = table([{"item_id": f"q{i}", "175b": {"is_correct": i > 1}} for i in range(4)])
    with pytest.raises(AuditError, match="175b holds an object") as error:
        importing("outcomes", path, arms=[("baseline", "175b.is_correct")])
    program = re.search(r"jq -c '(.*)' \(columns", error.value.message)[1]
    flat = subprocess.run(["jq", "-c", program, path], capture_output=True, check=True).stdout
    (tmp_path / "flat.jsonl").write_bytes(flat)
    importing("outcomes", tmp_path / "flat.jsonl", arms=[("baseline", "175b.is_correct")])
    assert importing.sql("SELECT sum(score) FROM evals") == [(2.0,)]


def test_a_field_is_mapped_once_and_the_item_named_one_way(audit, table, tmp_path):
    path = table([{"id": "q", "n": 1, "score": 1}])
    out = ["--out", tmp_path / "run"]
    assert "--map gold is given twice" in audit.refuses("import", path, "--map", "gold=n", "--map", "gold=id", *out)
    twice = ["--item", "id", "--map", "item_id=n"]
    assert "which names the item" in audit.refuses("import", "outcomes", path, *twice, *out)
    assert "FIELD=NAME" in audit.refuses("import", "outcomes", path, "--map", "gold", *out)
    assert audit("import", "outcomes", path, "--item", "id", *out).code == 0


def test_a_key_that_only_later_lines_have_is_read_and_told(importing, table):
    rows = [{"item_id": "q0", "score": 1}, {"item_id": "q1", "error": "timed out", "late": 3}]
    assert "left out: columns late" in importing("outcomes", table(rows))
    assert importing.sql("SELECT item_id, score, error FROM evals ORDER BY ALL") == [
        ("q0", 1.0, None), ("q1", None, "timed out"),
    ]  # fmt: skip


def test_a_column_that_tells_items_apart_and_not_arms_is_found_out(refused, monkeypatch):
    monkeypatch.setattr(outcome_rows, "_MOST_ARMS", 10)
    rows = [{"item_id": f"q{i}", "score": 1} for i in range(20)]
    assert 'Is "item_id" the column that tells arms apart?' in refused(rows, arm="item_id")


def test_a_column_of_arms_is_not_taken_for_one_of_scores(importing, table):
    rows = [{"item_id": "q", "score": 1, "arm": arm} for arm in ("a", "b")]
    importing("outcomes", table(rows, "t.csv"), arms=[("baseline", "a"), ("treatment", "b")])
    assert importing.sql("SELECT DISTINCT arm FROM evals ORDER BY ALL") == [("baseline",), ("treatment",)]
    with pytest.raises(AuditError, match=r'the source has no arm "c" \(arms: a, b\)'):
        importing("outcomes", table(rows, "t.csv"), arms=[("baseline", "c")], dry_run=True)


def test_a_cell_without_end_is_refused_and_never_held_whole(importing, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_LONGEST_CELL", 1_000)
    for content in ('item_id,a\nq0,"' + "x\n" * 5_000, "item_id,a\nq0," + "x" * 5_000):
        (tmp_path / "t.csv").write_text(content)
        with pytest.raises(AuditError, match=r"t\.csv, line \d+: (not a table \(field larger|longer than 1,000)"):
            importing("outcomes", tmp_path / "t.csv", arms=[("baseline", "a")])
    csv.field_size_limit(1 << 20)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_rows_that_went_to_disk_give_the_same_run(importing, table, tmp_path, monkeypatch, suffix):
    rows = [{**row, "id": f"{turn}-{row['id']}"} for turn in range(300) for row in LONG]
    path = table(rows, f"t{suffix}")
    importing("outcomes", path, arms=ARMS, mapping=list(MAPPING.items()))
    spilled = []

    class Small(Scratch):
        def __init__(self, beside):
            super().__init__(beside, memory=20_000)

        def part(self, name):
            spilled.append(name)
            return super().part(name)

    monkeypatch.setattr("runner.importers.engine.importing.Scratch", Small)
    whole, importing.out = importing.out, tmp_path / "spilled"
    importing("outcomes", path, arms=ARMS, mapping=list(MAPPING.items()))
    assert len(spilled) > 10
    files = sorted(file.relative_to(whole) for file in whole.rglob("*.parquet"))
    assert len(files) == 2
    for file in files:
        assert (whole / file).read_bytes() == (importing.out / file).read_bytes()
