"""What an Inspect log says of how it evaluated, by the plan's paths."""

from typing import Any

from runner.importers.engine.record import Record

_NUMBERS = ("temperature", "top_p")
_WHOLES = ("max_tokens", "top_k")
_OTHERS = {
    "seed": "seed",
    "stop_seqs": "stop",
    "system_message": "system_message",
    "reasoning_effort": "reasoning_effort",
}


def settings_of(header: Record) -> dict[str, Any]:
    """Return the settings of an arm.

    The plan's generation options stand before those of the model, as in Inspect; what a solver was given of its own
    is no setting of the arm, and takes its place away.

    Args:
        header: the log without its samples.

    Raises:
        AuditError: a part is not what it should be.
    """
    evaluation, plan = header.part("eval"), header.part_or_empty("plan")
    dataset, config = evaluation.part("dataset"), evaluation.part("config")
    merged = {**evaluation.part_or_empty("model_generate_config").values, **plan.part_or_empty("config").values}
    options = Record(merged, plan.where)
    steps = list(plan.parts("steps")) if plan.values.get("steps") else []
    own = {name for step in steps for name, value in step.part_or_empty("params").values.items() if value is not None}
    found = {
        "model": evaluation.text("model"),
        "evaluation.task": evaluation.text("task"),
        "evaluation.samples_per_item": config.whole_or_none("epochs", least=1) or 1,
        "dataset.name": dataset.text_or_none("name"),
        "evaluation.solver": ", ".join(step.text("solver") for step in steps) or None,
        **{f"evaluation.{name}": options.number(name) for name in _NUMBERS if merged.get(name) is not None},
        **{f"evaluation.{name}": options.whole_or_none(name) for name in _WHOLES},
        **{f"evaluation.{path}": merged.get(name) for name, path in _OTHERS.items()},
    }
    absent = {f"evaluation.{_OTHERS.get(name, name)}" for name in own}
    return {path: value for path, value in found.items() if value is not None and path not in absent}
