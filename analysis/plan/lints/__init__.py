"""One lint a file: the file's name is its id, its docstring its documentation; there is no list to edit.

A lint file defines `LINT = LintInfo(...)` and `def findings(plan) -> Iterator[Finding]`.
"""
