"""A run that ended anywhere goes on and ends with the tables of one that did not."""

import io
import json
import shutil
from contextlib import nullcontext

import pytest
from made_run import change_json
from same_tables import assert_same_tables

from analysis.errors import AuditError, Refused
from audits.store.durable import held
from audits.store.reader import open_run
from audits.store.writer import RunWriter
from runner.loop import launch as launching
from runner.loop.arms import _Training
from runner.loop.journal import Journal
from runner.loop.launch import execute_on, prepare
from runner.loop.options import RunOptions
from runner.loop.progress import LineProgress
from runner.loop.saved_states import SavedStates
from runner.loop.setting import Conduct

# The SDK never closes the connection over which it fetches its configuration; whenever that is collected, it warns.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


class _Killed(BaseException):
    """The process is gone: nothing more is written by whoever gets this."""


@pytest.fixture(scope="module")
def plan(make_plan):
    """Three steps of two arms."""
    return make_plan(activation_gate__pilot_steps=3)


@pytest.fixture(scope="module")
def uninterrupted(run_small, plan, tmp_path_factory):
    """What every other run must end as."""
    return run_small(plan, "pilot", tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def start(backend, progress, tmp_path):
    """Begin the run in tmp_path/run, or go on with it."""

    def start(sealed, *, resume=False, **options):
        launch = prepare(sealed, "pilot", tmp_path / "run", None, progress, resume=resume)
        return execute_on(launch, nullcontext(backend), progress, RunOptions(**options))

    return start


def _dies(monkeypatch, owner, name, when, *, before=True):
    """Let a method of ours be the last thing that the process does, at the call of which `when` is true."""
    original = getattr(owner, name)

    def dying(self, *arguments, **named):
        if when(self, *arguments):
            if not before:
                original(self, *arguments, **named)
            raise _Killed
        return original(self, *arguments, **named)

    monkeypatch.setattr(owner, name, dying)


def _step_1_of_dppo(self, arm, seed, step, *_rest):
    return (arm, step) == ("dppo", 1)


def _lines_of_step_1_of_dppo(self, records):
    return records[0].path == "tokens/arm=dppo/seed=0/step=000001.parquet"


def _state_of_step_1(self, state):
    return state.step == 1 and "dppo" in str(self._path)


POINTS = {
    "between data files and manifest lines": (RunWriter, "_commit", _lines_of_step_1_of_dppo, True),
    "between the record and the rows": (SavedStates, "add", _state_of_step_1, False),
}
MORE_POINTS = {
    "before the data files": (RunWriter, "write_step", _step_1_of_dppo, True),
    "between the rows and the journal": (RunWriter, "write_step", _step_1_of_dppo, False),
    "between the saved state and its record": (SavedStates, "add", _state_of_step_1, True),
    "while the journal is written": (Journal, "write", lambda self, event, *_: event == "evaluation", True),
    "before the outcomes": (RunWriter, "write_evals", lambda self, arm, *_: arm == "grpo", True),
}


@pytest.mark.parametrize("point", [*POINTS, *(pytest.param(point, marks=pytest.mark.slow) for point in MORE_POINTS)])
def test_killed_at_a_chosen_point_it_ends_as_if_nothing_had_happened(
    plan, uninterrupted, start, monkeypatch, tmp_path, point
):
    owner, name, when, before = (POINTS | MORE_POINTS)[point]
    with monkeypatch.context() as patch:
        _dies(patch, owner, name, when, before=before)
        with pytest.raises(_Killed):
            start(plan)
    run = start(plan, resume=True)
    assert_same_tables(run, uninterrupted)
    manifest = open_run(run).manifest
    assert manifest.status == "complete"
    assert [attempt["was"] for attempt in manifest.resumed] == ["failed"]
    assert [(arm["arm"], arm["seed"]) for arm in manifest.executed["arms"]].count(("dppo", 0)) == 1


@pytest.fixture(scope="module")
def died(plan, backend, tmp_path_factory):
    """A run that died when the treatment had finished its second step."""
    run = tmp_path_factory.mktemp("died") / "run"
    with pytest.MonkeyPatch.context() as patch:
        _dies(patch, RunWriter, "write_step", _step_1_of_dppo, before=False)
        launch = prepare(plan, "pilot", run, None, LineProgress(io.StringIO()))
        with pytest.raises(_Killed):
            execute_on(launch, nullcontext(backend), LineProgress(io.StringIO()))
    return run


@pytest.fixture
def half(died, tmp_path):
    """A copy of it, in the place that `start` goes on with."""
    shutil.copytree(died, tmp_path / "run")


def _damage(path, change):
    path.write_text(change(path.read_text()))


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text[:-20], id="a torn last line"),
        pytest.param(
            lambda text: "\n".join(text.split("\n")[:-3]) + "\n",
            id="a step with half of its files listed",
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda text: "", id="nothing listed", marks=pytest.mark.slow),
    ],
)
def test_a_log_that_was_cut_off_is_brought_to_its_last_whole_step(plan, uninterrupted, start, tmp_path, change):
    files = tmp_path / "run" / "files.jsonl"
    _damage(files, change)
    (tmp_path / "run" / "tokens" / ".step.parquet.x.tmp").write_bytes(b"half")
    assert_same_tables(start(plan, resume=True), uninterrupted)


