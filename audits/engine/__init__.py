"""Metrics, gate, drift and decision, computed from what the store opens."""
