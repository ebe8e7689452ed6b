"""A full run whose plan names one of our graders, with evaluations that this grader graded."""

from made_run import STARTED_AT, arms_of, evals, made_plan, sealed

from analysis.graders.grade import load_grader
from audits.store.manifest import Manifest
from audits.store.writer import RunWriter


def graded_evals(completions, *, grader="numeric_exact", gold="18", stop_reason="stop", **changes):
    """Evaluation columns of completions as the grader grades them; a change replaces a column."""
    golds = gold if isinstance(gold, list) else [gold] * len(completions)
    grades = [
        load_grader(grader).grade(text, stop_reason, answer) for text, answer in zip(completions, golds, strict=True)
    ]
    columns = evals(
        [grade.reward for grade in grades], completion=list(completions), gold=golds, stop_reason=stop_reason
    )
    columns["correct"] = [grade.correct for grade in grades]
    columns["extracted"] = [grade.extracted for grade in grades]
    columns["extraction"] = [grade.extraction for grade in grades]
    return columns | changes


def write_graded(path, by_arm, *, grader="numeric_exact", task="addition"):
    """Write a run of the demo plan that names this grader and task: evaluations of each arm, no step tables."""
    plan = made_plan(evaluation__grader=grader, task__id=task)
    seal = sealed(plan)
    manifest = Manifest(run_id=path.name, kind="full", status="complete", arms=arms_of(plan), plan_sha256=seal.sha256,
                        started_at=STARTED_AT)  # fmt: skip
    writer = RunWriter.create(path, manifest, seal)
    for record in arms_of(plan):
        writer.write_evals(record.arm, record.seed, "final", by_arm[record.arm])
    return path
