"""An engine that is kept open gives what one that is opened for each call gives, whatever was asked of it before."""

from made_run import made_plan, write_experiment

from audits.engine.drift import drift_by_step
from audits.engine.executors import LOCAL, Engine
from audits.engine.gate import evaluate_gate
from audits.engine.mask_curve import mask_curves
from audits.engine.pilot_evidence import pilot_of
from audits.store import scan
from audits.store.reader import open_run


def asked(run, engine):
    pilot = pilot_of(run)
    return [
        evaluate_gate(pilot, run.sealed.plan, engine=engine),
        evaluate_gate(run, run.sealed.plan, engine=engine),
        drift_by_step(run, run.sealed.plan, engine),
        mask_curves(run, run.sealed.plan, engine),
        evaluate_gate(pilot, run.sealed.plan, engine=engine),
    ]


def test_two_runs_after_each_other_and_small_batches_give_the_same_figures(tmp_path):
    run = open_run(write_experiment(tmp_path, made_plan()))
    alone = asked(run, LOCAL)
    for engine in (LOCAL, Engine(rows_a_batch=1)):
        with engine.kept_open() as kept:
            assert asked(run, kept) == alone


def test_one_database_serves_all_scans(tmp_path, monkeypatch):
    run = open_run(write_experiment(tmp_path, made_plan()))
    opened = []
    create = scan.create_views
    monkeypatch.setattr(scan, "create_views", lambda connection: opened.append(1) or create(connection))
    with LOCAL.kept_open() as kept:
        mask_curves(run, run.sealed.plan, kept)
        drift_by_step(run, run.sealed.plan, kept)
    assert len(opened) == 1


def test_an_engine_elsewhere_is_left_as_it_is():
    elsewhere = Engine("ray", "auto")
    with elsewhere.kept_open() as kept:
        assert kept is elsewhere
