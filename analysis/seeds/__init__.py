"""Inference on training runs: the seed is the unit, not the item."""
