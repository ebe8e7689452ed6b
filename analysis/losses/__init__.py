"""The policy losses, each in numpy (reference) and in torch (what runs)."""
