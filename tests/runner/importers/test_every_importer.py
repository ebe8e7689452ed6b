"""What every importer owes, by its file alone: a sample in tests/importer_samples/<id>.py."""

import copy
import gzip
import json
import os
import signal
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError
from audits.engine.verification import verify_run
from runner.importers.engine import compressed
from runner.importers.engine.registry import importer_ids, load_importer, recognise

SAMPLES = Path(__file__).parents[2] / "importer_samples"
HOSTILE = [
    None, True, "", "nul\x00 and \x1b[31m", "\ud800", "x" * 100_000, -1, 2**40, 10**400, float("nan"), float("inf"),
    0.5, [], [[]], {}, {"\ud800": 1}, "../../etc/passwd", '"; DROP TABLE evals; --',
]  # fmt: skip


def sample_of(importer_id):
    return loaded_module(SAMPLES / f"{importer_id}.py")


# Those whose sample is text of JSON; `IS_JSON = False` in a sample says that it is none.
JSON_IDS = [name for name in importer_ids() if getattr(sample_of(name), "IS_JSON", True)]


@pytest.fixture(params=importer_ids())
def case(request, tmp_path):
    """An importer's id, its sample's module and the sample."""
    module = sample_of(request.param)
    return request.param, module, module.sample(tmp_path)


@pytest.mark.parametrize("importer_id", importer_ids())
def test_it_is_documented_and_has_what_the_protocol_asks(importer_id):
    module = load_importer(importer_id)
    assert len(module.__doc__ or "") > 60
    assert callable(module.read)
    assert callable(module.sniff)
    assert isinstance(module.ITEM_COLUMN, bool)
    assert isinstance(module.MAPPED, bool)


def test_its_sample_is_recognised_imported_and_whole(case, importing):
    importer_id, module, path = case
    assert recognise(path) == importer_id
    importing(path, arms=module.ARMS)
    for table, rows in module.ROWS.items():
        assert importing.sql(f"SELECT count(*) FROM {table}") == [(rows,)]
    assert {check.status for check in verify_run(importing.run).checks} <= {"pass", "not_applicable"}
    named = [(arm.arm, arm.name) for arm in importing.manifest.arms if arm.role != "other"]
    assert list(dict.fromkeys(named)) == module.ARMS
    assert [file["name"] for file in importing.manifest.source["files"]] == [path.name]


def test_a_dry_run_says_the_same_and_writes_nothing(case, importing):
    _, module, path = case
    told = importing(path, arms=module.ARMS, dry_run=True)
    assert "nothing was written" in told
    assert "\nmaps " in told
    assert not importing.out.exists()


def test_one_source_an_arm_gives_that_arm(case, importing):
    importer_id, _, path = case
    if importer_id in {"outcomes", "gsm8k_solutions"}:
        with pytest.raises(AuditError, match=r"name the column|holds 4 arms"):
            importing(arms=[("treatment", str(path))])
    else:
        importing(arms=[("treatment", str(path))])
        assert {(arm.arm, arm.role) for arm in importing.manifest.arms} == {("treatment", "treatment")}


def test_keys_that_it_does_not_know_are_told_and_do_no_harm(case, importing):
    _, module, path = case
    module.with_unknown_keys(path)
    assert module.UNKNOWN in importing(path, arms=module.ARMS)
    for table, rows in module.ROWS.items():
        assert importing.sql(f"SELECT count(*) FROM {table}") == [(rows,)]


@pytest.mark.parametrize("share", [0.03, 0.21, 0.5, 0.77, 0.93, 0.995])
@pytest.mark.parametrize("importer_id", JSON_IDS)
def test_a_truncated_file_is_refused_with_its_place(importer_id, share, importing, tmp_path):
    module = sample_of(importer_id)
    path = module.sample(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(AuditError, match=path.name):
        importing(importer_id, path, arms=module.ARMS)


def test_another_importers_source_is_refused(case, importing, tmp_path):
    importer_id, module, _ = case
    for other in set(importer_ids()) - {importer_id}:
        folder = tmp_path / other
        folder.mkdir()
        with pytest.raises(AuditError) as error:
            importing(importer_id, sample_of(other).sample(folder), arms=module.ARMS)
        assert len(error.value.message) < 2000


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"[]", b"7", b'{"a": 1}\n', b"\xff\xfe{}", b"{" * 100_000, b"\0" * 99]
)
def test_what_is_no_source_of_it_is_refused(case, importing, content):
    importer_id, module, path = case
    path.write_bytes(content)
    with pytest.raises(AuditError, match=path.name) as error:
        importing(importer_id, path, arms=module.ARMS)
    assert len(error.value.message) < 2000