@pytest.mark.usefixtures("half")
def test_what_is_whole_is_not_run_again(plan, start, progress, tmp_path, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*.parquet")}
    steps = []
    original = _Training._step
    monkeypatch.setattr(
        _Training,
        "_step",
        lambda self, step, *rest: steps.append((self._arm.name, step)) or original(self, step, *rest),
    )
    # A killed attempt could not write down how it ended.
    change_json(tmp_path / "run" / "run.json", status="running")
    start(plan, resume=True)
    assert ("dppo_seed0", 2) in steps
    assert "dppo_seed0: goes on with step 3/3" in progress.notes
    assert any(note.endswith(": going on with a run that was killed") for note in progress.notes)
    assert not {("dppo_seed0", 0), ("dppo_seed0", 1), ("grpo_seed0", 0)} & set(steps)
    after = {path: path.stat().st_mtime_ns for path in before if path.exists()}
    assert after.items() <= before.items()
    assert len(after) >= 9, "the prompts and two steps of four tables"


@pytest.mark.slow
def test_without_a_saved_state_at_every_step_the_steps_since_the_last_are_run_again(
    make_plan, run_small, start, monkeypatch, tmp_path
):
    longer = make_plan(activation_gate__pilot_steps=4)
    whole = run_small(longer, "pilot", tmp_path / "whole")
    with monkeypatch.context() as patch:
        _dies(
            patch, RunWriter, "write_step", lambda self, arm, seed, step, *_: (arm, step) == ("dppo", 2), before=False
        )
        with pytest.raises(_Killed):
            start(longer, save_every=2)
    assert [state["step"] for state in _states(tmp_path / "run", "dppo")] == [1]
    assert_same_tables(start(longer, resume=True, save_every=2), whole)
    assert [state["step"] for state in _states(tmp_path / "run", "dppo")] == [1, 3]


def _states(run, arm):
    return json.loads((run / "state" / "saved" / f"arm={arm}" / "seed=0.json").read_text())["states"]


def test_asked_to_stop_every_arm_saves_what_it_has(plan, uninterrupted, start, monkeypatch, tmp_path):
    original = Conduct.note_step

    def note(self, report):
        original(self, report)
        if report.step == 0:
            self.stop.ask("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(Conduct, "note_step", note)
        with pytest.raises(KeyboardInterrupt):
            start(plan, save_every=3, concurrency=1)
    run = tmp_path / "run"
    assert open_run(run).manifest.status == "interrupted"
    assert [state["step"] for state in _states(run, "grpo")] == [0], "no step was due, and none is lost"
    assert_same_tables(start(plan, resume=True), uninterrupted)


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"versions__tinker": "0.0.1"}, "version of tinker: 0.0.1"),
        ({"versions__source_sha256": "0" * 64}, "source of runaudit"),
        ({"git__commit": "1" * 40}, "git commit"),
        ({"git__diff_sha256": "0" * 64}, "uncommitted changes"),
        ({"kind": "full"}, "kind: full when it was begun, pilot here"),
        ({"plan_sha256": "0" * 64}, "plan"),
        ({"backend__kind": "url", "backend__url": "http://elsewhere"}, "http://elsewhere"),
    ],
)
def test_a_changed_plan_code_or_service_refuses_to_resume(plan, start, tmp_path, change, said):
    change_json(tmp_path / "run" / "run.json", **change)
    before = (tmp_path / "run" / "files.jsonl").read_bytes()
    with pytest.raises(Refused, match=said):
        start(plan, resume=True)
    assert (tmp_path / "run" / "files.jsonl").read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("half")
def test_another_machine_of_the_same_kind_may_go_on(plan, start, tmp_path):
    change_json(tmp_path / "run" / "run.json", versions__platform="Linux-of-another-node")
    assert open_run(start(plan, resume=True)).manifest.status == "complete"


@pytest.mark.usefixtures("half")
def test_other_data_refuse_to_resume(plan, start, monkeypatch, tmp_path):
    from runner.loop.tasks import addition

    monkeypatch.setattr(addition, "problems", lambda *arguments, made=addition.problems: made(*arguments)[::-1])
    with pytest.raises(Refused, match=r"prompt_id.* of prompts\.parquet"):
        start(plan, resume=True)


@pytest.mark.usefixtures("half")
def test_a_damaged_file_is_named_before_anything_is_touched(plan, start, tmp_path):
    victim = tmp_path / "run" / "tokens" / "arm=dppo" / "seed=0" / "step=000000.parquet"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(AuditError, match=r"step=000000\.parquet: its sha256"):
        start(plan, resume=True)


def test_two_processes_never_write_one_run(plan, start, half, tmp_path):
    with held(tmp_path / "run" / "state" / launching.LOCK_NAME), pytest.raises(AuditError, match="another process"):
        start(plan, resume=True)


@pytest.mark.slow
def test_resuming_what_was_hardly_begun_begins_anew(plan, start, tmp_path, uninterrupted):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "plan.json").write_bytes(plan.canonical)
    (tmp_path / "run" / ".run.json.abc.tmp").write_text("{")
    assert_same_tables(start(plan, resume=True), uninterrupted)


def test_a_complete_run_has_nothing_left_to_do(plan, uninterrupted, progress):
    assert prepare(plan, "pilot", uninterrupted, None, progress, resume=True).is_complete
