"""Runs with a curve on validation items, and one whose curve is drawn on test items."""

from executed_run import outcomes, write_executed

from audits.store.reader import open_run
from audits.store.writer import RunWriter

FAULTS = {1}


def with_point(path, split, arm="dppo", checkpoint="step000002", seed=0):
    """Add one evaluation on the way to a run."""
    writer = RunWriter(path, open_run(path).manifest)
    writer.write_evals(arm, seed, checkpoint, outcomes(arm, 10, split=split, checkpoint=checkpoint))
    return path


def passing(path):
    return with_point(write_executed(path), "validation")


def failing(path, faulty):
    return with_point(write_executed(path), "test")
