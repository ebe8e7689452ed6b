"""Which code made a run: commit, changes, and our own source."""

import hashlib
import subprocess

import pytest

from runner.provenance import git_state, source_sha256


@pytest.fixture
def checkout(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "loss.py").write_text("delta = 0.15\n")
    git("add", "loss.py")
    git("commit", "-q", "-m", "first")
    return tmp_path


def test_a_change_to_a_tracked_file_has_a_hash_of_its_own(checkout):
    clean = git_state(checkout)
    assert (clean["dirty"], clean["diff_sha256"]) == (False, None)
    assert len(clean["commit"]) == 40
    hashes = set()
    for delta in (0.1, 0.2):
        (checkout / "loss.py").write_text(f"delta = {delta}\n")
        state = git_state(checkout)
        assert (state["commit"], state["dirty"]) == (clean["commit"], True)
        hashes.add(state["diff_sha256"])
    assert len(hashes - {None}) == 2


def test_a_file_that_is_not_tracked_makes_dirty_and_no_other_code(checkout):
    (checkout / "runs").mkdir()
    (checkout / "runs" / "run.json").write_bytes(b"\xff")
    assert git_state(checkout) == {**git_state(checkout), "dirty": True, "diff_sha256": None}


def test_outside_a_checkout_there_is_a_reason(tmp_path):
    state = git_state(tmp_path)
    assert state["commit"] is state["diff_sha256"] is None
    assert "no git commit" in state["reason"]


def test_our_own_source_has_one_hash_a_process():
    assert source_sha256() == source_sha256()
    assert len(source_sha256()) == 64
    assert source_sha256() != hashlib.sha256().hexdigest(), "of no file at all"
