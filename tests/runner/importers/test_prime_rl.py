"""prime-rl token exports: which steps are taken, what becomes of a sequence, and what is compared."""

import json

import numpy as np
import pytest
from prime_rl_log import PROMPT, sequence, write_exports, write_rank

from analysis.errors import AuditError


def test_ranks_are_merged_and_each_sequence_is_a_rollout(importing, tmp_path):
    out = write_exports(tmp_path / "grpo-run", steps=2, ranks=2, sequences=3)
    importing("prime_rl", out)
    assert importing.sql("SELECT step, count(DISTINCT rollout_id), count(*) FROM tokens GROUP BY ALL ORDER BY ALL") == [
        (0, 6, 36), (1, 6, 36)
    ]  # fmt: skip
    assert [(arm.arm, arm.role) for arm in importing.manifest.arms] == [("grpo-run", "other")]
    assert [file["name"] for file in importing.manifest.source["files"]] == [
        f"token_exports/step_{step}/rank_{rank}.jsonl" for step in (0, 1) for rank in (0, 1)
    ]


@pytest.mark.parametrize(("inside", "steps"), [("", 2), ("token_exports", 2), ("token_exports/step_1", 1)])
def test_any_folder_of_the_exports_is_a_source(importing, tmp_path, inside, steps):
    out = write_exports(tmp_path / "run")
    importing(out / inside)
    assert importing.sql("SELECT count(DISTINCT step) FROM tokens") == [(steps,)]
    assert importing.manifest.arms[0].arm == "run"


def test_only_loss_tokens_are_taken_and_each_list_has_its_column(importing, tmp_path):
    record = sequence(0, step=4)
    importing(write_rank(tmp_path / "token_exports" / "step_4", [record]))
    rows = importing.sql(
        'SELECT step, "update", position, token_id, sampler_logprob, current_logprob, advantage, entropy FROM tokens'
    )
    columns = ("token_ids", "inference_logprobs", "trainer_logprobs", "advantages", "entropy")
    wanted = list(zip(*(record[name][PROMPT:] for name in columns), strict=True))
    assert rows == [(4, 0, position, *values) for position, values in enumerate(wanted)]


def test_a_step_without_its_marker_is_left_out_and_told(importing, tmp_path):
    out = write_exports(tmp_path / "run")
    (out / "token_exports" / "step_1" / "STABLE").unlink()
    assert "left out: step_1: no STABLE marker" in importing(out)
    assert importing.sql("SELECT DISTINCT step FROM tokens") == [(0,)]


def test_a_step_without_its_marker_that_is_all_there_is_is_refused(importing, tmp_path):
    out = write_exports(tmp_path / "run", steps=1)
    (out / "token_exports" / "step_0" / "STABLE").unlink()
    for path in (out, out / "token_exports" / "step_0"):
        with pytest.raises(AuditError, match=r"no step has its STABLE marker \(step_0\)"):
            importing(path)


def test_a_file_without_a_marker_beside_it_is_taken_and_told(importing, tmp_path):
    assert "no STABLE beside it" in importing(write_rank(tmp_path, [sequence(0)], stable=False))


def test_one_step_in_two_folders_is_refused(importing, tmp_path):
    out = write_exports(tmp_path / "run", steps=1)
    write_rank(out / "token_exports" / "step_00", [sequence(9)])
    with pytest.raises(AuditError, match="step 0 of rank 0 stands in"):
        importing(out)


def test_a_record_of_another_step_than_its_folder_is_refused(importing, tmp_path):
    write_rank(tmp_path / "run" / "token_exports" / "step_3", [sequence(0, step=2)])
    with pytest.raises(AuditError, match=r'line 1: "step" is 2, and 3, as the folder says, is needed'):
        importing(tmp_path / "run")


def test_a_rank_without_a_sequence_is_told(importing, tmp_path):
    out = write_exports(tmp_path / "run", steps=1)
    write_rank(out / "token_exports" / "step_0", [], rank=2)
    assert "left out: step_0/rank_2.jsonl: empty" in importing(out)


