"""The plan: its model, its formats, its lints."""
