"""Outcomes and logs of other tools, one importer a file."""
