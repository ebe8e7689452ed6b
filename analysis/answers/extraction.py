"""Finds the ways to extract an answer: `analysis/answers/extractors/<id>.py`, and there is no list to edit."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import analysis.answers.extractors


@dataclass(frozen=True)
class Extractor:
    """A way to find the answer in a completion.

    Attributes:
        id: the name of its file.
        is_strict: whether it reads only what the model marked as its answer.
        extract: returns the text found, None where there is none, and how it was found or why it was not.
    """

    id: str
    is_strict: bool
    extract: Callable[[str], tuple[str | None, str]]


@cache
def extractors() -> tuple[Extractor, ...]:
    """Return all ways, sorted by id."""
    package = analysis.answers.extractors
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return tuple(Extractor(name, module.STRICT, module.extract) for name, module in zip(names, modules, strict=True))
