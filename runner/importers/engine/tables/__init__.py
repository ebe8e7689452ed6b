"""Tables of any tool: the rows of a file, which of its columns is which field, and what its cells say."""
