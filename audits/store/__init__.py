"""The run directory: the only place that writes or opens its files."""
