"""Models that ship with the project, each a Hugging Face folder beside the script that made it."""
