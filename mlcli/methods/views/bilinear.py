"""The bilinear models of style and content: the asymmetric one, and the symmetric one by alternation."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import CrossLabeled, Input
from mlcli.base.values.missing import is_missing
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.linalg import singular, singular_cost, singular_step
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.whitening import SampleExtent, negligible
from mlcli.errors import ConfigError, DataError, GeometryError
from mlcli.methods.method import Method
from mlcli.methods.trials import variant
from mlcli.methods.views.check import bilinear_checks
from mlcli.methods.views.style_projector import FactorProjector, StyleProjector

NAMED = 5  # pairs or styles in a message
USUAL = 30  # alternations of most fits


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
    contents: Array  # c x r, the vectors of contents, orthonormal over these
    values: Array  # r, squared singular values, descending
    least: float  # singular value up to which all is rounding


@stage("styles")
def style_factors(means: Array) -> StyleFactors:
    """Return the factors of styles: U S of means (s x d x c), stacked as (s d x c) = U S Vᵀ (Tenenbaum and Freeman).

    Contents bᶜ, the columns of Vᵀ, are orthonormal vectors over contents. Nothing is centered.
    """
    styles, columns, contents = means.shape
    stacked = means.reshape(styles * columns, contents)
    left, sizes, right = singular(stacked)
    least = negligible(SampleExtent.of(stacked), np.ones(contents), float(sizes.max(initial=0.0)))
    rank = int(np.sum(sizes > least))
    return StyleFactors((left * sizes)[:, :rank].reshape(styles, columns, rank), right[:rank].T, sizes[:rank] ** 2,
                        least)


@result("bilinear-axes")
@frozen
class BilinearAxes:
    """Orthonormal vectors over styles and over contents, and the share of the means' squares between them."""

    styles: Array  # s x q
    contents: Array  # c x p
    objective: float


def alternated(axes: BilinearAxes, means: Array, total: float) -> BilinearAxes:
    """Return axes after a step for styles, given contents, and one for contents, given styles, of means (s x d x c).

    Each maximizes Σ ‖Aᵀ Mₖ B‖² over the columns k, by the leading singular vectors of the means along the other axes
    (Tenenbaum and Freeman, 2000, section 3.2). `total` is the sum of squares of all means.
    """
    count = axes.styles.shape[1]
    left, _, _ = singular((means @ axes.contents).reshape(len(means), -1))
    styles = left[:, :count]
    _, sizes, right = singular(along(styles, means).reshape(-1, means.shape[2]))
    kept = axes.contents.shape[1]
    return BilinearAxes(styles, right[:kept].T, float(np.sum(sizes[:kept] ** 2)) / total)


def along(styles: Array, means: Array) -> Array:
    """Return means (q x d x c) along axes of styles (s x q), of those of each style (s x d x c)."""
    return np.asarray(np.tensordot(styles, means, axes=(0, 0)))


def turn_between(before: BilinearAxes, after: BilinearAxes) -> float:
    """Return the larger of the sines of angles between two spans of axes: of styles, and of contents (root of Σ sin²).
    """
    return max(float(np.linalg.norm(new - old @ (old.T @ new))) for old, new in (
        (before.styles, after.styles), (before.contents, after.contents)))


def start_of_axes(means: Array, count: int, contents: Array) -> BilinearAxes:
    """Return the axes to begin with: `count` of styles, by singular vectors of means (s x d x c), and contents (c x p).

    Warns where the means of styles extend along fewer axes.
    """
    flat = means.reshape(len(means), -1)
    left, sizes, _ = singular(flat)
    least = negligible(SampleExtent.of(flat.T), np.ones(len(means)), float(sizes.max(initial=0.0)))
    rank = min(int(np.sum(sizes > least)), means.shape[1] * contents.shape[1])
    if rank < count:
        note("W-RANK", f"kept {max(rank, 1)} of {count} axes of styles: their means extend in no other direction")
    return BilinearAxes(left[:, : max(min(count, rank), 1)], contents, 0.0)


