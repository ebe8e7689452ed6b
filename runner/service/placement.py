"""Where the base models stand and in what precision; adapters and optimisers are float32 wherever they are."""

from dataclasses import dataclass
from typing import Literal

from analysis.errors import AuditError


@dataclass(frozen=True)
class Placement:
    """What the user asked for.

    Attributes:
        device: `auto` is CUDA where there is a GPU, else the CPU.
        dtype: Precision of the base weights and of the activations between layers.
        gradient_checkpointing: Compute activations again in the backward pass instead of keeping them.
    """

    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "bfloat16"] = "float32"
    gradient_checkpointing: bool = False


CPU = Placement(device="cpu")


def resolved_device(placement: Placement) -> str:
    """Return `cpu` or `cuda`; imports torch.

    Raises:
        AuditError: If CUDA was asked for and torch finds none.
    """
    import torch

    if placement.device == "cpu":
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    if placement.device == "cuda":
        build = "was built without CUDA" if torch.version.cuda is None else f"(CUDA {torch.version.cuda}) finds no GPU"
        raise AuditError(f"--device cuda: torch {torch.__version__} {build}. Use --device cpu, or mend the driver")
    return "cpu"
