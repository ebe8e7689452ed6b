"""Decision methods for claims about training: one method a file, the file's name is its id."""
