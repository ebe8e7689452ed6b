"""The demo's story, on the small plan."""

import pytest

from analysis.errors import AuditError
from runner.loop.demonstration import MEANINGS, Places, run_demonstration

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

LIMITS = [{"metric": "policy_drift_abs_p_q90", "measures": "drift", "min": 1e-9, "arm": "treatment", "update": 1}]


@pytest.fixture
def tell(progress):
    """Run the demonstration and return what it said."""

    def run(sealed, out):
        said = []
        run_demonstration(
            sealed, out, said.append, progress, lambda run, report: report, lambda run: "<html>page</html>"
        )
        return "\n".join(said)

    return run


def test_every_verdict_has_its_meaning():
    assert set(MEANINGS) == {"validated", "refuted", "tie", "inconclusive", "void"}


@pytest.mark.parametrize("made", [["note.txt"], ["run.json"]])
def test_what_the_demo_did_not_make_is_left_alone(make_plan, tmp_path, tell, made):
    foreign = Places(tmp_path).full
    foreign.mkdir()
    for name in made:
        (foreign / name).write_text("{}", encoding="utf-8")
    with pytest.raises(AuditError, match="left alone"):
        tell(make_plan(), tmp_path)
    assert sorted(path.name for path in foreign.iterdir()) == made


@pytest.mark.slow
@pytest.mark.usefixtures("sdk")
def test_the_story_ends_with_a_verdict_and_can_be_told_again(make_plan, tmp_path, tell, monkeypatch, capsys):
    from runner.loop import launch

    monkeypatch.setattr(launch, "command_line", lambda: ["audit", "demo"])
    plan = make_plan(activation_gate__checks=LIMITS)
    for _ in range(2):
        said = tell(plan, tmp_path)
        assert "4. Decision" in said
        assert MEANINGS["inconclusive"] in said
        assert "INCONCLUSIVE" in capsys.readouterr().out
        assert (Places(tmp_path).full / "report.html").read_text(encoding="utf-8") == "<html>page</html>"


@pytest.mark.slow
@pytest.mark.usefixtures("sdk")
def test_a_gate_that_does_not_pass_ends_the_story_without_a_full_run(make_plan, tmp_path, tell):
    never = [{**LIMITS[0], "min": 0.99}]
    said = tell(make_plan(activation_gate__checks=never), tmp_path)
    assert "That refusal is what the gate is for" in said
    assert not Places(tmp_path).full.exists()
