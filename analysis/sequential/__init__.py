"""Inference that stays valid however often somebody looks at the data."""