@frozen
class StyleVectors:
    """The symmetric model: vectors of styles, and the interaction by which they make factors Aˢ = Σ aᵢ Wᵢ."""

    vectors: Array  # s x q, orthonormal, in the order of the squares of their interaction
    interaction: Array  # q x d x p: W
    squares: Array  # q, of the interaction of each axis, descending

    @classmethod
    def of(cls, styles: Array, factors: Array) -> "StyleVectors":
        """Return those of axes of styles (s x q) and factors (s x d x p) in their span."""
        interaction = along(styles, factors)
        left, sizes, _ = singular(interaction.reshape(styles.shape[1], -1))
        turned = np.zeros((styles.shape[1],) * 2)
        turned[:, : left.shape[1]] = left
        vectors = styles @ turned
        signs = leading_signs(vectors)
        squares = np.zeros(styles.shape[1])
        squares[: len(sizes)] = sizes**2
        return cls(vectors * signs, along(turned * signs, interaction), squares)


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

    Symmetric model: With `--set method.style_axes=2` styles have vectors as well: Aˢ = Σ aᵢ Wᵢ, with the vector a of a
    style and an interaction W that all styles share. The vectors of styles, and those of contents, are orthonormal.
    They are singular vectors of the means along those of the others, which are computed in turn until both spans stay
    (`iterate`); what the model explains of the means never falls on the way. With as many axes as styles it is the
    asymmetric model; with as many axes as contents it is that of the exchanged labels.

    New points: New rows need their style, and not their content: `mlcli project RUN new.csv --label-column font`. The
    asymmetric model refuses a style that no row of the fit has. In the symmetric one the rows of a new style give its
    vector, and a second label column names contents, whose vectors are known where the fit had them: the columns that
    `--label-column` names, else those of the names that the run had. Other columns of texts are only labels. Rows
    without labels have a style and a content of their own; they need as many columns as both have axes together.
    Vectors that are not known are least squares given the others, in turn, from the vectors of each style and each
    content of the fit. Where no style and no content is known, their scale is not either: a style then has the length
    of the nearest one of the fit. The style vectors stand beside the coordinates, in the columns `style1`, `style2`,
    ...; with a second label column so do the vectors of contents, which all rows of a new content share (`content1`,
    ...).

    Reconstruction: `mlcli reconstruct RUN placed.csv` turns coordinates and style vectors, as `project` writes them,
    into features. With `--label-column font` the column names styles of the run instead: contents of other rows are
    translated into these.

    Files: `spectrum.csv` holds the squared singular values of the means of styles and contents, not divided by
    anything, and their shares of the sum of squares of all means; of the symmetric model those of the means along the
    axes of styles. Axes are ranked by them.
    `loadings.csv` holds Aˢ, in rows named `column@style`. `residual_share` is the part of the rows' sum of squares that
    Aˢ b leaves. Of the symmetric model `factors.csv` holds the vectors of styles and contents, `trace.csv` and
    `explained_share` the share of the means' sum of squares that it explains, and `style_shares` that of each axis of
    styles.

    Source: Tenenbaum and Freeman, "Separating style and content with bilinear models", Neural Computation 12, 2000.
    """

    accepts: ClassVar = (CrossLabeled,)
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "squared singular values of means"
    judged_by: ClassVar = "means"
    decodes: ClassVar = None
    rules: ClassVar = ()
    loads: ClassVar = "classes"
    can_resample: ClassVar = False
    later: ClassVar = ("style_axes", "iterate")
    variants: ClassVar = (variant("", "shift"), variant("symmetric", "shift", style_axes=1))
    axis: ClassVar = "Bilinear"
    name: Literal["bilinear"] = "bilinear"
    style_axes: int | None = option(None, "Number of axes of styles, of the symmetric model (default: each style has "
                                    "a matrix of its own, the asymmetric model).", ge=1)
    iterate: Iterate = Iterate()
    axes: PlainAxes = PlainAxes()

    def limit(self, data: Input) -> int:
        """Return the smaller of d and the number of contents."""
        return min(data.values.shape[1], len(set(data.contents))) if isinstance(data, CrossLabeled) else 1

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for more axes than styles, and for an iteration that is not there."""
        if self.style_axes is None:
            return self.refuse_unused("the asymmetric model has no iterations", "iterate")
        styles = len(set(data.labels)) if isinstance(data, CrossLabeled) else 1
        if self.style_axes > styles:
            raise ConfigError("STYLE-AXES", f"{self.style_axes} axes of styles were requested, but the data has "
                              f"{styles} styles", where="method.style_axes", hint=f"ask for at most {styles}")
        return {}

    def reproduces(self) -> bool:
        """New rows need their style, which a row of features does not have."""
        return False

    def steps(self, data: CrossLabeled, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of stacked means, and of the rows' contents."""
        shape = styles, contents = len(set(data.labels)), len(set(data.contents))
        columns, threads = data.values.shape[1], compute.thread_count()
        steps = style_steps(data.values, shape, self.axes.count, threads)
        if self.style_axes is None:
            return steps
        each = sum(singular_cost(sides, threads) for sides in (
            (styles, columns * self.axes.count), (self.style_axes * columns, contents)))
        held = 8.0 * columns * (4.0 * styles * contents + data.values.shape[0])
        return [repeated("iterate", "alternations", each, held, usual=USUAL, most=self.iterate.limit), *steps]

    def style_span(self, means: Array) -> Iterated[BilinearAxes] | None:
        """Return the axes of styles of means (s x d x c) after the last alternation; None of the asymmetric model."""
        if self.style_axes is None:
            return None
        styles, columns, contents = means.shape
        _, sizes, right = singular(means.reshape(styles * columns, contents))
        count = max(min(self.axes.count, int(np.sum(sizes > 0))), 1)
        start = start_of_axes(means, self.style_axes, right[:count].T)
        total = float(np.sum(means**2)) or 1.0
        return self.iterate(partial(alternated, means=means, total=total), start, turn_between)

    def solve(self, data: CrossLabeled, compute: Compute) -> Model:
        """Compute U S Vᵀ of the stacked means along the axes of styles, and of each row the b of least ‖y - Aˢ b‖."""
        crossing = Crossing.of(data.labels, data.contents, data.ids)
        means = crossing.means(data.values)
        span = self.style_span(means)
        along_span = means if span is None else np.tensordot(span.state.styles, along(span.state.styles, means), 1)
        found = style_factors(along_span)
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
        total = float(np.sum(means**2)) if span else float(found.values.sum())
        model = Model(embedding=embedding * signs, spectrum=Spectrum.of_values(found.values, total, complete=True),
                      projector=StyleProjector.of(crossing.styles, maps * signs),
                      loadings=Loadings((factors * signs).reshape(styles * columns, count), names),
                      fit={**counts, "residual_share": share})
        return model if span is None else with_style_vectors(
            model, crossing, span, first_columns(found.contents, count) * signs)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the singular value equations of means computed again, and the normal equations of the rows."""
        yield from super().checks(subject)
        yield from bilinear_checks(subject.data, subject.model, self.iterate.tolerance)


def with_style_vectors(model: Model, crossing: Crossing, span: Iterated[BilinearAxes], contents: Array) -> Model:
    """Return the model with the vectors of styles in a span, and of contents (c x p): the symmetric model."""
    projector, loadings, spectrum = model.projector, model.loadings, model.ranks
    assert isinstance(projector, StyleProjector) and loadings is not None
    styles, columns, count = projector.maps.shape
    found = StyleVectors.of(span.state.styles, loadings.values.reshape(styles, columns, count))
    total = spectrum.solved_trace or 1.0
    figures = {"explained_share": float(spectrum.solved[:count].sum()) / total,
               "style_shares": (found.squares / total).tolist()}
    placing = FactorProjector(projector.similarity, projector.centering, projector.axes, styles=crossing.styles,
                              maps=projector.maps, style_vectors=found.vectors, interaction=found.interaction,
                              contents=crossing.contents, content_vectors=contents)
    return replace(model, projector=placing, objective=Quantity(span.trace),
                   fit={**model.fit, **figures, **span.facts})
