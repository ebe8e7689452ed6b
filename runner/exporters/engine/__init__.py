"""What every exporter shares: how it is found, where it may write, and the rows of a run."""