def test_a_sequence_of_several_turns_is_refused_with_its_line(importing, tmp_path):
    record = sequence(1)
    record["loss_mask"][PROMPT + 3] = False
    with pytest.raises(AuditError, match=r"line 2: the loss tokens stand in several spans .* several turns"):
        importing(write_rank(tmp_path, [sequence(0), record]))


def test_two_sequences_packed_into_one_record_are_refused(importing, tmp_path):
    record = sequence(0)
    record["position_ids"] = [0, 1, 2, 3, 4, 5, 0, 1, 2]
    with pytest.raises(AuditError, match="several sequences in one"):
        importing(write_rank(tmp_path, [record]))


@pytest.mark.parametrize("key", ["token_ids", "advantages", "inference_logprobs", "trainer_logprobs", "position_ids"])
def test_lists_of_another_length_are_refused(importing, tmp_path, key):
    record = sequence(0)
    record[key] = record[key][:-1]
    with pytest.raises(AuditError, match=f'line 1: "{key}" has 8 entries for 9 tokens'):
        importing(write_rank(tmp_path, [record]))


def test_a_padded_prompt_may_hold_anything_and_a_loss_token_may_not(importing, tmp_path):
    record = sequence(0)
    record["inference_logprobs"][0] = None
    importing(write_rank(tmp_path / "a", [record]))
    record["inference_logprobs"][PROMPT] = None
    with pytest.raises(AuditError, match=r'"inference_logprobs"\[3\] is None, and a number'):
        importing(write_rank(tmp_path / "b", [record]), dry_run=True)


def test_what_is_no_number_is_kept_for_the_audits_to_find(importing, tmp_path):
    record = sequence(0)
    record["trainer_logprobs"][PROMPT] = float("nan")
    importing(write_rank(tmp_path, [record]))
    assert importing.sql("SELECT count(*) FROM loss_tokens WHERE NOT is_valid") == [(1,)]


def test_exported_figures_that_follow_from_the_log_probabilities_are_told(importing, tmp_path):
    told = importing(write_exports(tmp_path / "run", steps=1, ranks=1))
    for name in ("prob_delta", "log_importance_ratio", "importance_ratio", "mismatch_kl"):
        assert f"note: {name}: 0 of 18 loss tokens differ from what the log-probabilities give" in told
    assert "note: is_masked: 1 tokens; 0 of 18 loss tokens differ from |p_trainer - p_inference| > 0.2" in told


@pytest.mark.parametrize("name", ["prob_delta", "log_importance_ratio", "importance_ratio", "mismatch_kl"])
def test_an_exported_figure_that_does_not_follow_is_counted(importing, tmp_path, name):
    record = sequence(1)
    record[name][PROMPT + 1] += 0.001
    told = importing(write_rank(tmp_path, [sequence(0), record]))
    assert f"{name}: 1 of 12 loss tokens differs (the first in {tmp_path}/rank_0.jsonl, line 2)" in told


def test_a_mask_by_another_threshold_is_counted(importing, tmp_path):
    record = sequence(0)
    record["is_masked"] = np.zeros(9, dtype=bool).tolist()
    told = importing(write_rank(tmp_path, [record]))
    assert "is_masked: 0 tokens; 1 of 6 loss tokens differs" in told
    assert "another threshold, another rule" in told


def test_without_the_optional_lists_nothing_is_said_of_them(importing, tmp_path):
    kept = {"schema_version", "step", "token_ids", "loss_mask", "advantages", "inference_logprobs", "trainer_logprobs"}
    record = {key: value for key, value in sequence(0).items() if key in kept}
    told = importing(write_rank(tmp_path, [record]))
    assert "differ" not in told
    assert importing.sql("SELECT count(entropy) FROM tokens") == [(0,)]


def test_drift_is_measured_from_it(importing, tmp_path, audit):
    importing(write_exports(tmp_path / "run", steps=2, sequences=4))
    audit("drift", importing.out, "--rule", "binary_tv=0.2", "--format", "json")
    # A batch has one update, so that what is watched on the second does not apply.
    assert audit.code == 0, audit.err
    assert json.loads(audit.out)["rules"][0]["numerator"] == 8
