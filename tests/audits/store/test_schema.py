import duckdb
import pytest

from audits.store.schema import SQL_FOLDER, tables

SQL_TYPES = {"INTEGER[]": "INTEGER[]", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}


@pytest.fixture(scope="module")
def executed():
    connection = duckdb.connect()
    connection.execute((SQL_FOLDER / "schema.sql").read_text(encoding="utf-8"))
    return connection


def test_the_schema_file_executes_and_says_what_the_parser_reads_from_it(executed):
    for table in tables().values():
        rows = executed.execute(f'DESCRIBE "{table.name}"').fetchall()
        described = [(name, kind, null == "NO") for name, kind, null, *_ in rows]
        assert described == [(c.name, SQL_TYPES.get(c.sql_type, c.sql_type), c.required) for c in table.columns]
    assert {row[0] for row in executed.execute("SHOW TABLES").fetchall()} == set(tables())


@pytest.mark.parametrize("table", tables().values(), ids=lambda table: table.name)
def test_every_column_is_documented_and_every_table_says_who_writes_it(table):
    assert "`audit " in table.written_by
    assert all(column.documentation.strip() for column in table.columns)
    assert any(column.required for column in table.columns)


def test_every_view_of_the_folder_works_on_the_schema_and_says_what_it_is(executed):
    views = sorted((SQL_FOLDER / "views").glob("*.sql"))
    assert views
    for path in views:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("-- "), path
    for name in tables():
        executed.execute(f'ALTER TABLE "{name}" ADD COLUMN IF NOT EXISTS arm VARCHAR')
        executed.execute(f'ALTER TABLE "{name}" ADD COLUMN IF NOT EXISTS seed BIGINT')
    for path in views:
        executed.execute(f"CREATE VIEW {path.stem} AS {path.read_text(encoding='utf-8')}")
        assert executed.execute(f"SELECT count(*) FROM {path.stem}").fetchall() == [(0,)]
