"""The prompt of `audit sql --shell`, from a pipe and at a terminal."""

import contextlib
import io
import os
import select
import signal
import subprocess
import sys
import time

import pytest
from made_run import evals, right, write_outcomes, write_run

SLOW = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b;"


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path / "run")


@pytest.fixture
def shell(audit, run, monkeypatch):
    def shell(text, *options):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")), "utf-8"))
        return audit("sql", run, "--shell", *options)

    return shell


def test_statements_of_a_pipe_are_answered_in_turn(shell):
    text = "SELECT 'a;b' AS x;\nSELECT count(*)\n  AS n -- all; of them\nFROM tokens; SELECT 3 AS y; -- end\n"
    result = shell(text, "--format", "csv")
    assert (result.out, result.code) == ("x\na;b\nn\n320\ny\n3\n", 0)


def test_the_last_statement_of_a_pipe_needs_no_semicolon(shell):
    assert shell("SELECT 1 AS x", "--format", "csv").out == "x\n1\n"


def test_a_failed_statement_is_told_and_the_next_is_answered(shell):
    result = shell("SELECT nonsense;\nDELETE FROM tokens;\n.nothing\nSELECT 7 AS x;\n", "--format", "csv")
    assert result.out == "x\n7\n"
    assert result.code == 2
    for word in ("nonsense", "one SELECT", ".nothing"):
        assert word in result.err
    assert "Traceback" not in result.err


def test_the_time_limit_is_each_statements(shell):
    result = shell(f"{SLOW}\nSELECT 7 AS x;", "--seconds", "1", "--format", "csv")
    assert "maximum execution time" in result.err
    assert result.out == "x\n7\n"


def test_tables_and_columns_are_listed_with_their_meaning(shell):
    assert set(shell(".tables\n").out.split()) >= {"tokens", "updates", "loss_tokens", "update_drift"}
    described = shell(".schema tokens\n").out
    assert "run VARCHAR" in described
    assert "sampler_logprob FLOAT  -- nats, under the behaviour policy" in described
    everything = shell(".schema\n").out
    assert "tokens\n" in everything
    assert "loss_tokens  -- Every loss token" in everything
    assert ".quit" in shell(".help\n").out
    assert shell(".schema nothing\n").code == 2
    assert shell('.schema x"; DROP\n').code == 2


def test_quit_leaves_what_follows_unread(shell):
    result = shell("SELECT 1 AS x;\n.quit\nSELECT nonsense;\n", "--format", "csv")
    assert (result.out, result.code) == ("x\n1\n", 0)


def test_bytes_that_are_no_text_are_one_error(shell):
    result = shell("SELECT '\udcff';\n")
    assert result.code == 2
    assert "UTF-8" in result.err
    assert "Traceback" not in result.err


def test_a_models_control_characters_are_shown_and_not_obeyed(audit, tmp_path, monkeypatch):
    path = write_outcomes(tmp_path / "x", {"baseline": [evals(right(1, 1), completion="\x1b]0;x\x07")]})
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT completion FROM evals; SELECT '\x1b[31m'::INTEGER;"))
    audit("sql", path, "--shell")
    assert not {"\x1b", "\x07"} & set(audit.out + audit.err)


class Terminal:
    """The shell at a terminal of its own: type, wait for words, read all."""

    def __init__(self, run):
        import pty

        self._own, theirs = pty.openpty()
        program = "import sys; from runner.cli.main import main; sys.argv[0] = 'audit'; main()"
        environment = os.environ | {"TERM": "dumb", "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, "sql", str(run), "--shell"],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._seen, self._read = "", 0

    def type(self, text):
        os.write(self._own, text.encode())

    def interrupt(self):
        os.kill(self._process.pid, signal.SIGINT)

    def interrupt_until(self, word):
        """Press Ctrl-C until a word comes: line editing can sleep through one that comes as it begins to wait."""
        for _ in range(10):
            self.interrupt()
            with contextlib.suppress(AssertionError):
                return self.wait_for(word, seconds=2)
        return self.wait_for(word, seconds=0)

    def wait_for(self, word, seconds=60):
        """Read until a word stands behind the word that was waited for last; return what stands between."""
        end = time.monotonic() + seconds
        while word not in self._seen[self._read :]:
            ready, _, _ = select.select([self._own], [], [], max(0, end - time.monotonic()))
            assert ready, f"{word!r} never came: {self._seen}"
            self._seen += os.read(self._own, 4096).decode()
        start, self._read = self._read, self._seen.index(word, self._read) + len(word)
        return self._seen[start : self._read]

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._own)

    def code(self):
        return self._process.wait(60)


@pytest.fixture
def terminal(run):
    terminal = Terminal(run)
    terminal.wait_for("audit> ")
    yield terminal
    terminal.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Unix")
def test_at_a_terminal_a_statement_takes_several_lines_an_error_stays_and_ctrl_d_leaves(terminal):
    terminal.type("SELECT 6 * 7\n")
    terminal.wait_for("...> ")
    terminal.type("AS x;\n")
    assert "42" in terminal.wait_for("(1 row)")
    terminal.wait_for("audit> ")
    terminal.type("SELECT nonsense;\n")
    terminal.wait_for("audit: error")
    terminal.wait_for("audit> ")
    terminal.type("\x04")
    assert terminal.code() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Unix")
def test_at_a_terminal_ctrl_c_stops_a_statement_or_forgets_what_was_typed_and_stays(terminal):
    terminal.type(f"{SLOW}\n")
    terminal.wait_for("(10000000) b;")
    with pytest.raises(AssertionError):
        terminal.wait_for("audit> ", seconds=1)
    terminal.interrupt()
    terminal.wait_for("stopped", seconds=30)
    terminal.wait_for("audit> ")
    terminal.type("SELECT 'half\n")
    terminal.wait_for("...> ")
    terminal.interrupt_until("audit> ")
    terminal.type("SELECT 7 AS x;\n")
    terminal.wait_for("(1 row)")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_single_query(run):
    program = "from runner.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "sql", str(run), SLOW.rstrip(";")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors
