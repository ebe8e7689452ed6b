"""The policy losses, each in numpy (reference) and in torch (what runs)."""

from analysis.losses.reference import TokenLosses, reference_losses
from analysis.losses.traced import build_loss, token_loss

__all__ = ["TokenLosses", "build_loss", "reference_losses", "token_loss"]
