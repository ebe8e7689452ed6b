"""The prompts that training could sample, or did: one row a prompt, with what two questions are compared by.

Prompts of the train split, and those that a rollout names whatever their split. `n_rollouts` counts the rollouts of all
arms that were sampled from it. `normalised` and `form` are of `analysis.question_text`.
"""

from typing import TYPE_CHECKING, Any

from analysis.question_text import normalised_question, question_form
from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

_SAMPLED = "SELECT prompt_id, count(*) FROM rollouts GROUP BY prompt_id"
_PROMPTS = "SELECT prompt_id, split, question FROM prompts ORDER BY ALL"


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table."""
    import pyarrow as pa

    sampled = dict(connection.execute(_SAMPLED).fetchall())
    prompts = [row for row in connection.execute(_PROMPTS).fetchall() if row[1] == "train" or row[0] in sampled]
    normalised = [normalised_question(question) for _, _, question in prompts]
    text = pa.string()
    return pa.table(
        {
            "prompt_id": pa.array([row[0] for row in prompts], text),
            "split": pa.array([row[1] for row in prompts], text),
            "question": pa.array([row[2] for row in prompts], text),
            "normalised": pa.array(normalised, text),
            "form": pa.array([question_form(question) for question in normalised], text),
            "n_rollouts": pa.array([sampled.get(row[0], 0) for row in prompts], pa.int64()),
        }
    )


DERIVED = Derived(requires=("prompts",), derive=derive)
