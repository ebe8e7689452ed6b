"""The parts of an Inspect log: its container, its samples, their scores and messages, its settings."""
