"""Tables that Python derives from a run, one a file: `DERIVED` says what it needs and how it is computed."""
