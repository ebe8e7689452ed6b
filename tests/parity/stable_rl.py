"""Executes the official DPPO loss from a local checkout and compares it with ours, on made tokens.

    make parity STABLE_RL=/path/to/Stable-RL

The checkout must stand at the pinned commit. Its package is not imported, since that would need its whole training
stack: the two functions are taken from the file and run as they stand there. Their reduction is replaced by a plain
sum, as ours is, and their metrics by nothing.
"""

import __future__

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from analysis.errors import AuditError
from analysis.losses.agreement import Tolerance, compare
from analysis.losses.independent import official_score_form
from analysis.losses.made_tokens import made_sequences
from analysis.losses.traced import token_loss
from analysis.plan.model import Loss

COMMIT = "c6af1d119c0fe30d16dd9a837d35fdf695acd226"
FILE = "verl/trainer/ppo/core_algos.py"
FUNCTIONS = ("compute_policy_loss_with_mask", "_compute_token_mask_for_policy_loss")
CEILING = 1e30  # the plan truncates nothing; the official default of 3 would
LOSS, GRADIENT = Tolerance(1e-5, 1e-4), Tolerance(1e-5, 1e-3)


def main(arguments: list[str]) -> int:
    """Compare and print; return 0 where all agree, 1 where one does not, 2 where nothing could be executed."""
    if len(arguments) != 1 or not arguments[0]:
        _say("nothing was executed: no checkout was named. make parity STABLE_RL=/path/to/Stable-RL")
        return 2
    try:
        official = load_official(Path(arguments[0]), COMMIT)
    except AuditError as error:
        _say(f"nothing was executed: {error.message}")
        return 2
    lines = list(compared(official))
    _say(f"{FILE} at {COMMIT}: executed")
    for _, line in lines:
        _say(line)
    return 0 if all(agrees for agrees, _ in lines) else 1


def load_official(checkout: Path, commit: str) -> Callable[..., Any]:
    """Return the official loss function, taken from a checkout.

    Raises:
        AuditError: it is no checkout of this commit, the file was changed, or it lacks the functions.
    """
    import functools
    import typing

    import torch

    found = _git(checkout, "rev-parse", "HEAD")
    if found != commit:
        raise AuditError(f"{checkout}: stands at {found}, the pin is {commit}. git checkout {commit}")
    # As committed: what somebody changed in the working tree is not the reference.
    text = _git(checkout, "show", f"{commit}:{FILE}")
    body = [item for item in ast.parse(text).body if isinstance(item, ast.FunctionDef) and item.name in FUNCTIONS]
    if {item.name for item in body} != set(FUNCTIONS):
        raise AuditError(f"{checkout / FILE}: has no {' or no '.join(FUNCTIONS)}")
    names: dict[str, Any] = {
        "torch": torch,
        "functools": functools,
        "Any": typing.Any,
        "Optional": typing.Optional,
        "agg_loss": lambda loss_mat, loss_mask, **_: (loss_mat * loss_mask).sum(),
        "verl_F": SimpleNamespace(
            masked_mean=lambda values, mask, **_: (values * mask).sum() / mask.sum().clamp(min=1)
        ),
    }
    # Annotations stay text: their names belong to packages that are not there.
    flags = __future__.annotations.compiler_flag
    exec(compile(ast.Module(body, type_ignores=[]), FILE, "exec", flags=flags, dont_inherit=True), names)
    function: Callable[..., Any] = names[FUNCTIONS[0]]
    return function


def compared(official: Callable[..., Any]) -> Iterator[tuple[bool, str]]:
    """Yield whether the official function agrees with ours, and a line, for each loss, form and figure."""
    for divergence, delta in (("binary_tv", 0.15), ("binary_kl", 0.05)):
        for form in ("score", "ratio"):
            loss = Loss(kind="divergence_mask", form=form, divergence=divergence, delta=delta, anchor="sampler",
                        truncation=None, reduction="token_sum")  # fmt: skip
            for number, sequence in enumerate(made_sequences(loss)):
                theirs = _official(official, f"dppo_{divergence}", delta, sequence)
                ours, again = _ours(loss, sequence), _again(loss, sequence)
                where = f"{divergence}, {form} form, sequence {number} (advantage {sequence.advantage:+.3f})"
                for name, (value, gradient) in (("trained loss", ours), ("re-implemented reference", again)):
                    if form == "score":
                        yield _line(f"{where}, {name}, loss", [value], [theirs[0]], LOSS)
                    yield _line(f"{where}, {name}, gradient", gradient, theirs[1], GRADIENT)


def _official(official: Callable[..., Any], mode: str, delta: float, sequence: Any) -> tuple[float, Any]:
    import torch

    current = torch.tensor(sequence.current_logprob[None], dtype=torch.float64, requires_grad=True)
    sampler = torch.tensor(sequence.sampler_logprob[None], dtype=torch.float64)
    config = SimpleNamespace(clip_ratio=delta, clip_ratio_low=delta, clip_ratio_high=delta, global_batch_info={},
                             get=lambda key, default=None: CEILING if key == "clip_ratio_c" else default)  # fmt: skip
    nothing = torch.zeros_like(sampler)
    value, _ = official(
        old_log_prob=sampler, log_prob=current, advantages=torch.full_like(sampler, sequence.advantage),
        response_mask=torch.ones_like(sampler), config=config, rollout_log_prob=sampler, topk_kl=nothing,
        topk_tv=nothing, entropy=nothing, loss_mode=mode,
    )  # fmt: skip
    value.backward()
    assert current.grad is not None
    return float(value.item()), current.grad[0].numpy()


def _ours(loss: Loss, sequence: Any) -> tuple[float, Any]:
    import torch

    current = torch.tensor(sequence.current_logprob, requires_grad=True)
    n = len(sequence.branch)
    columns = torch.tensor(sequence.sampler_logprob), torch.full((n,), sequence.advantage), torch.ones(n)
    value, _ = token_loss(loss)(current, *columns)
    value.backward()
    assert current.grad is not None
    return float(value.item()), current.grad.numpy()


def _again(loss: Loss, sequence: Any) -> tuple[float, Any]:
    advantage = np.full(len(sequence.branch), sequence.advantage)
    reference = official_score_form(loss)
    values, gradient = reference.evaluate(sequence.current_logprob, sequence.sampler_logprob, advantage)
    return float(values.sum()), gradient


def _line(what: str, ours: Any, theirs: Any, tolerance: Tolerance) -> tuple[bool, str]:
    found = compare(ours, theirs, tolerance)
    sign = "agrees" if found.agrees else "DIFFERS"
    return found.agrees, f"{sign:8}{what}: off by {found.deviation:.3g} of {found.allowance:.3g} allowed"


def _git(checkout: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise AuditError(f"{checkout}: git {arguments[0]} failed; is it a checkout of sail-sg/Stable-RL?") from error
    return done.stdout.strip()


def _say(line: str) -> None:
    sys.stdout.write(f"parity: {line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
