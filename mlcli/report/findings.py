"""What a run finds out about its own embedding."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Findings:
    """What is found out about an embedding once it is there, for the run directory."""

    quality: dict[str, Any] | None  # the content of quality.json; None where it was not asked for
    dimension: dict[str, Any] | None  # the content of dimension.json; None where it was not asked for
