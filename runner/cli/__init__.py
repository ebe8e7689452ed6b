"""The commands, one a file; a command imports what it needs when it is called."""
