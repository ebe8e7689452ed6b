"""The experiment, through the tinker SDK and nothing else."""
