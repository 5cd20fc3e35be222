"""A small validator for the words of draft 7 that our schema uses."""

from typing import Any

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
                         "integer": int, "number": (int, float)}
WORDS = {"$schema", "$defs", "$ref", "title", "description", "default", "type", "const", "enum", "properties",
         "required", "additionalProperties", "items", "minItems", "maxItems", "minLength", "minimum", "maximum",
         "exclusiveMinimum", "exclusiveMaximum", "anyOf", "oneOf", "allOf"}


def valid(value: Any, schema: Any, root: dict[str, Any]) -> bool:
    """Whether a value fits a schema."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return valid(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    return (typed(value, schema) and bounded(value, schema) and parts(value, schema, root)
            and combined(value, schema, root))


def typed(value: Any, schema: dict[str, Any]) -> bool:
    """Type, const and enum."""
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind in ("integer", "number"))):
        return False
    return value == schema.get("const", value) and value in schema.get("enum", [value])


def bounded(value: Any, schema: dict[str, Any]) -> bool:
    """Limits of numbers and sizes."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (value >= schema.get("minimum", value) and value <= schema.get("maximum", value)
                and not ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"])
                and not ("exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]))
    if not isinstance(value, (str, list)):
        return True
    least = schema.get("minItems" if isinstance(value, list) else "minLength", 0)
    return least <= len(value) <= schema.get("maxItems", len(value))


def parts(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Properties and items."""
    if isinstance(value, list):
        return all(valid(item, schema.get("items", True), root) for item in value)
    if not isinstance(value, dict):
        return True
    known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
    return set(schema.get("required", [])) <= set(value) and all(
        valid(item, known.get(key, other), root) for key, item in value.items())


def combined(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """anyOf, oneOf, allOf."""
    fits = {word: [valid(value, option, root) for option in schema[word]] for word in ("anyOf", "oneOf", "allOf")
            if word in schema}
    return any(fits.get("anyOf", [True])) and sum(fits.get("oneOf", [True])) == 1 and all(fits.get("allOf", [True]))
