"""The command line: discovery, exit codes, and what a person reads when something is wrong."""

import importlib
import pkgutil

import pytest
import typer
from typer.testing import CliRunner

import runner.cli
from analysis.errors import AuditError, Refused
from runner.cli import main as command_line

COMMANDS = sorted(module.name for module in pkgutil.iter_modules(runner.cli.__path__) if module.name != "main")


def test_every_file_is_a_command_with_help() -> None:
    result = CliRunner().invoke(command_line.build_app(), ["--help"])
    assert result.exit_code == 0
    for name in COMMANDS:
        assert name.rstrip("_") in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_does(name: str) -> None:
    documentation = importlib.import_module(f"runner.cli.{name}").command.__doc__
    assert documentation
    assert documentation.split("\n")[0].endswith(".")
    result = CliRunner().invoke(command_line.build_app(), [name.rstrip("_"), "--help"])
    assert result.exit_code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_a_usage_error(name: str) -> None:
    assert CliRunner().invoke(command_line.build_app(), [name.rstrip("_"), "--no-such-option"]).exit_code == 2


def _run_main(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def app() -> typer.Typer:
        def call() -> None:
            raise error

        return call  # type: ignore[return-value]

    monkeypatch.setattr(command_line, "build_app", app)
    with pytest.raises(SystemExit) as caught:
        command_line.main()
    return int(caught.value.code or 0)


def test_a_users_mistake_is_one_message_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run_main(monkeypatch, AuditError("runs/x: broken\x1b[31m\nmend it")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "audit: error: runs/x: broken\\x1b[31m\n  mend it\n"


def test_a_refusal_is_exit_4(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run_main(monkeypatch, Refused("no passed pilot")) == 4


def test_an_interrupt_is_exit_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run_main(monkeypatch, KeyboardInterrupt()) == 130


def test_our_bug_is_a_traceback_and_exit_3(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run_main(monkeypatch, ZeroDivisionError("oops")) == 3
    captured = capsys.readouterr()
    assert "Traceback" in captured.err
    assert "bug in runaudit" in captured.err
