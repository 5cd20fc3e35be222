"""The bilinear model of styles and contents: means of their pairs, the factors of these, and a map for each style."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.missing import is_missing
from mlcli.errors import DataError, GeometryError
from mlcli.stages.algebra.costs import product_rate, singular_step
from mlcli.stages.algebra.linalg import singular
from mlcli.stages.linear.whitening import Extent, negligible

NAMED = 5  # pairs or styles in a message


@frozen
class Crossing:
    """The styles and contents of n points, in alphabetical order, each style with each content at least once."""

    styles: tuple[str, ...]  # s
    contents: tuple[str, ...]  # c
    style: Indices  # n, from 0
    content: Indices  # n, from 0

    @classmethod
    def of(cls, styles: Sequence[str], contents: Sequence[str], ids: Sequence[str]) -> "Crossing":
        """Return the crossing of two labels (n each) of points with ids (n).

        Raises DataError for a row without one of them and for pairs without a row, and GeometryError for less than two
        styles or contents.
        """
        (first, style), (second, content) = levels(styles, ids, "style"), levels(contents, ids, "content")
        found = cls(first, second, style, content)
        absent = np.flatnonzero(found.counts == 0)
        if len(absent):
            named = ", ".join(f"{first[pair // len(second)][:80]!r} with {second[pair % len(second)][:80]!r}"
                              for pair in absent[:NAMED].tolist())
            raise DataError("PAIRS", f"{len(absent)} of {len(first) * len(second)} pairs of a style (the first label) "
                            f"and a content (the second) have no row: {named}{', ...' * (len(absent) > NAMED)}",
                            where="input.label_columns", hint="leave out the styles or contents that lack them, or "
                            "give other columns: the first names the style, the second the content")
        return found

    @property
    def counts(self) -> Indices:
        """The rows of each pair (s c), contents of the first style first."""
        return np.bincount(self.style * len(self.contents) + self.content,
                           minlength=len(self.styles) * len(self.contents))

    def means(self, points: Array) -> Array:
        """Return the mean of each pair's points (n x d), an (s, d, c) array."""
        order = np.lexsort((self.content, self.style))
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        sums = np.add.reduceat(points[order], starts, axis=0) / self.counts[:, None]
        return sums.reshape(len(self.styles), len(self.contents), -1).transpose(0, 2, 1)


def levels(labels: Sequence[str], ids: Sequence[str], called: str) -> tuple[tuple[str, ...], Indices]:
    """Return the sorted names of labels (n), and the place of each row's among them (n)."""
    without = [name for name, label in zip(ids, labels, strict=True) if is_missing(label)]
    if without:
        raise DataError("NO-LABEL", f"{len(without)} rows have no {called} (empty, NA or NaN), the first is "
                        f"{without[0][:80]!r}", where="input.label_columns", hint="leave these rows out")
    names, places = np.unique(np.asarray(labels), return_inverse=True)
    if len(names) < 2:
        raise GeometryError("ONE-CLASS", f"the labels name one {called} only", where="input.label_columns",
                            hint="a bilinear model needs at least two styles (the first label column) and two contents "
                            "(the second)")
    return tuple(names.tolist()), places.astype(np.int64)


@frozen
class StyleFactors:
    """The factors Aˢ of s styles, with which the mean of style s and content c is about Aˢ bᶜ."""

    factors: Array  # s x d x r, in the order of singular values, their columns stacked over styles orthogonal
    values: Array  # r, squared singular values, descending
    least: float  # singular value up to which all is rounding


@stage("styles")
def style_factors(points: Array, crossing: Crossing) -> StyleFactors:
    """Return the factors of styles of points (n x d): U S of the means (s d x c) = U S Vᵀ (Tenenbaum and Freeman).

    Contents bᶜ, the columns of Vᵀ, are orthonormal vectors over contents. Nothing is centered.
    """
    means = crossing.means(points)
    styles, columns, contents = means.shape
    stacked = means.reshape(styles * columns, contents)
    left, sizes, _ = singular(stacked)
    least = negligible(Extent.of(stacked), np.ones(contents), float(sizes.max(initial=0.0)))
    rank = int(np.sum(sizes > least))
    return StyleFactors((left * sizes)[:, :rank].reshape(styles, columns, rank), sizes[:rank] ** 2, least)


def content_maps(factors: Array, least: float, names: Sequence[str]) -> Array:
    """Return maps (s x d x p), the pseudo-inverses of factors Aˢ (s x d x p): a row y has the content y @ map.

    It is the shortest vector b of least ‖y - Aˢ b‖. Warns of styles in which axes depend on each other, their singular
    values up to `least`.
    """
    maps, short = np.zeros_like(factors), []
    for place, factor in enumerate(factors):
        left, sizes, right = singular(factor)
        rank = int(np.sum(sizes > least))
        maps[place] = left[:, :rank] / sizes[:rank] @ right[:rank]
        if rank < int(np.any(factors != 0, axis=(0, 1)).sum()):
            short.append(names[place])
    if short:
        note("W-STYLES", f"in {len(short)} of {len(names)} styles contents differ along fewer axes than there are; "
             f"rows there have the shortest content vector: {', '.join(short[:NAMED])}{', ...' * (len(short) > NAMED)}",
             styles=short)
    return maps


@stage("coordinates")
def content_vectors(points: Array, crossing: Crossing, maps: Array) -> Array:
    """Return content vectors (n x p) of points (n x d), each by the map of its style, of (s, d, p) maps."""
    found = np.empty((len(points), maps.shape[2]))
    for place, way in enumerate(maps):
        rows = np.flatnonzero(crossing.style == place)
        found[rows] = points[rows] @ way
    return found


def unexplained_share(points: Array, crossing: Crossing, factors: Array, vectors: Array) -> float:
    """Return Σ ‖y - Aˢ b‖² / Σ ‖y‖² of points (n x d), factors (s x d x p) and content vectors (n x p)."""
    rest = sum(float(np.sum((points[rows] - vectors[rows] @ factor.T) ** 2)) for factor, rows in zip(
        factors, (np.flatnonzero(crossing.style == place) for place in range(len(factors))), strict=True))
    return rest / max(float(np.sum(points**2)), np.finfo(np.float64).tiny)


def style_steps(points: Array, shape: tuple[int, int], count: int, threads: int) -> list[Step]:
    """Return the steps of a bilinear model of points (n x d) in a crossing of `shape` (s, c), with `count` axes."""
    rows, columns = points.shape
    styles, contents = shape
    step = singular_step("styles", (styles * columns, contents), threads, copies=4.0)
    seconds = 2.0 * rows * columns * count / product_rate(threads)
    return [replace(step, memory=step.memory + 8.0 * rows * columns),
            Step("coordinates", f"content vectors of {rows:,} rows", seconds,
                 16.0 * rows * columns / max(styles, 1) + 16.0 * rows * count)]
