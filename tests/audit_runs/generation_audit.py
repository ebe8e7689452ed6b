"""Runs whose plan demands a check of generated data, with a result that meets it and one that does not."""

from made_run import change_json, made_plan, write_run

FAULTS = {1}
DEMANDED = {
    "required": True, "answer_comparison": "numeric_exact", "max_eval_overlaps": 0, "max_label_errors": 1,
    "min_sample_size": 100,
}  # fmt: skip
MET = {"sample_size": 100, "label_errors": 1, "eval_overlaps": 0, "answer_comparison": "numeric_exact"}


def passing(path):
    return run_with(path, MET)


def failing(path, faulty):
    return run_with(path, MET | {"label_errors": 1 + faulty})


def run_with(path, found, **demanded):
    """A run whose run.json records these results; None records none."""
    write_run(path, made_plan(generation_audit=DEMANDED | demanded), tokens_of=None)
    if found is not None:
        change_json(path / "run.json", executed={"generation_audit": found})
    return path
