"""The format-3 plan as JSON Schema, and as tables for the documentation."""

from collections.abc import Iterator
from typing import Any

from analysis.plan.lint import all_lints
from analysis.plan.model import Plan

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of plan format 3.

    Relations between fields, such as "every arm names a loss that exists", are beyond JSON Schema; `audit spec`
    checks them too.
    """
    return {"$schema": SCHEMA_DIALECT, **Plan.model_json_schema()}


def field_table() -> str:
    """Return a Markdown table of every field of format 3: path, type, whether it must be given, meaning."""
    lines = ["| field | type | must be given | meaning |", "|---|---|---|---|"]
    schema = Plan.model_json_schema()
    for path, part, required in _fields(schema, schema["$defs"], ""):
        kind = _type_text(part, schema["$defs"]).replace("|", "\\|")
        description = " ".join(str(part.get("description", "")).split()).replace("|", "\\|")
        lines.append(f"| `{path}` | {kind} | {'yes' if required else 'no'} | {description} |")
    return "\n".join(lines)


def lint_table() -> str:
    """Return a Markdown table of every lint: id, severity, formats, what it reads, first sentence of its docstring."""
    lines = ["| lint | severity | formats | reads | finds |", "|---|---|---|---|---|"]
    for rule in all_lints():
        formats = ", ".join(str(number) for number in rule.info.formats)
        summary = " ".join(rule.documentation.split("\n\n")[0].split())
        lines.append(f"| `{rule.id}` | {rule.info.severity} | {formats} | {rule.info.reads} | {summary} |")
    return "\n".join(lines)


def _fields(
    schema: dict[str, Any], definitions: dict[str, Any], prefix: str
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    required = set(schema.get("required", ()))
    for name, part in schema["properties"].items():
        path = f"{prefix}{name}"
        inner, suffix = _model_inside(part, definitions)
        yield path + suffix, part, name in required
        if inner is not None:
            yield from _fields(inner, definitions, f"{path}{suffix}.")


def _model_inside(part: dict[str, Any], definitions: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Return the model under a property and how its path goes on: `[]` in a list, `.<id>` in a mapping."""
    for option in [part, *part.get("anyOf", ())]:
        if "$ref" in option:
            found: dict[str, Any] = definitions[option["$ref"].rsplit("/", 1)[-1]]
            return found, ""
        if "$ref" in option.get("items", {}):
            return _model_inside(option["items"], definitions)[0], "[]"
        extra = option.get("additionalProperties")
        if isinstance(extra, dict) and "$ref" in extra:
            return _model_inside(extra, definitions)[0], ".<id>"
    return None, ""


def _type_text(part: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "anyOf" in part:
        return " or ".join(_type_text(option, definitions) for option in part["anyOf"])
    if "$ref" in part:
        return "object"
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return " or ".join(f"`{value}`" for value in part["enum"])
    text = str(part.get("type", "any"))
    limits = [
        f"{sign} {part[key]:g}"
        for key, sign in (
            ("minimum", ">="),
            ("exclusiveMinimum", ">"),
            ("maximum", "<="),
            ("exclusiveMaximum", "<"),
        )
        if key in part
    ]
    return " ".join([text, *(", ".join(limits),)] if limits else [text])
