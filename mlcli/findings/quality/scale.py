"""The leading measures as single numbers; where an embedding's scale is free, stresses at the best scale alone."""

import math
from collections.abc import Mapping
from typing import Any

FREE = "free"  # the entry `scale` of quality.json for such an embedding
SCALED = {"stress_1": "stress_1_scaled", "sammon_stress": "sammon_stress_scaled"}  # a measure -> it, best scale

LEADING = {"trustworthiness": "trustworthiness", "continuity": "continuity", "stress_1": "stress-1",
           "stress_1_scaled": "stress-1 at the best scale", "residual_variance": "residual variance"}


def relevant_measures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of quality.json; where the scale is free, without the stresses that depend on it."""
    if figures.get("scale") != FREE:
        return dict(figures)
    return {name: value for name, value in figures.items() if name.removesuffix("_se") not in SCALED}


def share_kept(measures: Mapping[str, Any], near: int | None) -> float | None:
    """Return the share of so many nearest neighbors that are kept; None where it is not known."""
    curve = measures.get("q_nx")
    if not near or not isinstance(curve, Mapping) or near not in curve.get("neighbors", ()):
        return None
    return float(curve["values"][curve["neighbors"].index(near)])


def own_stress(fit: Mapping[str, Any]) -> float | None:
    """Return the stress that a layout's method made small, by its own definition; None for other methods."""
    return fit.get("stress") if "starts" in fit else None


def line(figures: Mapping[str, Any], fit: Mapping[str, Any]) -> str:
    """Return the leading measures, with standard errors where they come from a sample.

    Without a stress where the `fit` has the method's own, which is another number.
    """
    words, measures = [], relevant_measures(figures)
    stresses = () if own_stress(fit) is None else (*SCALED, *SCALED.values())
    names = {name: shown for name, shown in LEADING.items() if name not in stresses
             and (name not in SCALED.values() or measures.get("scale") == FREE)}
    for name, shown in names.items():
        value, error = measures.get(name), measures.get(f"{name}_se")
        if isinstance(value, float) and math.isfinite(value):
            words.append(f"{shown} {value:.4f}" + (f" ± {error:.2g}" if error is not None else ""))
    return ", ".join(words)
