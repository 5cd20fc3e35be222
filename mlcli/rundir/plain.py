"""Values for JSON, which knows fewer types and no infinite numbers."""

import json
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """A value in JSON's own types; numbers that JSON lacks become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def json_text(value: Any) -> str:
    """A document for a file: a value in JSON's own types, indented."""
    return json.dumps(plain(value), indent=2, allow_nan=False) + "\n"
