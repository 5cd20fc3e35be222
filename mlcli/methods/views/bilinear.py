"""The bilinear model of style and content."""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import ClassVar, Literal, NoReturn

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled, Input
from mlcli.base.values.missing import is_missing
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import Axes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import singular, singular_step
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import SampleExtent, negligible
from mlcli.errors import ConfigError, DataError, GeometryError, NumericalError
from mlcli.methods.method import Method
from mlcli.methods.trials import variant
from mlcli.methods.views.check import bilinear_checks

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
    least = negligible(SampleExtent.of(stacked), np.ones(contents), float(sizes.max(initial=0.0)))
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


NAMED_STYLES = 10  # styles in a message


@stored("style-projector", axes="cp", maps="scp")
@frozen
class StyleProjector(Projector):
    """The map from new points to coordinates by the map of each one's style; `axes` are the mean of these.

    Raises ValueError for maps that are not those of the styles.
    """

    styles: tuple[str, ...] = field(kw_only=True)  # s
    maps: Array = field(kw_only=True)  # s x c x p

    def __post_init__(self) -> None:
        if len(self.styles) != len(self.maps) or len({*self.styles}) != len(self.styles):
            raise ValueError("there is one map for each style")

    @classmethod
    def of(cls, styles: tuple[str, ...], maps: Array) -> "StyleProjector":
        """Return the projector by maps (s x d x p) of styles (s)."""
        return cls(Columns(), uncentered(maps.shape[1]), maps.mean(axis=0), styles=styles, maps=maps)

    def of_style(self, place: int) -> Projector:
        """Return the projector of points of one style, by its place."""
        return Projector(self.similarity, self.centering, self.maps[place], exponent_in=self.exponent_in,
                         exponent_out=self.exponent_out)

    def place(self, new: Array, labels: Sequence[str] | None) -> Array:
        """Return coordinates (m x p) of new points (m x d), whose labels (m) are their styles.

        Raises ConfigError without labels, and DataError for a style that no row of the fit has.
        """
        if labels is None:
            _refuse()
        known = {style: place for place, style in enumerate(self.styles)}
        places = np.array([known.get(label, -1) for label in labels], dtype=np.int64)
        if (unknown := np.flatnonzero(places < 0)).size:
            row = int(unknown[0])
            raise DataError("STYLE", f"the run has no style {labels[row][:80]!r}", row=row,
                            hint=f"its styles are {', '.join(style[:80] for style in self.styles[:NAMED_STYLES])}"
                            f"{', ...' * (len(self.styles) > NAMED_STYLES)}; the first label column names the style")
        coordinates = np.empty((len(new), self.maps.shape[2]))
        for place in np.unique(places).tolist():
            rows = np.flatnonzero(places == place)
            try:
                coordinates[rows] = self.of_style(place).project(new[rows])
            except NumericalError as error:  # which counts rows of this style
                raise error.changed(row=None if error.row is None else int(rows[error.row])) from None
        return coordinates

    def project(self, new: Array) -> Array:
        """Raise ConfigError: the styles of new points (m x d) are needed."""
        _refuse()


def _refuse() -> NoReturn:
    raise ConfigError("NEEDS-STYLE", "the coordinates of new rows depend on their styles, and no labels are given",
                      where="input.label_columns", hint="name the column of styles with {input.label_columns}")


class Bilinear(Method):
    """Contents in several styles, such as letters in fonts or postures of persons; takes two label columns.

    It keeps what rows of one content have in common in all styles. It fails if styles do more than a linear map of
    contents can. Set both label columns first, that of the style and then that of the content.

    How it works: The first label column names the style of a row, the second its content: `--label-column font
    --label-column letter`. The asymmetric model of Tenenbaum and Freeman says that a row of style s and content c is Aˢ
    bᶜ: each style has a matrix Aˢ of its own, and the vector bᶜ of a content is the same in all styles.

    It is fitted to the mean of the rows of each pair of a style and a content, so that each pair counts once, however
    many rows it has. A pair without any row is refused. The means are stacked, styles and columns below each other and
    contents side by side. Their singular value decomposition U S Vᵀ gives the least squares: Aˢ are the rows of U S
    that belong to the style, and bᶜ the columns of Vᵀ. There are at most as many axes as columns, and as contents.

    The coordinates of a row are its content vector given its style: the b of least ‖y - Aˢ b‖. They have no unit. Rows
    of the same content lie near each other, whatever their style, if the model holds. If the axes depend on each other
    in a style, its rows have the shortest such vector, with a warning.

    As in the paper, nothing is centered: the first axis is mostly the mean of all rows. Use `--scale center` to model
    deviations from the columns' means.

    New points: New rows need their style, and not their content: `mlcli project RUN new.csv --label-column font`. A
    style that no row of the fit has is refused.

    Files: `spectrum.csv` holds the squared singular values, not divided by anything, and their shares of the sum of
    squares of all means. Axes are ranked by them. `loadings.csv` holds Aˢ, in rows named `column@style`.
    `residual_share` is the part of the rows' sum of squares that Aˢ b leaves.

    Source: Tenenbaum and Freeman, "Separating style and content with bilinear models", Neural Computation 12, 2000.
    """

    accepts: ClassVar = (CrossLabeled,)
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "squared singular values of the means of styles and contents"
    decodes: ClassVar = None
    rules: ClassVar = ()
    loads: ClassVar = "classes"
    can_resample: ClassVar = False
    variants: ClassVar = (variant("", "shift"),)
    axis: ClassVar = "Bilinear"
    name: Literal["bilinear"] = "bilinear"
    axes: Axes = Axes()

    def limit(self, data: Input) -> int:
        """Return the smaller of d and the number of contents."""
        return min(data.values.shape[1], len(set(data.contents))) if isinstance(data, CrossLabeled) else 1

    def reproduces(self) -> bool:
        """New rows need their style, which a row of features does not have."""
        return False

    def steps(self, data: CrossLabeled, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of stacked means, and of the rows' contents."""
        return style_steps(data.values, (len(set(data.labels)), len(set(data.contents))), self.axes.count,
                           compute.thread_count())

    def solve(self, data: CrossLabeled, compute: Compute) -> Model:
        """Compute U S Vᵀ of the stacked means, and of each row the b of least ‖y - Aˢ b‖."""
        crossing = Crossing.of(data.labels, data.contents, data.ids)
        found = style_factors(data.values, crossing)
        styles, columns, _ = found.factors.shape
        count = self.axes.available_count(len(found.values))
        factors = first_columns(found.factors.reshape(styles * columns, -1), count).reshape(styles, columns, count)
        maps = content_maps(factors, found.least, crossing.styles)
        embedding = content_vectors(data.values, crossing, maps)
        signs = leading_signs(embedding)
        share = unexplained_share(data.values, crossing, factors, embedding)
        names = tuple(f"{column}@{style}" for style in crossing.styles for column in data.columns)
        counts = {"styles": dict(zip(crossing.styles, np.bincount(crossing.style).tolist(), strict=True)),
                  "contents": dict(zip(crossing.contents, np.bincount(crossing.content).tolist(), strict=True))}
        return Model(embedding=embedding * signs,
                     spectrum=Spectrum.of_values(found.values, float(found.values.sum()), complete=True),
                     projector=StyleProjector.of(crossing.styles, maps * signs),
                     loadings=Loadings((factors * signs).reshape(styles * columns, count), names),
                     fit={**counts, "residual_share": share})

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the singular value equations of means computed again, and the normal equations of the rows."""
        yield from super().checks(subject)
        yield from bilinear_checks(subject.data, subject.model)
