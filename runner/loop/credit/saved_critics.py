"""Where a critic's state stands beside the policy's saved state: `state/critic/arm=<arm>/seed=<seed>-<slot>.critic`."""

from pathlib import Path

from analysis.errors import AuditError
from audits.store.durable import write_whole
from audits.store.layout import partition_folder
from runner.loop.credit.estimation import CriticCredit
from runner.loop.saved_states import STATE_NAME


def save_critic(run: Path, arm: str, seed: int, slot: int, critic: CriticCredit) -> None:
    """Write a critic's state under the slot that the policy's state takes; before its first batch there is none.

    Args:
        run: the run directory.
        arm: the arm's condition.
        seed: the arm's seed.
        slot: 0 or 1.
        critic: whose state.
    """
    saved = critic.saved()
    if saved is None:
        return
    hidden_size, content = saved
    path = _place(run, arm, seed, slot)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, hidden_size.to_bytes(8, "big") + content)


def restore_critic(run: Path, arm: str, seed: int, slot: int, critic: CriticCredit) -> None:
    """Take up a critic's state.

    Raises:
        AuditError: it is missing or damaged: without it the arm would go on with another critic.
    """
    path = _place(run, arm, seed, slot)
    try:
        content = path.read_bytes()
        critic.restore(int.from_bytes(content[:8], "big"), content[8:])
    except (OSError, RuntimeError, ValueError, KeyError, EOFError) as error:
        raise AuditError(
            f"{path}: the critic that belongs to the saved weights cannot be read ({type(error).__name__}); the arm "
            "cannot go on. Restore the file, or begin a new run"
        ) from error


def _place(run: Path, arm: str, seed: int, slot: int) -> Path:
    return run / STATE_NAME / f"{partition_folder('critic', arm, seed)}-{'ab'[slot]}.critic"
