"""Runs whose arms were measured alike, and one in which a vote of five stands against single answers."""

from made_run import change_json, evals, right, write_outcomes

FAULTS = {1}


def stated(path, baseline, treatment):
    """Imported outcomes of two arms with what their sources state of each."""
    write_outcomes(path, {"baseline": [evals(right(3))], "treatment": [evals(right(4))]})
    arms = [
        {"arm": role, "seed": 0, "role": role, "name": role, "settings": settings}
        for role, settings in (("baseline", baseline), ("treatment", treatment))
    ]
    change_json(path / "run.json", arms=arms)
    return path


def passing(path):
    return stated(path, {"aggregation": "single"}, {"aggregation": "single"})


def failing(path, faulty):
    return stated(path, {"aggregation": "single"}, {"aggregation": "majority_of_5"})
