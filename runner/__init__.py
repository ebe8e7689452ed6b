"""Everything that runs: commands, the experiment loop, the local service, the importers."""
