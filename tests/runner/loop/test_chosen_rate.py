"""Which sweep a run records: the one that is named, else the newest of its plan beside it."""

import json
import os

import pytest
from audit_runs.fair_tuning import INSIDE, swept_plan, table
from made_run import sealed

from analysis.errors import AuditError
from audits.store.reader import open_run
from audits.store.verify import damaged_files
from runner.loop.chosen_rate import sweep_of
from runner.loop.launch import execute_on, prepare


def swept_folder(folder, plan, *, time=1, **changes):
    folder.mkdir()
    (folder / "sweep.json").write_text(json.dumps(table(plan, INSIDE, INSIDE, **changes)), encoding="utf-8")
    os.utime(folder / "sweep.json", (time, time))
    return folder


def test_the_newest_sweep_of_this_plan_or_the_one_before_is_found_beside_the_run(tmp_path, progress):
    before = swept_plan(title="swept")
    plan = swept_plan(supersedes=sealed(before).sha256)
    swept_folder(tmp_path / "old", plan, time=1)
    newest = swept_folder(tmp_path / "new", before, time=2)
    swept_folder(tmp_path / "foreign", swept_plan(title="another"), time=3)
    copied = swept_folder(tmp_path / "pilot", plan, time=4)
    (copied / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sweep.json").write_text("{", encoding="utf-8")
    found = sweep_of(sealed(plan), tmp_path / "full", None, progress)
    assert (found.link.path, found.text) == ("../new", (newest / "sweep.json").read_text(encoding="utf-8"))
    assert progress.notes == [f"sweep: {newest}"]


def test_a_named_sweep_is_taken_wherever_it_stands(tmp_path, progress):
    plan = swept_plan()
    (tmp_path / "elsewhere").mkdir()
    folder = swept_folder(tmp_path / "elsewhere" / "sweep", plan)
    assert sweep_of(sealed(plan), tmp_path / "runs" / "full", folder, progress).link.path == "../../elsewhere/sweep"


@pytest.mark.parametrize(("chosen", "said"), [(1e-2, "chose 0.01"), (None, "chose no rate")])
def test_another_rate_than_the_chosen_one_is_told_before_anything_runs(tmp_path, progress, chosen, said):
    plan = swept_plan()
    swept_folder(tmp_path / "sweep", plan, chosen=chosen)
    assert sweep_of(sealed(plan), tmp_path / "full", None, progress) is not None
    assert f"the sweep {said}, and this plan runs at 0.001" in progress.notes[-1]


def test_a_grid_that_nobody_swept_is_told_and_stops_nothing(tmp_path, progress):
    assert sweep_of(sealed(swept_plan()), tmp_path / "full", None, progress) is None
    assert "fair_tuning stays inconclusive" in progress.notes[0]


def test_a_named_folder_that_is_no_sweep_of_this_plan_is_refused(make_plan, tmp_path, progress):
    plan = sealed(swept_plan())
    with pytest.raises(AuditError, match=r"holds no sweep\.json"):
        sweep_of(plan, tmp_path / "full", tmp_path, progress)
    with pytest.raises(AuditError, match="is the sweep of plan"):
        sweep_of(plan, tmp_path / "full", swept_folder(tmp_path / "other", swept_plan(title="another")), progress)
    with pytest.raises(AuditError, match="this plan has no grid"):
        sweep_of(make_plan(), tmp_path / "full", tmp_path / "other", progress)


def test_a_run_holds_the_table_and_its_digest_and_keeps_both_when_it_goes_on(make_plan, tmp_path, progress):
    rates = {"grpo": [0.001, 0.003, 0.01], "dppo": [0.001, 0.003, 0.01]}
    plan = make_plan(sweep={"learning_rates": rates})
    said = json.dumps({"plan_sha256": plan.sha256, "split": "validation", "rates": [], "chosen": {"learning_rate": 1}})
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json").write_text(said, encoding="utf-8")

    class Ended(Exception):
        pass

    class Unreachable:
        def __enter__(self):
            raise Ended

        def __exit__(self, *_):
            pass

    def attempt(resume):
        launch = prepare(plan, "pilot", tmp_path / "pilot", None, progress, resume=resume)
        with pytest.raises(Ended):
            execute_on(launch, Unreachable(), progress)
        return open_run(tmp_path / "pilot")

    first = attempt(resume=False)
    assert (first.path / "sweep.json").read_text(encoding="utf-8") == said
    assert (first.manifest.sweep.path, list(damaged_files(first))) == ("../sweep", [])
    (tmp_path / "sweep" / "sweep.json").unlink()
    again = attempt(resume=True)
    assert (again.manifest.sweep, len(again.manifest.resumed)) == (first.manifest.sweep, 1)
    (first.path / "sweep.json").write_text("{}", encoding="utf-8")
    with pytest.raises(AuditError, match=r"sweep\.json: its sha256"):
        execute_on(prepare(plan, "pilot", tmp_path / "pilot", None, progress, resume=True), Unreachable(), progress)
