"""The sections of a page that compares two runs, A and B; one file each, found by their names."""
