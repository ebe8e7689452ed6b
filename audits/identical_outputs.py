"""Two arms, or a trained arm and its base model, did not give the same outputs byte for byte.

Two policies that were trained apart do not write the same text item after item. Where they do, the adapter was never
loaded (EleutherAI/lm-evaluation-harness#2432: under data parallelism LoRA was ignored and greedy outputs were the base
model's), one set of weights was evaluated twice, or the treatment never acted, so that both arms were trained alike.
The same holds for the training logs: with one seed the first batch is the same by design, the later ones are only
where the losses never differed.

How much text is enough: after 300 tokens without a difference, the rate at which the two differ is below 1 % (95 %, the
rule of three), and trained policies differ more often than that. A completion that is nothing but the gold answer does
not count: two arms that are both right have to agree on it. With less text the finding is a `warn`; so it is where the
arm's own log has no update with a learning rate and an advantage other than 0, which explains it. Where the service
logged no token counts, four characters count as a token.

It compares final checkpoints over all their items, so that one differing completion clears them: the notes say how many
are alike. It cannot tell an adapter that was not loaded from a training that moved nothing.
"""

from audits.engine.audit import Audit

AUDIT = Audit(
    title="no two arms gave the same outputs, and no trained arm its base model's",
    requires=("evals.completion",),
    examines="evals WHERE completion IS NOT NULL AND checkpoint IN ('base', 'final')",
    mend="check that the evaluation sampled from the arm's own final checkpoint (executed.checkpoints in run.json) and "
    "that the gate's shares are above 0; then evaluate again, or train with a treatment that acts",
    derived=("output_fingerprints", "settings"),
)
