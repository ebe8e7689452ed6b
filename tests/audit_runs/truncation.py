"""Evaluations whose cut answers are wrong, and some that were cut before the cap was reached."""

from made_run import change_json, evals, right, write_outcomes

FAULTS = {1, 500}
CAP = 64


def passing(path):
    return run_with(path, [CAP] * 10)


def failing(path, faulty):
    return run_with(path, [CAP // 2] * faulty)


def run_with(path, cut_lengths):
    n = len(cut_lengths)
    columns = evals(
        right(400, 1000 - n) + [0.0] * n,
        stop_reason=["stop"] * (1000 - n) + ["length"] * n,
        n_tokens=[10 + number % 40 for number in range(1000 - n)] + cut_lengths,
    )
    write_outcomes(path, {"treatment": [columns], "baseline": [columns]})
    change_json(path / "run.json", executed={"evaluation": {"max_tokens": CAP}})
    return path
