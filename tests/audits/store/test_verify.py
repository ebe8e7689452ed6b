"""Damage of every kind in a run's files is found and the damaged file is named."""

import hashlib
import json
import os
import random
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_run import change_json, evals, made_plan, relist, rewrite, right, write_outcomes, write_run

from audits.store.reader import open_run
from audits.store.verify import damaged_files


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run", made_plan(), scores={"grpo": right(3), "dppo": right(5)})


def faults(run, table=None):
    return list(damaged_files(open_run(run), table))


def flip(path, position, bit):
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def covered(run):
    """Every file that a check of `audit verify` covers."""
    listed = [json.loads(line)["path"] for line in (run / "files.jsonl").read_text().splitlines()]
    return [*listed, "files.jsonl", "plan.json", "run.json"]


def test_an_intact_run_has_no_fault(run):
    assert len(covered(run)) == 21
    assert {path.split("/")[0] for path in covered(run)} >= {"tokens", "rollouts", "updates", "phases", "evals"}
    assert faults(run) == []


@pytest.mark.parametrize("trial", range(40))
def test_one_flipped_bit_in_any_file_is_found_and_the_file_named(audit, run, trial):
    draw = random.Random(trial)
    name = covered(run)[trial % 21]
    size = (run / name).stat().st_size
    flip(run / name, draw.randrange(size), draw.randrange(8))
    audit("verify", run, "--format", "json")
    assert audit.code in {1, 2}, (name, audit.out)
    assert name in audit.out + audit.err


def test_no_bit_of_the_list_the_plan_and_the_manifest_can_flip_unseen(audit, tmp_path):
    """The last line, the plan and run.json, a bit of their bytes in turn; the other lines are written alike."""
    run = write_run(tmp_path / "run", steps=1)
    text = (run / "files.jsonl").read_bytes()
    start = text[:-1].rfind(b"\n")
    places = [("files.jsonl", position) for position in range(start, len(text))]
    places += [("plan.json", position) for position in range(0, (run / "plan.json").stat().st_size, 17)]
    places += [("run.json", position) for position in range(0, (run / "run.json").stat().st_size, 13)]
    unseen = []
    for number, (name, position) in enumerate(places):
        flip(run / name, position, number % 8)
        audit("verify", run)
        if audit.code not in {1, 2} or name not in audit.out + audit.err:
            unseen.append((name, position, number % 8))
        flip(run / name, position, number % 8)
    assert unseen == []
    assert faults(run) == []


def test_each_kind_of_damage_has_its_word(run):
    listed = covered(run)
    (run / listed[0]).unlink()
    with (run / listed[1]).open("ab") as handle:
        handle.write(b"\0")
    rewrite_without_listing(run / listed[2])
    found = faults(run)
    assert [line.split(":")[0] for line in found] == listed[:3]
    for line, word in zip(found, ("missing", "bytes, files.jsonl says", "sha256"), strict=True):
        assert word in line


