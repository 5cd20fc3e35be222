"""Several embeddings of the same points, every two of them compared."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, stage
from mlcli.base.types import Array
from mlcli.base.values.sample_size import sample_of
from mlcli.core.permutations import Permutations
from mlcli.findings.frame.likeness import (
    Agreement,
    Alignment,
    agreement,
    principal_angles,
    procrustes,
    procrustes_p,
    standardize,
)

EXACT = 20_000  # largest number of points for the neighbors of all
SAMPLE = 2_000  # of more points, size of the sample whose neighborhoods are compared
ALIKE = 0.9999  # correlation of a column before and after a rotation above which it counts as the same
DRAWN = 2  # axes of a panel
LEADING = 10  # eigenvalues side by side


@frozen
class Side:
    """One of the runs in a comparison."""

    name: str  # as the user gave it
    method: str
    input: str
    rows: int  # number of rows of its embedding, common or not
    values: Array  # (n, p) array, of the common rows
    eigenvalues: Sequence[float]
    proportions: Sequence[float | None]
    quality: Mapping[str, float] = field(default_factory=dict)  # relevant measures, by their names in quality.json
    seconds: float | None = None
    options: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # path to value and default, where they differ
    sha256: str | None = None  # of its input
    views: Sequence[tuple[str, str | None]] = ()  # path and SHA-256 of each further file of its input
    named: bool = True  # whether names may be drawn next to few points
    axes: Sequence[str] = ()  # labels of its first axes
    shared: Sequence[tuple[int, int]] = ()  # start and stop of axes that share an eigenvalue, kept or not

    def cuts(self, span: "Span") -> bool:
        """Whether it keeps some, but not all, of its axes that share an eigenvalue with one of these."""
        kept = self.values.shape[1]
        return any(first < span.stop and span.start < stop and stop > kept for first, stop in self.shared)


@frozen
class Span:
    """Axes of two runs that are compared by the space that they span: one axis, or those that share an eigenvalue."""

    start: int
    stop: int
    angles: Array  # principal angles in degrees, ascending; none where a run cuts the space

    @property
    def single(self) -> bool:
        """Whether it is one axis."""
        return self.stop - self.start == 1

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values; axes count from 1."""
        return {"first": self.start + 1, "last": self.stop, "principal_angles": self.angles.tolist()}


@frozen
class RunPair:
    """A comparison of two runs."""

    first: str
    second: str
    fit: Alignment
    angles: Array  # degrees, ascending
    agreement: Agreement | None  # None for fewer than three points
    p_value: float | None = None  # of the Procrustes statistic by permutations, where any were asked for
    spans: Sequence[Span] = ()  # of the axes that both have, where both rank them by eigenvalues

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        near, m2 = self.agreement, self.fit.m2
        return {"first": self.first, "second": self.second, "procrustes_m2": m2,
                "procrustes_correlation": float(np.sqrt(max(1 - m2, 0.0))),
                **({} if self.p_value is None else {"procrustes_p": self.p_value}),
                "principal_angles": self.angles.tolist(),
                **({"axes": [span.document() for span in self.spans]} if self.spans else {}),
                **({} if near is None else {
                    "neighbors": near.neighbors, "points": near.points,
                    "overlap": near.overlap, "overlap_se": near.overlap_se,
                    "jaccard": near.jaccard, "jaccard_se": near.jaccard_se})}


@frozen
class Comparison:
    """All runs, and every two of them compared."""

    sides: Sequence[Side]
    ids: Sequence[str]  # of the common rows
    labels: Mapping[str, Sequence[str]]  # the first run's
    pairs: Sequence[RunPair]
    placed: Sequence[Array]  # each embedding, standardized, and aligned with the first or in its own orientation
    aligned: bool = True
    colors: Sequence[str] = ()  # columns among the labels; none: the first
    measured: frozenset[str] = frozenset()  # labels that are measurements, whose colors are a scale

    def in_own_orientation(self) -> "Comparison":
        """Return the comparison with each embedding as its run has it, but for its place and its size.

        Axes that share an eigenvalue are rotated within their space to fit the first run, as they have no orientation.
        """
        first, placed = standardize(self.sides[0].values), list[Array]()
        for side in self.sides:
            own = standardize(side.values)
            for span in compare_spans((self.sides[0], side), (first, own)):
                if not span.single and len(span.angles):
                    axes = slice(span.start, span.stop)
                    own[:, axes] = procrustes(first[:, axes], own[:, axes]).turned
            placed.append(own)
        return replace(self, placed=placed, aligned=False)

    def axis_labels(self, place: int) -> list[str]:
        """Return the labels of a run's first two axes, which are called aligned unless they are its own axes.

        A Procrustes rotation mixes axes; they stay a run's own where it only mirrors them.
        """
        side, placed = self.sides[place], self.placed[place][:, :DRAWN]
        own = standardize(side.values)[:, :DRAWN]
        if all(same_column(one, other) for one, other in zip(own.T, placed.T, strict=False)):
            return list(side.axes)
        method = (side.axes[0].rpartition(" ")[0] if side.axes else "") or side.method
        return [f"{method} {place + 1} (aligned)" for place in range(DRAWN)]

    @property
    def inputs(self) -> int:
        """The number of different inputs of the runs, as far as known."""
        return len({(side.sha256, *(found for _, found in side.views)) for side in self.sides if side.sha256})

    @property
    def options(self) -> dict[str, list[str]]:
        """The options in which runs differ: for each path every run's value, a dash where its method lacks it."""
        paths = dict.fromkeys(path for side in self.sides for path in side.options)
        rows = {path: [_option(side, path, self.sides) for side in self.sides] for path in paths}
        return {path: values for path, values in rows.items() if len(set(values)) > 1}

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        runs = [{"run": side.name, "method": side.method, "input": side.input, "rows": side.rows,
                 "components": side.values.shape[1], "eigenvalues": list(side.eigenvalues[:LEADING]),
                 "proportions": list(side.proportions[:LEADING]), "seconds": side.seconds,
                 "quality": dict(side.quality), "input_sha256": side.sha256,
                 **({"views": [{"input": path, "input_sha256": found} for path, found in side.views]} if side.views
                    else {})} for side in self.sides]
        return {"rows": len(self.ids), "runs": runs, "options": self.options,
                "pairs": [pair.document() for pair in self.pairs]}


