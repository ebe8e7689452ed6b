"""Models by name: folders that ship with the project beside the script that made them, and pins of published files."""
