"""How results are printed."""

from enum import StrEnum


class Format(StrEnum):
    """The formats of checks and decisions: for people, for programs, for test reports, for annotations."""

    table = "table"
    json = "json"
    junit = "junit"
    github = "github"


class TableFormat(StrEnum):
    """The formats of figures that are no checks: for people, for programs."""

    table = "table"
    json = "json"
