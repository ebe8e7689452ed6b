"""The prompt of `audit sql --shell`: statements end with a semicolon, a word behind a dot is the shell's own."""

import contextlib
import sys
from collections.abc import Callable, Iterator

import typer

from analysis.errors import AuditError
from audits.store.sandbox import Answer, Sandbox
from audits.store.statements import is_blank, split_statements

_PROMPT, _CONTINUED = "audit> ", "  ...> "
_HELP = """\
One SELECT, on one line or several, ends with a semicolon.
.tables          the tables and views
.schema [TABLE]  columns with type and meaning
.help            this text
.quit            leave; Ctrl-D does the same. Ctrl-C stops a statement or forgets what was typed."""


class SqlShell:
    """Reads statements, shows their rows, and stays when one fails.

    Attributes:
        failures: statements and dot commands that failed so far.
    """

    def __init__(
        self, sandbox: Sandbox, show: Callable[[Answer], None], say_error: Callable[[str], None], *, interactive: bool
    ) -> None:
        """Prepare the shell.

        Args:
            sandbox: what the statements see.
            show: prints the rows of a statement.
            say_error: prints an error.
            interactive: whether a person types; then Ctrl-C stays and nothing that is unfinished runs at the end.
        """
        self._sandbox, self._show, self._say_error = sandbox, show, say_error
        self._interactive = interactive
        self._rest = ""
        self.failures = 0

    def run(self) -> None:
        """Read standard input to its end or to `.quit`."""
        if self._interactive:
            # Line editing and the session's history come with the import, where the platform has them.
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401
            typer.echo("SELECT …; or .help", err=True)
        for line in self._lines():
            if not self._rest and line.lstrip().startswith("."):
                if line.split()[0] in {".quit", ".exit"}:
                    return
                self._attempt(self._command, line)
            else:
                self._attempt(self._take, line)
        if self._rest and not self._interactive:
            self._attempt(self._answer, self._rest)

    def _lines(self) -> Iterator[str]:
        while True:
            try:
                line = self._read()
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                self._rest = ""
                typer.echo()
                continue
            except UnicodeDecodeError as error:
                raise AuditError(f"standard input is not UTF-8 text ({error.reason})") from error
            except EOFError:
                return
            yield line

    def _read(self) -> str:
        if self._interactive:
            return input(_CONTINUED if self._rest else _PROMPT) + "\n"
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    def _attempt(self, work: Callable[[str], None], text: str) -> None:
        try:
            work(text)
        except AuditError as error:
            self.failures += 1
            self._say_error(error.message)
        except KeyboardInterrupt:
            if not self._interactive:
                raise
            typer.echo("stopped", err=True)

    def _take(self, line: str) -> None:
        text, self._rest = self._rest + line, ""
        statements, rest = split_statements(text)
        for statement in statements:
            if not is_blank(statement):
                self._attempt(self._answer, statement)
        self._rest = "" if is_blank(rest) else rest

    def _answer(self, sql: str) -> None:
        for sentence in self._sandbox.missing(sql):
            typer.echo(f"audit: {sentence}", err=True)
        with self._sandbox.select(sql) as answer:
            self._show(answer)

    def _command(self, line: str) -> None:
        match line.split():
            case [".help"]:
                typer.echo(_HELP)
            case [".tables"]:
                typer.echo("\n".join(self._sandbox.names) or "nothing was logged")
            case [".schema", *names]:
                for name in names or self._sandbox.names:
                    typer.echo(self._sandbox.description(name.rstrip(";")))
            case words:
                raise AuditError(f"{words[0]}: there is no such command; .help lists them")
