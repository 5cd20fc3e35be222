"""Variants of a method's options that compute something else, and the laws that do not hold for them.

The contract suite runs all variants of all methods, and checks each against every law that it does not break.
"""

from collections.abc import Mapping
from typing import Any

from mlcli.base.frozen import frozen

LAWS = {
    "picture": "rounding of the input changes coordinates as little; else the graph and its quality hold",
    "permutation": "rows in another order give the same rows in that order",
    "rotation": "a rotation of the columns changes no distance between coordinates",
    "shift": "a shift of all rows changes no distance between coordinates",
    "mirror": "points mirrored at the origin have the same coordinates",
    "signs": "the entry of each axis that is largest in absolute value is positive",
    "columns": "columns in another order change nothing",
    "constant column": "a column that does not vary changes nothing",
    "twins": "equal rows have equal coordinates, to rounding",
    "near twins": "where they do not, they lie within a twentieth of the largest coordinate",
    "alone": "a new row is placed alike whatever rows come with it",
    "descending": "the numbers that axes are ranked by descend",
    "whole": "the whole spectrum is computed",
    "share": "axes can be asked for by a share of the variance",
    "quick": "a fit of a few points takes less than a second",
}


@frozen
class Variant:
    """Options of a method, and the laws that do not hold with them."""

    name: str  # empty for the defaults
    options: Mapping[str, Any]  # as in YAML
    broken: frozenset[str]  # laws


def variant(name: str = "", *broken: str, **options: Any) -> Variant:
    """Return a variant with some options and the names of broken laws; raises ValueError for an unknown law."""
    if unknown := set(broken) - LAWS.keys():
        raise ValueError(f"there is no law named {', '.join(sorted(unknown))}")
    return Variant(name, options, frozenset(broken))
