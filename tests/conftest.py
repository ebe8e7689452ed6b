"""Fixtures that every floor's tests share."""

import signal

import pytest

# Whoever runs the tests in the background of a script hands on an ignored Ctrl-C, and so would every process that a
# test starts: those that press Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Audit:
    """Runs the `audit` command in this process and keeps what it wrote."""

    def __init__(self, monkeypatch, capsys):
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments):
        from runner.cli.main import main

        self._monkeypatch.setattr("sys.argv", ["audit", *map(str, arguments)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main()
        self.out, self.err = self._capsys.readouterr()
        self.code = exit_info.value.code or 0
        return self

    def refuses(self, *arguments, code=2):
        """Run a command that must end with one clear error; return what it said."""
        self(*arguments)
        assert self.code == code, (self.code, self.out, self.err)
        assert "Traceback" not in self.err, self.err
        assert self.err.strip()
        return self.err


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """Tests do not survive a power cut."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture
def audit(monkeypatch, capsys):
    """Run the `audit` command: `audit("gate", run, "--format", "json")`, then `.code`, `.out`, `.err`."""
    return Audit(monkeypatch, capsys)
