"""The command line: every other file of this folder is one command, named after its file."""

import importlib
import pkgutil
import sys
import traceback
from typing import Annotated

import typer

import runner.cli
from analysis.errors import AuditError

_PANELS = {"run": "Run", "preflight": "Run", "sweep": "Run", "demo": "Run", "serve": "Run", "import": "Run"}


def build_app() -> typer.Typer:
    """Return the application with one command for each module of `runner.cli`."""
    app = typer.Typer(
        name="audit",
        help="May a post-training experiment claim what its plan said it would claim?",
        no_args_is_help=True,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        # Panels for people; plain text for pipes, logs and tests.
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
    )

    @app.callback()
    def root(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
        """May a post-training experiment claim what its plan said it would claim?"""
        if version:
            import importlib.metadata

            typer.echo(f"runaudit {importlib.metadata.version('runaudit')}")
            raise typer.Exit

    for module in sorted(pkgutil.iter_modules(runner.cli.__path__), key=lambda module: module.name):
        if module.name != "main":
            name = module.name.rstrip("_").replace("_", "-")
            command = importlib.import_module(f"runner.cli.{module.name}").command
            app.command(name, rich_help_panel=_PANELS.get(name, "Audit"))(command)
    return app


def main() -> None:
    """Run `audit` and turn errors into exit codes: 2 and 4 for a person's, 3 with a traceback for ours."""
    try:
        build_app()()
    except AuditError as error:
        say_error(error.message)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (`audit … | head`): nothing is wrong and nothing can be said.
        sys.stderr.close()
        sys.exit(0)
    except Exception:
        traceback.print_exc()
        say_error("this is a bug in runaudit. Please report it with the lines above and the command you typed")
        sys.exit(3)


def say_error(message: str) -> None:
    """Print an error on stderr; a name or a text of a file cannot steer the terminal."""
    from analysis.printable import printable

    for number, line in enumerate(message.split("\n")):
        typer.echo(("audit: error: " if number == 0 else "  ") + printable(line), err=True)


if __name__ == "__main__":
    main()
