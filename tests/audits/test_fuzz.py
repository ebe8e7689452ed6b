"""Damaged runs: whatever stands in a run's files, a command ends with a verdict or with one clear error."""

import json
import random
import shutil

import pytest
from made_run import evals, right, write_experiment, write_outcomes

WRONG = [
    None,
    True,
    0,
    -1,
    1.5,
    1e308,
    "",
    "x",
    "\x00",
    "\ud800",
    "../..",
    [],
    [None],
    [[]],
    {},
    {"a": 1},
    "9" * 400,
    10**15,
]
COMMANDS = (["decide"], ["gate"], ["decide", "--format", "json"], ["gate", "--format", "junit"], ["sql"])


def paths_of(value, path=()):
    """Yield the path of every value inside a JSON document."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths_of(item, (*path, key))


def put(document, path, value):
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


def drop(document, path):
    for key in path[:-1]:
        document = document[key]
    del document[path[-1]]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return write_experiment(tmp_path_factory.mktemp("original")).parent


@pytest.fixture
def experiment(original, tmp_path):
    shutil.copytree(original, tmp_path / "x")
    return tmp_path / "x"


def survives(audit, run, command):
    arguments = ["sql", run, "SELECT count(*) FROM evals"] if command == ["sql"] else [command[0], run, *command[1:]]
    audit(*arguments)
    assert audit.code in {0, 1, 2, 4}, (command, audit.code, audit.err[-2000:])
    assert "Traceback" not in audit.err
    if audit.code == 2:
        assert audit.err.startswith("audit: ")
        assert len(audit.err) < 20_000
    return audit.code


@pytest.mark.parametrize("number", range(18))
@pytest.mark.parametrize("name", ["full/run.json", "full/plan.json", "pilot/run.json"])
def test_any_key_of_a_json_file_may_hold_anything(audit, experiment, name, number):
    rng = random.Random(f"{name} {number}")
    path = experiment / name
    document = json.loads(path.read_text(encoding="utf-8"))
    where = rng.choice(sorted(paths_of(document), key=str))
    if number % 6 == 0:
        drop(document, where)
    else:
        put(document, where, rng.choice(WRONG))
    path.write_text(json.dumps(document), encoding="utf-8")
    survives(audit, experiment / "full", COMMANDS[number % len(COMMANDS)])


@pytest.mark.parametrize("number", range(24))
def test_any_key_of_the_list_of_files_may_hold_anything(audit, experiment, number):
    rng = random.Random(number)
    path = experiment / "full" / "files.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    line = rng.choice(lines)
    key = rng.choice(sorted(line))
    value = rng.choice([*WRONG, *(other[key] for other in lines)])
    line[key] = value
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    survives(audit, experiment / "full", COMMANDS[number % len(COMMANDS)])


@pytest.mark.parametrize("number", range(20))
def test_bytes_of_any_file_may_be_changed(audit, experiment, number):
    rng = random.Random(number)
    path = rng.choice(sorted(file for file in experiment.rglob("*") if file.is_file()))
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 8, 64])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content)
    survives(audit, experiment / "full", COMMANDS[number % len(COMMANDS)])


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff\xfe", b"null", b"{}", b"1" * 5000, b"[" * 100_000, None])
@pytest.mark.parametrize("name", ["run.json", "plan.json", "files.jsonl", "looks.jsonl"])
def test_any_file_may_be_empty_garbage_or_a_directory(audit, experiment, name, content):
    path = experiment / "full" / name
    path.unlink(missing_ok=True)
    path.mkdir() if content is None else path.write_bytes(content)
    code = survives(audit, experiment / "full", ["decide"])
    assert code == (0 if name == "looks.jsonl" else 2)


def test_every_file_empty_at_once(audit, experiment):
    for path in experiment.rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    for command in COMMANDS:
        assert survives(audit, experiment / "full", command) == 2


def test_every_data_file_a_directory(audit, experiment):
    for path in list((experiment / "full").rglob("*.parquet")):
        path.unlink()
        path.mkdir()
    assert survives(audit, experiment / "full", ["decide"]) == 2


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\u202e", "'; DROP TABLE evals; --", "x" * 10_000])
def test_a_name_in_run_json_may_be_any_text(audit, tmp_path, text):
    run = write_outcomes(tmp_path / "run", {"treatment": [evals(right(2))], "baseline": [evals(right(1))]})
    document = json.loads((run / "run.json").read_text())
    document["arms"][0]["name"] = document["run_id"] = text
    (run / "run.json").write_text(json.dumps(document))
    for format in ("table", "json", "junit", "github"):
        assert survives(audit, run, ["decide", "--format", format]) in {2, 4}
