"""The questions of the evaluated items: one row an item and prompt, with what two questions are compared by.

`is_final`: it is an item of a final evaluation. `normalised` and `form` are of `analysis.question_text`; `has_words`
says that the form has a word. A prompt that was not logged has no row here.
"""

from typing import TYPE_CHECKING, Any

from analysis.question_text import has_words, normalised_question, question_form
from audits.engine.derived import Derived
from audits.store.reader import Run

if TYPE_CHECKING:
    import duckdb

_ITEMS = "SELECT item_id, prompt_id, bool_or(checkpoint = 'final') FROM evals GROUP BY ALL ORDER BY ALL"
_PROMPTS = "SELECT prompt_id, question, gold FROM prompts ORDER BY ALL DESC"


def derive(run: Run, connection: "duckdb.DuckDBPyConnection") -> Any:
    """Return the table; of a prompt id that stands there several times, the first question by text."""
    import pyarrow as pa

    prompts = {prompt_id: (question, gold) for prompt_id, question, gold in connection.execute(_PROMPTS).fetchall()}
    items = [row for row in connection.execute(_ITEMS).fetchall() if row[1] in prompts]
    questions = [prompts[prompt_id][0] for _, prompt_id, _ in items]
    normalised = [normalised_question(question) for question in questions]
    forms = [question_form(text) for text in normalised]
    text = pa.string()
    return pa.table(
        {
            "item_id": pa.array([row[0] for row in items], text),
            "prompt_id": pa.array([row[1] for row in items], text),
            "is_final": pa.array([row[2] for row in items], pa.bool_()),
            "question": pa.array(questions, text),
            "gold": pa.array([prompts[row[1]][1] for row in items], text),
            "normalised": pa.array(normalised, text),
            "form": pa.array(forms, text),
            "has_words": pa.array([has_words(form) for form in forms], pa.bool_()),
        }
    )


DERIVED = Derived(requires=("evals.prompt_id", "prompts"), derive=derive)
