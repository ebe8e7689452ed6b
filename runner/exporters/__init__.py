"""A run's tables in the formats of other tools, one format a file; what they share stands in `engine/`."""
