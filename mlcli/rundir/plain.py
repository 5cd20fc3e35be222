"""Values for JSON, which knows fewer types and no infinite numbers."""

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """A value in JSON's own types; numbers that JSON lacks become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
