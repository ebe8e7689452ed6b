"""Whether two runs logged the same, times excepted."""

import pyarrow.parquet as pq

from audits.store.manifest import read_files

_TIMES = ["seconds_forward_backward", "seconds_optim"]


def content(run):
    """Every data file of a run by its path: bytes, or what it says beside the times."""
    found = {}
    for record in read_files(run)[0]:
        path = run / record.path
        if record.table == "updates":
            found[record.path] = pq.read_table(path, partitioning=None).drop_columns(_TIMES).to_pydict()
        elif record.table == "phases":
            found[record.path] = set(pq.read_table(path, partitioning=None).column("phase").to_pylist())
        else:
            found[record.path] = path.read_bytes()
    return found


def assert_same_tables(run, uninterrupted):
    """Check that both hold the same files with the same rows, each listed once, and no others lie about."""
    mine, theirs = content(run), content(uninterrupted)
    assert sorted(mine) == sorted(theirs)
    for path in mine:
        assert mine[path] == theirs[path], path
    lines = (run / "files.jsonl").read_text().splitlines()
    assert len(lines) == len(mine), "a file has two lines"
    on_disk = {path.relative_to(run).as_posix() for path in run.rglob("*.parquet")}
    assert on_disk == set(mine)
    assert not list(run.rglob("*.tmp"))
