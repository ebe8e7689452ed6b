"""Outcomes under the column names of inspect_ai's data frames: `samples.csv` (samples_df) and `evals.csv` (evals_df).

For notebooks that read such frames. An evaluation is an arm, a seed and a checkpoint; `epoch` counts samples from 1,
and the score stands in `score_recorded` as a number. Carried are id, epoch, question, gold answer, score and error.
Not carried, because the frames have no column: completion, extracted answer, extraction, stop reason, completion
tokens and whether an answer was recorded as correct; the command says which of them the run holds. Columns that a run
cannot fill are empty. Checked against inspect_ai 0.3.285.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from audits.store.reader import Run
from runner.exporters.engine.rows import formulas_told, held, rows, write_csv

TABLE = "evals"
IS_FOLDER = True

SAMPLES = (
    "sample_id", "eval_id", "log", "id", "epoch", "input", "choices", "target", "description", "score_recorded",
    "model_usage", "total_tokens", "total_time", "working_time", "message_count", "turn_count", "token_limit_usage",
    "error", "limit", "limit_reason", "retries", "fallbacks",
)  # fmt: skip
EVALS = (
    "eval_id", "eval_set_id", "run_id", "task_id", "log", "created", "tags", "git_origin", "git_commit", "packages",
    "metadata", "task_name", "task_display_name", "task_description", "task_version", "task_file", "task_attribs",
    "solver", "solver_args", "sandbox_type", "sandbox_config", "model", "model_base_url", "model_args",
    "model_generate_config", "model_roles", "dataset_name", "dataset_location", "dataset_samples",
    "dataset_sample_ids", "dataset_shuffled", "epochs", "epochs_reducer", "approval", "review", "sentinel",
    "message_limit", "token_limit", "token_limit_type", "turn_limit", "time_limit", "working_limit", "status",
    "error_message", "error_traceback", "total_samples", "completed_samples", "score_headline_name",
    "score_headline_score", "score_headline_metric", "score_headline_value", "score_headline_stderr",
)  # fmt: skip
_LOST = ("completion", "extracted", "extraction", "stop_reason", "n_tokens", "correct")


def write(run: Run, out: Path) -> list[str]:
    """Write both frames.

    Args:
        run: the run.
        out: the directory.
    """
    with rows(run, "inspect_samples") as found:
        n_samples, formulas = write_csv(out / "samples.csv", SAMPLES, found)
    with rows(run, "inspect_evals") as found:
        n_evals, _ = write_csv(out / "evals.csv", EVALS, _evaluations(run, found))
    lost = held(run, "held_outcomes", _LOST)
    return [
        f"{out}: samples.csv {n_samples:,} rows, evals.csv {n_evals:,} rows",
        *([f"left out: {', '.join(lost)} of evals: the frames have no column for them"] if lost else []),
        *formulas_told(formulas),
    ]


def _evaluations(run: Run, found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    models = {
        f"{arm.arm}/{arm.seed}": arm.settings["model"]
        for arm in run.manifest.arms
        if isinstance(arm.settings.get("model"), str)
    }
    for row in found:
        yield row | {"run_id": run.manifest.run_id, "model": models.get(row["model"], row["model"])}
