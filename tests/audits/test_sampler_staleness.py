"""Older weights behind a step: by the sampler's version, and by the jump or growth of the mismatch."""

import numpy as np
import pytest
from made_logprobs import imported_run, sequence_columns, sequence_rollouts, sequences
from made_run import rewrite, write_run

from audits.engine.audit import run_audit
from audits.store.reader import connect, open_run


def audit_of(path):
    run = open_run(path)
    with connect(run) as connection:
        return run_audit(connection, run, "sampler_staleness")


def named(found):
    return [(row[0], row[1], row[4]) for row in found.rows]


def with_versions(path, versions, *, plan=False):
    """A run of one row of versions a step; rollouts of each step take them in turn."""

    def rollouts_of(step):
        given = versions[step]
        return sequence_rollouts(step, sequences(step), sampler_version=[given[i % len(given)] for i in range(40)])

    if not plan:
        return imported_run(path, [{"rollouts": rollouts_of(step)} for step in range(len(versions))])
    return write_run(path, steps=len(versions), rollouts_of=lambda arm, seed, step: rollouts_of(step))


def with_mismatch(path, levels, *, n_rollouts=40, outlier=0.0):
    """An imported run whose trainer is off by a mean of levels[step] nats; one token of the last step by `outlier`."""
    steps = []
    for step, level in enumerate(levels):
        made = sequences(step, n_rollouts=n_rollouts, noise=0.0)
        rng = np.random.default_rng([1, step])
        made["current"] = made["sampler"] + level * np.sqrt(np.pi / 2) * rng.normal(size=made["sampler"].shape)
        if step == len(levels) - 1:
            made["current"][0, 0] -= outlier
        steps.append({"tokens": sequence_columns(step, made)})
    return imported_run(path, steps)


def test_a_version_that_sampled_an_earlier_step_is_named_with_that_step(tmp_path):
    found = audit_of(with_versions(tmp_path / "run", [["a"], ["b"], ["c"], ["b"]], plan=True))
    assert found.check.status == "fail"
    assert named(found) == [("version again", "fail", 3), ("version again", "fail", 3)]
    assert found.rows[0][-1] == "sampler version b had sampled step 1 already"


def test_several_versions_in_one_step_and_repeated_ones_are_warnings_of_an_imported_run(tmp_path):
    found = audit_of(with_versions(tmp_path / "run", [["a"], ["a", "b"], ["c"]]))
    assert (found.check.status, named(found)) == (
        "warn",
        [("several versions", "warn", 1), ("version again", "warn", 1)],
    )


def test_rollouts_without_a_version_beside_others_are_missing_evidence(tmp_path):
    found = audit_of(with_versions(tmp_path / "run", [["a"], ["b", None]]))
    assert (found.check.status, named(found)) == ("inconclusive", [("no version", "inconclusive", 1)])
    assert "20 of 40 rollouts" in found.rows[0][-1]


def test_a_hostile_version_is_shown_in_part(tmp_path):
    version = "'\0\x1b[31m" + "x" * 100_000
    found = audit_of(with_versions(tmp_path / "run", [[version], [version]]))
    assert named(found) == [("version again", "warn", 1)]
    assert len(found.rows[0][-1]) < 200


@pytest.mark.parametrize(
    ("levels", "onset"),
    [
        ([0.015, 0.016, 0.201, 0.22], 2),  # as published: stale from the third step on
        ([1e-6, 0.05, 0.09, 0.12], 1),  # never synced
        ([0.012] * 10 + [0.15] + [0.012] * 3, 10),  # one step
    ],
)
def test_a_jump_is_found_at_its_onset(levels, onset, tmp_path):
    found = audit_of(with_mismatch(tmp_path / "run", levels))
    assert found.check.status == "fail"
    assert min(step for fault, severity, step in named(found) if fault == "jump") == onset


@pytest.mark.parametrize(
    "levels",
    [
        [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 9e-3],  # below what a ratio notices
        [0.011, 0.011, 0.02, 0.03, 0.036, 0.036, 0.036],  # engines that drift apart, by 3 over a run
        [0.02, 0.05, 0.02, 0.05, 0.02, 0.05],
        [0.0, 0.0, 0.0],
    ],
)
def test_healthy_levels_are_no_finding(levels, tmp_path):
    assert audit_of(with_mismatch(tmp_path / "run", levels)).check.status == "pass"


@pytest.mark.parametrize(("last", "status"), [(0.05, "warn"), (0.15, "fail")])
def test_slow_growth_warns_and_fails_once_it_is_as_large_as_staleness(last, status, tmp_path):
    found = audit_of(with_mismatch(tmp_path / "run", np.linspace(0.002, last, 40)))
    assert (found.check.status, named(found)) == (status, [("grows", status, 39)])


def test_one_token_far_off_is_no_jump(tmp_path):
    path = with_mismatch(tmp_path / "run", [0.001] * 6, n_rollouts=10, outlier=3.0)
    assert audit_of(path).check.status == "pass"


@pytest.mark.parametrize(("steps", "n_rollouts"), [(1, 40), (5, 8)])
def test_one_step_or_few_tokens_without_versions_are_nothing_to_compare(steps, n_rollouts, tmp_path):
    found = audit_of(with_mismatch(tmp_path / "run", [0.01] * steps, n_rollouts=n_rollouts))
    assert (found.check.status, [row[0] for row in found.rows]) == ("inconclusive", ["nothing to compare"])


def test_each_training_run_is_judged_by_itself_and_the_note_says_what_was_logged(tmp_path):
    found = audit_of(with_versions(tmp_path / "run", [["a"], ["b"]], plan=True))
    assert found.check.status == "pass"
    assert found.check.notes[0] == (
        "dppo seed 0: 2 steps, 2 with a sampler version; mean |current - sampler| at the first update "
        "0.001 nats first, 0.001 last"
    )


def test_a_run_mended_by_hand_passes(tmp_path):
    path = with_mismatch(tmp_path / "run", [0.01, 0.01, 0.2])
    assert audit_of(path).check.status == "fail"
    rewrite(
        path,
        "tokens/arm=dppo/seed=0/step=000002.parquet",
        lambda table: table.set_column(
            table.schema.get_field_index("current_logprob"),
            table.schema.field("current_logprob"),
            table["sampler_logprob"],
        ),
    )
    assert audit_of(path).check.status == "pass"
