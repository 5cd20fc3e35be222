"""Which measures count where an embedding's scale is free: those at the best scale alone."""

from collections.abc import Mapping
from typing import Any

FREE = "free"  # what quality.json says of the scale of such an embedding
SCALED = {"stress_1": "stress_1_scaled", "sammon_stress": "sammon_stress_scaled"}  # a measure -> it at the best scale


def counting(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of quality.json without the stresses that only a scale decides, where none was to be kept."""
    if figures.get("scale") != FREE:
        return dict(figures)
    return {name: value for name, value in figures.items() if name.removesuffix("_se") not in SCALED}
