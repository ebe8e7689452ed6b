"""Outcomes and logs of other tools, one importer a file; what all importers share stands in `engine/`."""
