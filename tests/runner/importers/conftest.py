"""Importing in tests: without the three calls of git that a run's provenance costs."""

import pytest

from audits.store.reader import connect, open_run
from runner.importers.engine.importing import import_run


@pytest.fixture(autouse=True)
def _no_git(monkeypatch):
    monkeypatch.setattr("runner.importers.engine.writing.git_state", lambda _: {"commit": None})


class Importing:
    """Imports into one directory, and answers questions about the run it made."""

    def __init__(self, out):
        self.out = out

    def __call__(self, *words, arms=(), item=None, mapping=(), dry_run=False):
        out = None if dry_run else self.out
        words = [str(word) for word in words]
        return import_run(words, arms=list(arms), item=item, mapping=mapping, out=out, command_line=["audit"])

    @property
    def run(self):
        return open_run(self.out)

    @property
    def manifest(self):
        return self.run.manifest

    def sql(self, query):
        with connect(self.run) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def importing(tmp_path):
    """Import as `audit import` does; afterwards, what was refused must have left nothing behind."""
    found = Importing(tmp_path / "imported")
    yield found
    assert not found.out.exists() or found.manifest.status == "complete", "a refused import left a run behind"
