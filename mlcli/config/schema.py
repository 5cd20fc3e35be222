"""The JSON schema of a run's YAML file, in the words of draft 7, which editors understand."""

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from mlcli.base.values.options import Options
from mlcli.config.describe import TAG, alternatives
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import GRID, LIST, SWEEP, ZIP

DRAFT = "http://json-schema.org/draft-07/schema#"
NAMED = ("properties", "$defs")  # objects whose keys are names, not words of the schema language


def schema() -> dict[str, Any]:
    """The schema of a configuration file: a run, and the sweep over it."""
    tree = draft7(RunConfig.model_json_schema())
    require_names(RunConfig, tree["$defs"])
    return {"$schema": DRAFT, "title": "A run of mlcli", **tree, "properties": {**tree["properties"], SWEEP: sweep()}}


def sweep() -> dict[str, Any]:
    """The schema of a sweep."""
    files = {"type": "object", "properties": {"glob": {"type": "string"}}, "required": ["glob"],
             "additionalProperties": False}
    values = {"anyOf": [{"type": "array", "minItems": 1}, files]}
    several = {"type": "object", "additionalProperties": values}
    rows = {"type": "array", "items": {"type": "object"}, "minItems": 1}
    return {"type": "object", "properties": {GRID: several, ZIP: several, LIST: rows}, "additionalProperties": values,
            "description": "Config paths, each with a list of values: every combination is a run of its own. `zip` "
            "takes its lists together, `list` holds the values of each run."}


def draft7(node: Any) -> Any:
    """A schema without words that draft 7 lacks, and with the neighbors of each `$ref` where they count."""
    if isinstance(node, list):
        return [draft7(item) for item in node]
    if not isinstance(node, dict):
        return node
    copied = {key: {name: draft7(value) for name, value in item.items()} if key in NAMED else draft7(item)
              for key, item in node.items() if key not in ("discriminator", "title")}
    if "$ref" in copied and len(copied) > 1:
        return {**{key: item for key, item in copied.items() if key != "$ref"}, "allOf": [{"$ref": copied["$ref"]}]}
    return copied


def require_names(options: type[Options], definitions: dict[str, Any]) -> None:
    """Every alternative of a section must be named, but one that is the default of a section."""
    found = list(sections(options))
    unnamed = {type(info.default).__name__ for info in found}
    for kind in {kind for info in found if len(alternatives(info)) > 1 for kind in alternatives(info)}:
        if kind.__name__ not in unnamed:
            definition = definitions[kind.__name__]
            definition["required"] = sorted({TAG, *definition.get("required", [])})


def sections(options: type[Options]) -> Iterator[FieldInfo]:
    """Every field under a set of options that holds a section."""
    for info in options.model_fields.values():
        for kind in alternatives(info):
            yield info
            yield from sections(kind)
