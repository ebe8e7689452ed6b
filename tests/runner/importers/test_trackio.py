import importlib.util
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from loaded_module import loaded_module

from analysis.errors import AuditError
from runner.importers import trackio

FOLDER = Path(__file__).parents[2] / "data" / "trackio"
SAMPLE = FOLDER / "sums.db"


@pytest.fixture
def changed(tmp_path):
    """Return a copy of the sample on which statements were run."""

    def changed(*statements, name="sums.db"):
        path = tmp_path / name
        shutil.copy(SAMPLE, path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            for statement in statements:
                connection.execute(*([statement] if isinstance(statement, str) else statement))
            connection.commit()
        return path

    return changed


@pytest.fixture
def made(tmp_path):
    """Return a database of statements alone."""

    def made(*statements):
        path = tmp_path / "made.db"
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
        return path

    return made


def test_each_run_is_an_arm_of_figures_with_its_settings(importing):
    told = importing(SAMPLE, arms=[("treatment", "grpo")])
    assert "2 figures of a step stood there before" in told
    assert "keys note: their values are no numbers" in told
    assert importing.sql(
        "SELECT seed, name, value::VARCHAR FROM scalars WHERE step = 3 AND arm = 'treatment' ORDER BY seed, name"
    ) == [
        (1, "grad_norm", "nan"), (1, "loss", "0.2"), (1, "reward/mean", "1.3"),
        (2, "grad_norm", "nan"), (2, "loss", "0.2"), (2, "reward/mean", "2.3"),
    ]  # fmt: skip
    first, second = importing.manifest.arms
    assert (first.seed, second.seed) == (1, 2)
    assert first.settings == {
        "optimizer.learning_rate": 1e-5, "seed": 1, "group_size": 8, "optimizer": {"name": "adam"},
    }  # fmt: skip


def test_nothing_is_written_beside_or_into_the_database(importing, tmp_path):
    path = Path(shutil.copy(SAMPLE, tmp_path / "sums.db"))
    path.chmod(0o400)
    importing(path)
    assert path.read_bytes() == SAMPLE.read_bytes()
    assert sorted(found.name for found in tmp_path.iterdir()) == ["imported", "sums.db"]


def test_runs_of_one_name_and_seed_are_told_apart(importing, changed):
    path = changed("UPDATE configs SET config = '{}'")
    assert "several runs have one name and seed" in importing(path)
    names = [arm.name for arm in importing.manifest.arms]
    assert len(set(names)) == 2
    assert all(name.startswith("grpo-") for name in names)


def test_an_earlier_schema_without_ids_of_runs_is_read(importing, made):
    path = made(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)",
        "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT)",
        """INSERT INTO metrics VALUES (1, '', 'a', 0, '{"loss": 1}'), (2, '', 'b', 0, '{"loss": 2}')""",
        """INSERT INTO configs VALUES (1, 'b', '{"seed": 7}', '')""",
    )
    assert "no configuration is stated of a" in importing(path)
    assert importing.sql("SELECT arm, seed, value FROM scalars ORDER BY ALL") == [("a", 0, 1.0), ("b", 7, 2.0)]


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.0006, 0.03, 0.5, 0.93, 0.995])
def test_a_database_that_was_cut_off_is_refused(importing, tmp_path, share):
    content = SAMPLE.read_bytes()
    (tmp_path / "sums.db").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(AuditError, match=r"sums\.db"):
        importing("trackio", tmp_path / "sums.db")


def test_a_database_with_damaged_pages_is_refused_where_they_are_read(importing, tmp_path):
    content = SAMPLE.read_bytes()
    refused = 0
    for place in range(4096, len(content), 4096):
        (tmp_path / "sums.db").write_bytes(content[:place] + b"\xff" * 4096 + content[place + 4096 :])
        with suppress(AuditError):
            importing("trackio", tmp_path / "sums.db", dry_run=True)
            continue
        refused += 1
    assert refused >= 2


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_changes_that_are_not_merged_are_not_left_out(importing, changed, ending):
    path = changed()
    path.with_name(path.name + ending).write_bytes(b"x" * 100)
    with pytest.raises(AuditError, match="holds changes that are not in it yet"):
        importing(path)


@pytest.mark.parametrize(
    "held", ["7", "[1]", "{", "", "null", '{"a": 1, "a": 2}', '{"\\ud800": 1}', "\x00", '{"a": ' + "9" * 5000 + "}"]
)
@pytest.mark.parametrize("kind", [str, str.encode])
def test_figures_that_are_no_object_are_refused_with_their_row(importing, changed, held, kind):
    path = changed(("UPDATE metrics SET metrics = ? WHERE id = 1", (kind(held),)))
    with pytest.raises(AuditError, match="table metrics, row 1") as error:
        importing(path)
    assert len(error.value.message) < 1000


def test_a_figure_beyond_every_number_is_infinite(importing, changed):
    importing(changed("""UPDATE metrics SET metrics = '{"a": 1e400}' WHERE id = 1"""))
    assert importing.sql("SELECT value::VARCHAR FROM scalars WHERE name = 'a'") == [("inf",)]


@pytest.mark.parametrize(
    "change",
    [
        "step = -1", "step = 'x'", "step = 1e99", "step = 9223372036854775807", "metrics = 5", "run_name = x'ff'",
        "run_id = x'ff'", "run_name = ''", "metrics = zeroblob(1000)",
    ],
)  # fmt: skip
def test_a_row_that_is_none_is_named(importing, changed, change):
    with pytest.raises(AuditError, match=r"row 1|no short name"):
        importing(changed(f"UPDATE metrics SET {change} WHERE run_id = (SELECT run_id FROM metrics WHERE id = 1)"))


@pytest.mark.parametrize(
    "trap",
    [
        "CREATE VIEW metrics AS SELECT 1 AS id, 'r' AS run_id, 'r' AS run_name, 0 AS step, load_extension('x')",
        "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n",
        "CREATE VIRTUAL TABLE metrics USING fts5(a)",
        "CREATE TABLE metrics (id, run_id, run_name, step, metrics AS (zeroblob(100000000)))",
    ],
)
def test_what_would_run_when_it_is_read_is_refused(importing, made, trap):
    path = made(trap, "CREATE TABLE configs (id, run_id, run_name, config)",
                *(["INSERT INTO metrics VALUES (1, 'r', 'r', 0)"] if "zeroblob" in trap else []))  # fmt: skip
    with pytest.raises(AuditError, match=r"no database of trackio|not readable as a database"):
        importing("trackio", path)


def test_no_other_file_can_be_opened_through_it(tmp_path):
    with closing(trackio._connect(SAMPLE)) as connection:
        for statement in (f"ATTACH '{tmp_path}/x.db' AS x", "SELECT load_extension('x')", "DELETE FROM metrics",
                          "CREATE TABLE x (y)", "PRAGMA journal_mode = WAL"):  # fmt: skip
            with pytest.raises(sqlite3.DatabaseError):
                connection.execute(statement).fetchall()
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_signs_of_an_address_is_only_a_name(importing, changed):
    importing(changed(name="a?mode=rwc&x=#%20.db"))
    assert len(importing.manifest.arms) == 2


@pytest.mark.formats
def test_a_database_that_the_tool_writes_afresh_is_imported(importing, tmp_path):
    # Not imported here: where it writes is read once, at its import.
    if importlib.util.find_spec("trackio") is None:
        pytest.skip("needs trackio: pip install trackio")
    module = loaded_module(FOLDER / "write.py")
    importing(module.write(tmp_path))
    assert importing.sql("SELECT count(*) FROM scalars") == [(18,)]
