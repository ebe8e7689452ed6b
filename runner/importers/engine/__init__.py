"""What every importer shares: the description of what was read, its checks, and the one place that writes the run."""
