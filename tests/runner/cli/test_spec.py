import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import rfc8785
import typer

from analysis.errors import AuditError
from runner.cli.spec import command
from runner.loop.plans import shipped_plans

SPECS = Path(__file__).parents[2] / "data" / "specs"


@pytest.fixture
def spec(capsys):
    """Run the command; return the exit code, what it printed and what it told on stderr."""

    def run(*words, **options):
        try:
            command(words=[str(word) for word in words] or None, **options)
            code = 0
        except typer.Exit as stop:
            code = stop.exit_code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_a_shipped_plan_is_found_by_its_id(spec):
    code, out, _ = spec("demo")
    assert code == 0
    assert "On tiny-addition, LoRA rank 32" in out
    assert "Findings: 0 error, 0 warn, 2 note" in out


def test_a_file_wins_over_a_shipped_plan_of_that_name(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("demo").write_bytes((SPECS / "dppo_vs_grpo_v1.json").read_bytes())
    _, out, _ = spec("demo")
    assert "Plan format 1" in out


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_older_plan_is_explained_and_fails_because_it_cannot_run(spec, version):
    code, out, _ = spec(SPECS / f"dppo_vs_grpo_{version}.json")
    assert code == 1
    assert "Can it run?" in out
    assert "from prose (heuristic)" in " ".join(out.split())


def test_json_is_one_object_with_the_same_findings(spec):
    path = SPECS / "dppo_vs_grpo_v2.json"
    code, out, _ = spec(path, format="json")
    result = json.loads(out)
    assert code == 1
    assert result["status"] == "fail"
    assert result["schema_version"] == 1
    assert result["plan"]["format"] == 2
    assert result["plan"]["sha256"] == hashlib.sha256(rfc8785.dumps(json.loads(path.read_text()))).hexdigest()
    lints = {finding["lint"] for finding in result["findings"]}
    assert {"unresolved_pins", "missing_feasibility", "fields_only_in_prose", "optimizer_eps_default"} <= lints
    assert all(finding.keys() >= {"lint", "severity", "path", "message", "mend"} for finding in result["findings"])


@pytest.mark.parametrize(("name", "status"), [("demo", "pass"), ("dppo_vs_grpo_v1", "fail")])
def test_status_is_the_worst_severity_and_only_errors_fail(spec, name, status):
    code, out, _ = spec(name, format="json")
    assert code == int(status == "fail")
    assert json.loads(out)["status"] == status


def test_the_schema_knows_every_field(spec):
    code, out, _ = spec(schema=True)
    schema = json.loads(out)
    assert code == 0
    assert schema["additionalProperties"] is False
    assert {"rollout", "losses", "decision_rule"} <= schema["properties"].keys()
    assert schema["$defs"]["Loss"]["properties"]["delta"]


def test_the_shipped_plans_satisfy_the_schema(spec):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(spec(schema=True)[1])
    for path in shipped_plans().values():
        document = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(document, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, "detla": 1}, schema)


def test_a_seal_is_the_hash_of_the_canonical_json(spec, tmp_path):
    out_path = tmp_path / "plan.json"
    code, out, err = spec("seal", "demo", out=out_path)
    content = out_path.read_bytes()
    document = json.loads(shipped_plans()["demo"].read_text(encoding="utf-8"))
    assert code == 0
    assert "sealed at 2" in err
    assert "block a full run" not in err
    assert content == rfc8785.dumps(document)
    assert out.strip() == hashlib.sha256(content).hexdigest()
    assert spec("seal", out_path)[1] == out
    sealed = json.loads(spec("seal", "demo", format="json")[1])["plan"]
    assert sealed["sha256"] == out.strip()
    assert {"sealed_at", "git"} <= sealed.keys()


def test_a_seal_of_a_plan_that_cannot_run_says_so_on_stderr(spec):
    code, out, err = spec("seal", SPECS / "dppo_vs_grpo_v2.json")
    assert code == 0
    assert len(out.strip()) == 64
    assert "block a full run" in err


def test_a_sealed_plan_is_not_overwritten(spec, tmp_path):
    out_path = tmp_path / "plan.json"
    out_path.write_text("other")
    with pytest.raises(AuditError, match="exists with other content"):
        spec("seal", "demo", out=out_path)
    assert out_path.read_text() == "other"
    with pytest.raises(AuditError, match="cannot be written"):
        spec("seal", "demo", out=tmp_path / "missing" / "plan.json")


def test_sealing_twice_to_one_file_is_fine(spec, tmp_path):
    for _ in range(2):
        assert spec("seal", "demo", out=tmp_path / "plan.json")[0] == 0


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ([], {}, "takes one FILE, not 0"),
        (["a", "b"], {}, "takes one FILE, not 2"),
        (["seal"], {}, "takes one FILE, not 0"),
        (["dmo"], {}, 'did you mean "demo"?'),
        (["quite-another"], {}, "known: critic_study"),
        (["demo"], {"format": "junit"}, "Use table or json"),
        (["demo"], {"schema": True}, "takes no FILE"),
        (["demo"], {"out": Path("x")}, "goes with `audit spec seal"),
        (["."], {}, "not readable"),
    ],
)
def test_wrong_usage_is_an_error_that_says_what_to_do(spec, words, options, message):
    with pytest.raises(AuditError) as caught:
        spec(*words, **options)
    assert message in caught.value.message
    assert caught.value.exit_code == 2


def test_a_bad_plan_is_an_error_with_the_path_of_the_key(spec, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(shipped_plans()["demo"].read_text().replace('"delta"', '"detla"'))
    with pytest.raises(AuditError, match=r'losses\.dppo\.detla: unknown key; did you mean "delta"'):
        spec(path)


def test_hostile_text_reaches_the_terminal_escaped(spec, tmp_path):
    document = json.loads(shipped_plans()["demo"].read_text(encoding="utf-8"))
    document["title"] = "x\u001b]0;owned\u0007\u202e"
    document["losses"]["\u001b[2J\u202e"] = document["losses"]["grpo"]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document))
    _, out, _ = spec(path)
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    assert r"\x1b]0;owned\x07" in out


def test_importing_the_command_is_cheap():
    code = (
        "import sys, runner.cli.spec; heavy = {'analysis', 'audits', 'reports', 'numpy', 'scipy', 'rfc8785'}; "
        "print([name for name in sys.modules if name.split('.')[0] in heavy])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
