"""What is read from a run and judged: the store, the engine, and one audit a file."""
