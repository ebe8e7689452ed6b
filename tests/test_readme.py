"""The README and the demo: every command it shows is run, and what it promises of the demo is measured."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```console( demo)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TINKER_")}
    environment["PATH"] = sysconfig.get_path("scripts") + os.pathsep + environment["PATH"]
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the demo once, as `make demo` does, in a folder that looks like a checkout to the README's commands."""
    pytest.importorskip("tinker", reason="the demo needs runaudit[train]")
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(ROOT / "tests" / "data", folder / "tests" / "data")
    done = shell("audit demo --out runs", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "demo.txt").write_text(done.stdout, encoding="utf-8")
    return folder


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block with the output that is shown below each."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in parts]


def blocks(*, of_the_demo: bool) -> list[tuple[str, str]]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return [pair for demo, text in BLOCK.findall(readme) if bool(demo) == of_the_demo for pair in commands(text)]


def matches(shown: str, printed: str) -> bool:
    """Return whether the printed lines are the shown ones; a line of … stands for any lines."""
    pattern = "".join(r"(?:.*\n)*" if line == "…" else re.escape(line) + r"\s*\n" for line in shown.splitlines())
    return re.fullmatch(pattern, printed) is not None


@pytest.fixture(scope="session")
def printed(tmp_path_factory: pytest.TempPathFactory) -> "dict[str, subprocess.CompletedProcess[str]]":
    """Run the commands that need no demo in one folder, in the order in which the README shows them."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "tests" / "data", folder / "tests" / "data")
    return {command: shell(command, folder) for command, _ in blocks(of_the_demo=False)}


@pytest.mark.parametrize(("command", "shown"), blocks(of_the_demo=False), ids=lambda value: value.split("\n")[0][:60])
def test_a_command_prints_what_the_readme_shows(
    command: str, shown: str, printed: "dict[str, subprocess.CompletedProcess[str]]"
) -> None:
    done = printed[command]
    assert done.returncode == 0, done.stderr
    assert matches(shown, done.stdout), f"{command}\nshown:\n{shown}\nprinted:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(("command", "shown"), blocks(of_the_demo=True), ids=lambda value: value.split("\n")[0][:60])
def test_a_command_on_the_demo_runs(command: str, shown: str, demo: Path) -> None:
    done = shell(command, demo)
    assert done.returncode in {0, 1, 4}, done.stderr
    assert "Traceback" not in done.stderr
    # Another processor may sample other tokens, so only the words are compared, not the numbers.
    words = re.findall(r"[a-z_]{4,}", shown.split("…")[0].splitlines()[-1])
    assert all(word in done.stdout for word in words)


def test_the_demo_s_gate_passes_within_the_plan_s_limits(demo: Path) -> None:
    done = shell("audit gate runs/pilot --format json", demo)
    assert done.returncode == 0
    values = {check["id"]: check["value"] for check in json.loads(done.stdout)["checks"]}
    assert 0.001 <= values["dppo_masked_token_fraction"] <= 0.3
    assert values["policy_drift_abs_p_q90"] >= 0.005


def test_the_demo_s_reward_rises_and_the_model_learns(demo: Path) -> None:
    query = "SELECT arm, avg(reward) FILTER (step < 6) AS first, avg(reward) FILTER (step >= 24) AS last FROM rollouts"
    rows = json.loads(shell(f"audit sql runs/full '{query} GROUP BY arm' --format json", demo).stdout)
    assert {row["arm"] for row in rows} == {"grpo", "dppo"}
    assert all(row["last"] > row["first"] + 0.05 for row in rows)
    scores = "SELECT arm, avg(score) AS accuracy FROM evals GROUP BY arm"
    accuracy = {
        row["arm"]: row["accuracy"]
        for row in json.loads(shell(f'audit sql runs/full "{scores}" --format json', demo).stdout)
    }
    assert min(accuracy["grpo"], accuracy["dppo"]) > accuracy["base"] + 0.1


def test_the_demo_s_figures_can_be_had_again_with_the_printed_query(demo: Path) -> None:
    checks = json.loads(shell("audit gate runs/pilot --format json", demo).stdout)["checks"]
    asked = [check for check in checks if check["sql"] and isinstance(check["value"], float)]
    assert len(asked) >= 3
    for check in asked:
        query = check["sql"].replace("'", "'\"'\"'")
        rows = json.loads(shell(f"audit sql runs/pilot '{query}' --format json", demo).stdout)
        assert rows[-1]["value"] == pytest.approx(check["value"], rel=1e-12)


def test_the_demo_leaves_whole_runs_and_a_report(demo: Path) -> None:
    for run in ("runs/pilot", "runs/full"):
        assert shell(f"audit verify {run}", demo).returncode == 0
    assert (demo / "runs/full/report.html").stat().st_size < 1_500_000
    told = (demo / "demo.txt").read_text(encoding="utf-8")
    assert "In plain words" in told
    assert shell("audit decide runs/full", demo).returncode in {0, 1, 4}


def test_the_seal_is_older_than_the_first_token_and_the_pilot_than_the_full_run(demo: Path) -> None:
    pilot, full = (json.loads((demo / run / "run.json").read_text()) for run in ("runs/pilot", "runs/full"))
    assert pilot["plan_sha256"] == full["plan_sha256"]
    assert full["pilot"]["run_id"] == pilot["run_id"]
    assert pilot["finished_at"] < full["started_at"]
    first = "SELECT min(started_at) AS first FROM phases"
    sampled = json.loads(shell(f'audit sql runs/full "{first}" --format json', demo).stdout)[0]["first"]
    assert full["started_at"] <= sampled
