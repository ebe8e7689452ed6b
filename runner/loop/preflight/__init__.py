"""The preflights, one a file; the file's name is the id that a plan requires it by."""
