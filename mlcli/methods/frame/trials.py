"""Which settings of a method are worth a trial where nothing but the data is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.values.inputs import AffinityGraph, LengthGraph

WIDER = 4.0  # ratio of the rates of kernels of different widths: of their lengths 2
LANDMARKS = 1_000  # of a fit to so many rows that distances between all are expensive
MANY = 20_000  # rows beyond which landmarks take their place


@frozen
class Seen:
    """What is known of an input before methods are tried on it."""

    kind: str
    rows: int
    columns: int
    euclidean: bool  # whether distances are the Euclidean ones of features
    counts: Sequence[int]  # sizes of neighborhoods, the one to begin with first
    pieces: str  # what happens where the neighbor graph is not in one piece
    median: float | None  # of the squared distances between points, in the input's units

    @property
    def graph(self) -> bool:
        """Whether the neighbors are given."""
        return self.kind == LengthGraph.kind == AffinityGraph.kind


@frozen
class Trials:
    """The options of each setting, as in YAML, the one to begin with first; none, for a reason."""

    settings: Sequence[Mapping[str, Any]] = ()
    reason: str = ""


def once(**options: Any) -> Trials:
    """One setting."""
    return Trials((options,))


def by_neighbors(seen: Seen, **options: Any) -> Trials:
    """A setting for each size of the neighborhoods; one where the neighbors are given."""
    if seen.graph:
        return once(**options)
    rest = {} if seen.pieces == "error" else {"pieces": seen.pieces}
    return Trials(tuple({"neighbors": {"count": count, **rest}, **options} for count in seen.counts))


def by_width(seen: Seen) -> Trials:
    """Gaussian kernels: of the usual width, half of it and twice as wide."""
    if not seen.median:
        return once()
    rates = (float(f"{factor / seen.median:.4g}") for factor in (WIDER, 1 / WIDER))
    return Trials(({}, *({"kernel": {"rate": rate}} for rate in rates)))