def same_column(first: Array, second: Array) -> bool:
    """Whether two centered columns, (n,) arrays, are the same up to their sign and size."""
    sizes = np.linalg.norm(first) * np.linalg.norm(second)
    return bool(abs(first @ second) >= ALIKE * sizes)


@stage("compare")
def side_by_side(sides: Sequence[Side], ids: Sequence[str], labels: Mapping[str, Sequence[str]], neighbors: int,
                 generator: np.random.Generator, *, permutations: Permutations | None = None) -> Comparison:
    """Compare every two runs over their common rows, with a test of their shapes where there are permutations."""
    shapes = [standardize(side.values) for side in sides]
    rows = sample_of(len(ids), len(ids) if len(ids) <= EXACT else SAMPLE, generator)
    near = min(neighbors, (len(ids) - 1) // 2)
    every = list(combinations(range(len(sides)), 2))
    pairs = []
    for done, (i, j) in enumerate(every):
        alike = agreement(shapes[i], shapes[j], rows, near) if near > 0 else None
        pairs.append(RunPair(sides[i].name, sides[j].name, procrustes(shapes[i], shapes[j]),
                             principal_angles(shapes[i], shapes[j]), alike,
                             None if permutations is None else procrustes_p(shapes[i], shapes[j], permutations),
                             compare_spans((sides[i], sides[j]), (shapes[i], shapes[j]))))
        advance(done + 1, len(every))
    return Comparison(sides, ids, labels, pairs, align_to_first(shapes))


def compare_spans(sides: tuple[Side, Side], shapes: tuple[Array, Array]) -> list[Span]:
    """Return the axes that two runs have compared one by one, those that share an eigenvalue in either by their space.

    `shapes` are their standardized embeddings, (n, p) and (n, q) arrays. None where a run does not rank its axes by
    eigenvalues, and no angles of a space that a run cuts.
    """
    if not all(len(side.eigenvalues) for side in sides):
        return []
    both = min(shape.shape[1] for shape in shapes)
    joined = np.zeros(both, dtype=bool)  # whether an axis is in one space with that before it
    for start, stop in (run for side in sides for run in side.shared):
        joined[start + 1 : stop] = True
    edges = [*np.flatnonzero(~joined).tolist(), both]
    spans = [Span(start, stop, np.empty(0)) for start, stop in pairwise(edges)]
    return [span if any(side.cuts(span) for side in sides) else replace(span, angles=principal_angles(
        *(shape[:, span.start : span.stop] for shape in shapes))) for span in spans]


def align_runs(sides: Sequence[Side], ids: Sequence[str], labels: Mapping[str, Sequence[str]]) -> Comparison:
    """Return runs aligned with the first, without a comparison of every two of them."""
    return Comparison(sides, ids, labels, (), align_to_first([standardize(side.values) for side in sides]))


def _option(side: Side, path: str, sides: Sequence[Side]) -> str:
    """Return a run's value at a path: the one the user chose, else the default of a run of the same method."""
    if path == "method.name":
        return side.method
    if path in side.options:
        return side.options[path][0]
    alike = (other for other in sides if path in other.options)
    return next((other.options[path][1] for other in alike
                 if other.method == side.method or not path.startswith("method.")), "–")


def align_to_first(shapes: Sequence[Array]) -> list[Array]:
    """Return standardized embeddings, (n, p) arrays, aligned with the first: one of fewer axes with its leading ones.

    Aligned with all axes of the first, a plane among ten axes would be seen from the side.
    """
    first = shapes[0]
    return [first, *(procrustes(first[:, :shape.shape[1]], shape).turned for shape in shapes[1:])]


