"""Ways of running a method that compute something else, and the laws that do not hold for them.

The contract suite runs over all ways of all methods, and holds each to every law that it does not break.
"""

from collections.abc import Mapping
from typing import Any

from mlcli.base.frozen import frozen

LAWS = {
    "permutation": "rows in another order give the same rows in that order",
    "rotation": "a rotation of the columns changes no distance between coordinates",
    "shift": "a shift of all rows changes no distance between coordinates",
    "mirror": "points mirrored at the origin have the same coordinates",
    "columns": "columns in another order change nothing",
    "constant column": "a column that does not vary changes nothing",
    "twins": "equal rows have equal coordinates, to rounding",
    "alone": "a new row is placed alike whatever rows come with it",
    "descending": "the numbers that axes are ranked by descend",
    "whole": "the whole spectrum is computed",
    "share": "axes can be asked for by a share of the variance",
    "quick": "a fit of a few points takes less than a second",
}


@frozen
class Way:
    """Options of a method, and what does not hold for it with them."""

    name: str  # empty for the plain way
    options: Mapping[str, Any]  # as in YAML
    broken: frozenset[str]  # laws


def way(name: str = "", *broken: str, **options: Any) -> Way:
    """A way with some options; raises ValueError for a law that there is none of."""
    if unknown := set(broken) - LAWS.keys():
        raise ValueError(f"there is no law named {', '.join(sorted(unknown))}")
    return Way(name, options, frozenset(broken))
