"""Variants of a method's options that compute something else, and settings that `mlcli explore` tries.

The contract suite runs all variants of all methods, and checks each against every law that it does not break.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.values.inputs import AffinityGraph, LengthGraph

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


WIDER = 4.0  # ratio of the rates of kernels of different widths; the ratio of lengths is 2
LANDMARKS = 1_000  # landmarks of a fit to more than MANY rows
MANY = 20_000  # rows beyond which distances of all pairs are too expensive


@frozen
class InputSummary:
    """Summary of an input for the choice of trials."""

    kind: str
    rows: int
    columns: int
    euclidean: bool  # whether distances are the Euclidean ones of features
    counts: Sequence[int]  # sizes of neighborhoods, the first to try first
    pieces: str  # what happens where the neighbor graph is not in one piece
    median: float | None  # of the squared distances between points, in the input's units

    @property
    def graph(self) -> bool:
        """Whether the input is a graph of neighbors."""
        return self.kind == LengthGraph.kind == AffinityGraph.kind


@frozen
class Trials:
    """The options of each setting, as in YAML, the first to try first; or none, with the reason."""

    settings: Sequence[Mapping[str, Any]] = ()
    reason: str = ""


def single_trial(**options: Any) -> Trials:
    """Return trials of one setting."""
    return Trials((options,))


def by_neighbors(seen: InputSummary, **options: Any) -> Trials:
    """Return a setting for each size of neighborhoods; one where the input is a graph."""
    if seen.graph:
        return single_trial(**options)
    rest = {} if seen.pieces == "error" else {"pieces": seen.pieces}
    return Trials(tuple({"neighbors": {"count": count, **rest}, **options} for count in seen.counts))


def by_width(seen: InputSummary) -> Trials:
    """Return settings of Gaussian kernels: of the default width, half of it and twice as wide."""
    if not seen.median:
        return single_trial()
    rates = (float(f"{factor / seen.median:.4g}") for factor in (WIDER, 1 / WIDER))
    return Trials(({}, *({"kernel": {"rate": rate}} for rate in rates)))
