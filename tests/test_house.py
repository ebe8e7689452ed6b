"""The house: what stands where, what is imported when, and that ours is used wherever the user stands."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
AUDIT = Path(sysconfig.get_path("scripts")) / "audit"
FOLDERS = {"runner", "analysis", "audits", "reports", "sql", "tests", "docs"}
HEAVY = {
    "altair", "duckdb", "jinja2", "numpy", "pandas", "polars", "pyarrow", "pydantic_settings", "scipy", "statsmodels",
    "tinker", "torch", "transformers", "vl_convert",
}  # fmt: skip


def test_the_top_level_holds_only_the_fixed_folders() -> None:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    folders = {name.split("/")[0] for name in listed.stdout.splitlines() if "/" in name}
    assert folders - {".ci"} <= FOLDERS


def test_sql_holds_no_python_and_python_holds_no_long_sql() -> None:
    assert not list((ROOT / "sql").rglob("*.py"))
    for package in ("analysis", "audits", "reports", "runner"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for number, part in enumerate(text.split('"""')):
                # Odd parts are triple-quoted texts; a query there would be a SQL file in the wrong place.
                assert number % 2 == 0 or "\nSELECT" not in part.upper() or "FROM" not in part.upper(), path


def test_no_query_asks_isnan() -> None:
    # Over Parquet files the engine answers it from their statistics, which know no NaN: isfinite is right.
    asking = [path.name for path in (ROOT / "sql").rglob("*.sql") if "isnan" in path.read_text(encoding="utf-8")]
    assert asking == []


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from runner.cli.main import build_app\n"
        "try:\n    build_app()(['--help'])\nexcept SystemExit:\n    pass\n"
        "import json; print('MODULES' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout.split("MODULES")[1]))
    assert "typer" in modules
    assert modules & HEAVY == set()


def test_auditing_modules_do_not_import_torch_or_tinker() -> None:
    code = (
        "import sys, audits.engine.decide, audits.engine.gate, reports.model, runner.importers.outcomes\n"
        "bad = {'torch', 'tinker', 'transformers', 'statsmodels', 'scipy.stats'} & set(sys.modules)\n"
        "sys.exit(f'imported: {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr


def test_the_installed_command_uses_its_own_packages_wherever_it_is_called(tmp_path: Path) -> None:
    for name in ("analysis", "audits", "reports", "runner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package was imported')\n")
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "schema.sql").write_text("not the format\n")
    table = tmp_path / "outcomes.csv"
    table.write_text("item_id,a,b\n" + "".join(f"i{n},{n % 2},1\n" for n in range(40)))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def audit(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(AUDIT), *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    made = audit("import", "outcomes", "outcomes.csv", "--arm", "baseline=a", "--arm", "treatment=b", "--out", "runs/x")
    assert made.returncode == 0, made.stderr
    decided = audit("decide", "runs/x", "--format", "json")
    assert decided.returncode == 0, decided.stderr
    assert json.loads(decided.stdout)["verdict"] == "validated"


def test_no_file_names_a_machine_path() -> None:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".sql", ".toml", ".json", ".txt", ".j2", ".js", ".css"} and path.exists():
            text = path.read_text(encoding="utf-8")
            for fragment in ("/" + "work/", "/" + "root/", ".lib" + "rary"):
                assert fragment not in text, f"{name} names {fragment}"