def rewrite_without_listing(path):
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def test_rows_that_disagree_and_a_page_that_disagrees_are_found_under_a_true_sha256(run):
    name = "tokens/arm=dppo/seed=0/step=000000.parquet"
    content = bytearray((run / name).read_bytes())
    content[60] ^= 1
    (run / name).write_bytes(content)
    lines = [json.loads(line) for line in (run / "files.jsonl").read_text().splitlines()]
    for line in lines:
        if line["path"] == name:
            line["sha256"] = hashlib.sha256(content).hexdigest()
        if line["path"] == "tokens/arm=grpo/seed=0/step=000000.parquet":
            line["rows"] += 1
    (run / "files.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = {line.split(":")[0]: line for line in faults(run)}
    assert "not a readable Parquet file" in words[name]
    assert "80 rows, files.jsonl says 81" in words["tokens/arm=grpo/seed=0/step=000000.parquet"]
    assert len(words) == 2


def test_a_line_that_is_lost_is_found_once_the_run_is_complete(run):
    lines = (run / "files.jsonl").read_text().splitlines(keepends=True)
    (run / "files.jsonl").write_text("".join(lines[:-1]))
    (fault,) = faults(run)
    assert json.loads(lines[-1])["path"] in fault
    change_json(run / "run.json", status="interrupted")
    assert faults(run) == []


def test_a_manifest_without_its_digest_or_in_another_spelling_is_not_what_was_written(audit, run):
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(json.dumps(json.loads(text), sort_keys=True))
    assert audit("verify", run).code == 1
    assert "its content changed" in audit.out
    change_json(run / "run.json", content_sha256=None)
    assert audit("verify", run).code == 1
    body = json.loads(text)
    del body["content_sha256"]
    (run / "run.json").write_text(json.dumps(body, indent=2, sort_keys=True) + "\n")
    assert audit("verify", run).code == 1
    assert "has no content_sha256" in audit.out


def test_a_file_of_a_users_own_is_no_damage(run):
    (run / "notes").mkdir()
    pq.write_table(pa.table({"a": [1]}), run / "notes/mine.parquet")
    assert faults(run) == []


@pytest.mark.parametrize(("key", "value"), [("schema_version", 3), ("table", "tokenz")])
def test_a_line_that_no_file_can_contradict_is_checked_too(run, key, value):
    lines = [json.loads(line) for line in (run / "files.jsonl").read_text().splitlines()]
    lines[0][key] = value
    (run / "files.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (fault,) = faults(run)
    assert lines[0]["path"] in fault
    assert str(value) in fault


def test_a_plan_in_another_spelling_of_the_same_json_is_not_the_bytes_that_were_sealed(run):
    content = (run / "plan.json").read_bytes()
    (run / "plan.json").write_bytes(content + b"\n")
    (fault,) = faults(run)
    assert fault.startswith("plan.json")


def test_a_recorded_sweep_that_changed_or_is_missing_is_damage(run):
    (run / "sweep.json").write_bytes(b"{}")
    assert faults(run) == []
    change_json(run / "run.json", sweep={"path": "../sweep", "sha256": hashlib.sha256(b"{}").hexdigest()})
    assert faults(run) == []
    (run / "sweep.json").write_bytes(b"{ }")
    assert faults(run) == ["sweep.json: its sha256 is not the one in run.json: its content changed"]
    (run / "sweep.json").unlink()
    assert faults(run) == ["sweep.json: is recorded in run.json and not readable (No such file or directory)"]


def test_one_table_can_be_asked_alone(run):
    (run / "phases/arm=dppo/seed=0/step=000000.parquet").unlink()
    assert faults(run, "evals") == []
    assert len(faults(run, "phases")) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of a file system are of Unix")
def test_what_is_no_file_is_named_and_waited_for_by_nobody(run):
    name = "phases/arm=dppo/seed=0/step=000000.parquet"
    (run / name).unlink()
    os.mkfifo(run / name)
    assert faults(run) == [f"{name}: is not a file"]
    (run / name).unlink()
    (run / name).mkdir()
    (fault,) = faults(run)
    assert fault.startswith(name)


def test_memory_does_not_grow_with_the_file(tmp_path):
    run = write_outcomes(tmp_path / "run", {"baseline": [evals(right(2))]})
    noise = random.Random(0).randbytes(48 << 20).hex()

    def enlarged(table):
        texts = [noise[start : start + (1 << 10)] for start in range(0, len(noise), 1 << 10)]
        return table.take([0] * len(texts)).append_column("completion", pa.array(texts))

    path = rewrite(run, "evals/arm=baseline/seed=0/checkpoint=final.parquet", enlarged)
    relist(run)
    assert path.stat().st_size > 40 << 20
    opened = open_run(run)
    ours = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(ours)
    pa.set_memory_pool(counted)
    tracemalloc.start()
    try:
        assert list(damaged_files(opened)) == []
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(ours)
    assert 0 < counted.max_memory() < 24 << 20
