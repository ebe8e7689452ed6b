"""The parity check on a stand-in checkout: it executes what is committed there, and only at the pinned commit."""

import subprocess

import pytest

pytest.importorskip("torch")
from parity import stable_rl

STAND_IN = """
import a_training_stack_that_is_not_installed


def compute_policy_loss_with_mask(log_prob, advantages, response_mask, rollout_log_prob, config, loss_mode, **rest):
    keep = _compute_token_mask_for_policy_loss(log_prob, rollout_log_prob, advantages, config, loss_mode)
    ratio = torch.exp(log_prob - rollout_log_prob).clamp(max=config.get("clip_ratio_c", 3.0)).detach()
    return agg_loss(loss_mat=SIGN * -advantages * ratio * keep * log_prob, loss_mask=response_mask), {}


def _compute_token_mask_for_policy_loss(log_prob, rollout_log_prob, advantages, config, loss_mode: Missing):
    pi, mu = log_prob.exp(), rollout_log_prob.exp()
    distance = (pi - mu).abs()
    if loss_mode == "dppo_binary_kl":
        distance = mu * (rollout_log_prob - log_prob) + (1 - mu) * torch.log((1 - mu) / (1 - pi))
    outward = torch.where(advantages > 0, pi > mu, pi < mu)
    return (~(outward & (distance > config.clip_ratio))).double().detach()
"""


def checkout(folder, text):
    path = folder / stable_rl.FILE
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    for arguments in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True)
    return subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def parity(tmp_path, monkeypatch, capsys):
    def run(text, *, pinned=True):
        commit = checkout(tmp_path / "checkout", text)
        if pinned:
            monkeypatch.setattr(stable_rl, "COMMIT", commit)
        return stable_rl.main([str(tmp_path / "checkout")]), capsys.readouterr().out

    return run


def test_the_same_loss_agrees_and_is_reported_as_executed(parity):
    code, said = parity(STAND_IN.replace("SIGN * ", ""))
    assert code == 0
    assert ": executed" in said
    assert "DIFFERS" not in said
    for what in ("binary_tv, score form", "binary_kl, ratio form", "trained loss, loss", "reference, gradient"):
        assert what in said


def test_another_loss_differs(parity):
    code, said = parity(STAND_IN.replace("SIGN * ", "-1.0 * "))
    assert code == 1
    assert "DIFFERS" in said


def test_another_commit_than_the_pin_is_not_executed(parity):
    code, said = parity(STAND_IN.replace("SIGN * ", ""), pinned=False)
    assert code == 2
    assert "nothing was executed" in said
    assert stable_rl.COMMIT in said


def test_the_commit_counts_and_not_the_working_tree(parity, tmp_path, capsys):
    parity(STAND_IN.replace("SIGN * ", ""))
    (tmp_path / "checkout" / stable_rl.FILE).write_text("raise SystemExit('executed')", encoding="utf-8")
    assert stable_rl.main([str(tmp_path / "checkout")]) == 0


def test_a_checkout_without_the_functions_says_so(parity):
    code, said = parity("x = 1\n")
    assert code == 2
    assert "compute_policy_loss_with_mask" in said


@pytest.mark.parametrize("arguments", [[], [""]])
def test_without_a_checkout_it_says_that_nothing_was_executed(capsys, arguments):
    assert stable_rl.main(arguments) == 2
    assert "nothing was executed" in capsys.readouterr().out
