"""The JSON schema (draft 7) of a run's YAML file, for editors."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import create_model
from pydantic.fields import FieldInfo

from mlcli.base.values.options import TAG, Options
from mlcli.config.describe import alternatives
from mlcli.config.report_options import added_findings, with_all_findings
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import GRID, LIST, SWEEP, ZIP

DRAFT = "http://json-schema.org/draft-07/schema#"
NAMED = ("properties", "$defs")  # objects with names as keys, not keywords of the schema language


def schema() -> dict[str, Any]:
    """Return the schema of a configuration file: a run, and the sweep over it."""
    run = create_model("RunConfig", __base__=RunConfig, report=(with_all_findings(), RunConfig.model_fields["report"])
                       ) if added_findings()[0] else RunConfig
    tree = draft7(run.model_json_schema())
    require_names(run, tree["$defs"])
    return {"$schema": DRAFT, "title": "A run of mlcli", **tree, "properties": {**tree["properties"], SWEEP: sweep()}}


def schema_text() -> str:
    """Return the schema as a document for people and editors: letters of other alphabets stand as they are."""
    return json.dumps(schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sweep() -> dict[str, Any]:
    """Return the schema of a sweep."""
    files = {"type": "object", "properties": {"glob": {"type": "string"}}, "required": ["glob"],
             "additionalProperties": False}
    values = {"anyOf": [{"type": "array", "minItems": 1}, files]}
    several = {"type": "object", "additionalProperties": values}
    rows = {"type": "array", "items": {"type": "object"}, "minItems": 1}
    return {"type": "object", "properties": {GRID: several, ZIP: several, LIST: rows}, "additionalProperties": values,
            "description": "Config paths, each with a list of values: every combination is a run of its own. `zip` "
            "takes its lists together, `list` holds the values of each run."}


def draft7(node: Any) -> Any:
    """Return a schema without keywords that draft 7 lacks; other keywords beside a `$ref` move to an `allOf`."""
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
    """Require the name of each alternative of a section in the schema, except the default's."""
    found = list(sections(options))
    unnamed = {type(info.default).__name__ for info in found}
    for kind in {kind for info in found if len(alternatives(info)) > 1 for kind in alternatives(info)}:
        if kind.__name__ not in unnamed:
            place = f"{kind.__module__}.{kind.__qualname__}".replace(".", "__")  # of one of two classes of a name
            definition = definitions[place if place in definitions else kind.__name__]
            definition["required"] = sorted({TAG, *definition.get("required", [])})


def sections(options: type[Options]) -> Iterator[FieldInfo]:
    """Yield every field of a set of options that is a section."""
    for info in options.model_fields.values():
        for kind in alternatives(info):
            yield info
            yield from sections(kind)
