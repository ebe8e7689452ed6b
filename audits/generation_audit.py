"""Generated training data were checked as the plan demands: enough labels, few enough wrong ones, no evaluated items.

Training data that a model wrote carry wrong labels and copies of test items (inclusionAI/PromptCoT#8,
project-numina/aimo-progress-prize#22). A plan may demand a check (`generation_audit`, required): how many items were
labelled again, how many labels were wrong, how many evaluated items stand among them, and how answers were compared.
Its result is recorded under `executed.generation_audit` in run.json; overlaps are counted in the logs as well. A demand
that was not met is a failure; one whose result is missing or still unresolved is `inconclusive`: nobody knows that the
data were bad, and nobody may say that they were good.

It cannot check a label itself: the log has the generated items' golds and no second opinion.
"""

from audits.engine.audit import Audit
from audits.store.reader import Run


def demanded(run: Run) -> str | None:
    """Return why nothing was demanded, None where the plan demands the check."""
    if run.sealed is None:
        return "no plan is sealed in this run, so no check of generated data was demanded"
    wanted = run.sealed.plan.generation_audit
    if wanted is None:
        return "the plan has no generation_audit: no training data were generated"
    return None if wanted.required else "the plan's generation_audit is not required"


AUDIT = Audit(
    title="generated training data were checked as the plan demands",
    requires=(),
    examines="derived_generation_audit",
    mend="check the generated data again as the plan demands, drop what is wrong or overlaps, and record sample_size, "
    "label_errors, eval_overlaps and answer_comparison under executed.generation_audit in run.json",
    derived=("generation_audit",),
    applies=demanded,
)
