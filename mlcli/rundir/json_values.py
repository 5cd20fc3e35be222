"""Values for JSON, which knows fewer types and no infinite numbers."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_value(value: Any) -> Any:
    """A value in JSON's own types; numbers that JSON lacks become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return json_value(value.tolist()) if hasattr(value, "tolist") else str(value)


def json_text(value: Any) -> str:
    """A document for a file: a value in JSON's own types, indented."""
    return json.dumps(json_value(value), indent=2, allow_nan=False) + "\n"