def test_a_directory_and_a_missing_file_are_refused(case, importing, tmp_path):
    importer_id, module, _ = case
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "missing.jsonl"):
        with pytest.raises(AuditError, match=path.name):
            importing(importer_id, path, arms=module.ARMS)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("importer_id", JSON_IDS)
def test_a_compressed_file_gives_the_same_rows_or_is_refused_by_name(importer_id, ending, importing, tmp_path):
    module = sample_of(importer_id)
    path = module.sample(tmp_path)
    content = path.read_bytes()
    packed = path.with_name(path.name + ending)
    packed.write_bytes(gzip.compress(content) if ending == ".gz" else pa.compress(content, "zstd", asbytes=True))
    message = _refusal(importing, importer_id, packed, ())
    if message is not None:
        # Where the name of a file says what is in it.
        assert packed.name in message
        return
    for table, rows in module.ROWS.items():
        assert importing.sql(f"SELECT count(*) FROM {table}") == [(rows,)]


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.csv.gz", "x.json.zst", "x.db.gz", "x.parquet.zst"])
@pytest.mark.parametrize("content", ["zip", "bomb", "cut off"])
def test_what_is_called_compressed_is_refused_within_bounds(case, importing, tmp_path, monkeypatch, name, content):
    monkeypatch.setattr(compressed, "_ALWAYS_ALLOWED", 1 << 20)
    importer_id, module, _ = case
    zeros = bytes(4 << 20)
    bomb = gzip.compress(zeros) if name.endswith(".gz") else pa.compress(zeros, "zstd", asbytes=True)
    held = {"zip": b"PK\x03\x04" + bytes(400), "bomb": bomb, "cut off": bomb[:100]}[content]
    (tmp_path / name).write_bytes(held)
    for words in ([importer_id], []):
        with pytest.raises(AuditError, match=name) as error:
            importing(*words, tmp_path / name, arms=module.ARMS)
        assert len(error.value.message) < 2000


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.json", "x.db", "x.eval", "x.parquet", "x.gz"])
def test_a_pipe_and_a_link_to_itself_are_refused_and_never_waited_for(case, importing, tmp_path, name):
    importer_id, module, _ = case
    os.mkfifo(tmp_path / name)
    (tmp_path / f"loop-{name}").symlink_to(f"loop-{name}")
    with _at_once():
        for path in (tmp_path / name, tmp_path / f"loop-{name}"):
            for words in ([importer_id], []):
                with pytest.raises(AuditError, match=name):
                    importing(*words, path, arms=module.ARMS)


@contextmanager
def _at_once():
    """Fail instead of waiting for ever."""

    def late(*_):
        raise TimeoutError("it waits for what never comes")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("every", [len(HOSTILE), pytest.param(1, marks=pytest.mark.slow)], ids=["one each", "all"])
@pytest.mark.parametrize("importer_id", JSON_IDS)
def test_no_value_in_it_is_our_bug(importer_id, every, importing, tmp_path, monkeypatch):
    """Each value of the first record, replaced by hostile ones: refused in one message, or imported."""
    monkeypatch.setattr("runner.importers.engine.writing.versions", dict)
    module = sample_of(importer_id)
    path = module.sample(tmp_path)
    first, *rest = _records(path)
    tried = 0
    for turn, place in enumerate(_places(first)):
        for number, value in list(enumerate(HOSTILE))[turn % every :: every]:
            path.write_text("\n".join(json.dumps(record) for record in (_replaced(first, place, value), *rest)) + "\n")
            importing.out = tmp_path / f"run-{tried}"
            tried += 1
            message = _refusal(importing, importer_id, path, module.ARMS)
            assert len(message or "") < 3000, (place, number)
            assert importing.out.exists() is (message is None), (place, number)
            if message is None:
                importing.sql("FROM evals UNION ALL BY NAME FROM scalars UNION ALL BY NAME FROM prompts")
    assert tried >= 5


def _refusal(importing, importer_id, path, arms):
    try:
        importing(importer_id, path, arms=arms)
    except AuditError as error:
        return error.message
    return None


def _records(path):
    text = path.read_text()
    return [json.loads(text)] if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def _places(value, place=(), depth=3):
    """Yield the places of values in nested objects and of the first two entries of lists."""
    entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value))[:2]
    for key, inner in entries if depth else []:
        yield (*place, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*place, key), depth - 1)


def _replaced(record, place, value):
    changed = copy.deepcopy(record)
    *above, key = place
    inner = changed
    for step in above:
        inner = inner[step]
    inner[key] = value
    return changed
