"""All measures of an embedding, the content of quality.json; of its linear baseline, and of another label column."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stages.stage import mute_notes, note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Given, Input
from mlcli.base.values.sample_size import EXACT
from mlcli.base.values.scaling import all_finite
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.graph import Graph
from mlcli.core.similarities.spaces import EuclideanSpace, Space, input_space
from mlcli.data.table.table import Table
from mlcli.findings.frame.result import Result, as_compared
from mlcli.findings.quality import Quality
from mlcli.findings.quality.anchors import Anchors, Measure, OfBaseline, Spaces, Sums, sums_over_anchors
from mlcli.findings.quality.measures import (
    AnchorPairs,
    Distances,
    Labels,
    Neighborhoods,
    Reconstruction,
    Shepard,
    in_units,
)
from mlcli.methods import METHODS, Method
from mlcli.rundir.json_values import json_value

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


KINDS = {"features": "pca", "dissimilarities": "mds"}  # of inputs, each with the method that is its baseline


@frozen
class BaselineCoordinates:
    """Coordinates of a baseline, and the method that they are from."""

    method: str
    points: Array  # n x q


def baseline_of(method: Method, data: Input, axes: int, compute: Compute) -> BaselineCoordinates | None:
    """Return the baseline of a method's input on as many axes, or on fewer where it has fewer; None without one."""
    chosen = baseline_method(method, data, axes)
    if chosen is None:
        return None
    with mute_notes():
        return BaselineCoordinates(chosen.name, chosen.fit(data, compute).embedding)


def baseline_method(method: Method, data: Input, axes: int) -> Method | None:
    """Return the method that is the baseline, resolved for the data; None where the method is shown without one."""
    if not method.beside_baseline or data.kind not in KINDS:
        return None

    def resolved() -> Method:
        clipped = Eigensolve.model_construct(set(), components=axes)  # as a default, which is clipped
        with mute_notes():
            return METHODS[KINDS[data.kind]](eigensolve=clipped).resolve(data)

    return memoize("baseline", (data.kind, *data.values.shape, axes), resolved)  # all that it depends on


def baseline_steps(method: Method, data: Input, compute: Compute) -> Sequence[Step]:
    """Return the steps of fitting the baseline; none where there is none."""
    chosen = baseline_method(method, data, method.axes.count) if method.beside_baseline else None
    return () if chosen is None else chosen.steps(chosen.in_range(data), compute, None)


WIDEST = 100  # largest neighborhood of the Q_NX curve, if none larger is chosen
FARTHEST = 2.0**200  # largest ratio between the units of two kinds of distances
OF_LABELS = ("label_1nn_error", "silhouette")
NAMES = ("trustworthiness", "continuity", "lcmc", "q_nx", "stress_1", "stress_1_scaled", "sammon_stress",
         "sammon_stress_scaled", "residual_variance", "residual_variance_tenenbaum", "shepard_correlation",
         "reconstruction_error", "label_1nn_error", "silhouette")


@frozen
class QualityResult:
    """The measures of an embedding, and pairs for its Shepard diagram."""

    figures: dict[str, Any]  # the content of quality.json
    pairs: Array | None  # (m, 2) array: distances to keep and in the embedding; None where their file is missing


def measure_quality(result: Result, asked: Quality) -> QualityResult | None:
    """Return the measures over a run's rows without missing cells; None where there are none."""
    table, model, compute = result.prepared, result.model, result.config.compute
    embedding = model.embedding
    if (sample := result.sample(EXACT)) is not None:
        note("N-QUALITY-ROWS", f"quality is measured among {len(sample):,} of {table.rows:,} rows, as the table is "
             "read in blocks")
        table, embedding = table.take(sample), take_rows(embedding, sample)
    if not all_finite(table.values):
        whole = np.flatnonzero(np.isfinite(table.values).all(axis=1))
        note("N-QUALITY-ROWS", f"quality is measured on the {len(whole):,} of {table.rows:,} rows without gaps")
        table, embedding = table.take(whole), embedding[whole]
    if (piece := largest_piece(table)) is not None:
        note("N-QUALITY-ROWS", f"quality is measured on {len(piece):,} of {table.rows:,} points, the largest piece "
             "of the graph: no path leads to the others")
        table, embedding = table.take(piece), embedding[piece]
    if not table.rows:
        return None
    decoder = model.projector.decoder
    decoded = None if decoder is None or decoder.view == 1 else table.views[decoder.view - 1].values
    with running("quality"):
        found = quality(as_compared(result, table), embedding, labels=table.labels, label=asked.label,
                        kept=model.space(compute), decode=model.projector.decode_rows, decoded=decoded,
                        neighbors=asked.neighbors,
                        sample=asked.sample, free=result.config.method.free_scale, generator=compute.generator(),
                        baseline=baseline_of(result.config.method, table.data(), embedding.shape[1], compute))
    return QualityResult(json_value(found.figures), found.pairs)


def largest_piece(table: Table) -> Indices | None:
    """Return the points of the largest piece of a graph; None where it is in one piece, or the table is no graph."""
    if table.graph is None:
        return None
    pieces = Graph(table.graph.starts, table.graph.indices, table.graph.weights).pieces()
    return np.flatnonzero(pieces == 0) if pieces.max(initial=0) else None


def quality(source: Given, embedding: Array, *, kept: Space | None = None,
            labels: Mapping[str, Sequence[str]] | None = None, decode: Callable[[Array], Array] | None = None,
            decoded: Array | None = None, neighbors: int = 12, sample: int | Literal["auto"] = "auto",
            label: str | None = None, free: bool = False, baseline: BaselineCoordinates | None = None,
            generator: np.random.Generator) -> QualityResult:
    """Return all measures of an embedding, an (n, p) array, of a method's input, and pairs for its Shepard diagram.

    `kept` is the space whose distances the method aims to keep, where it is not the input's; `label` is the column of
    `labels` that the user chose; `decode` maps coordinates to features, of `decoded` rows (n x e) where these are of
    another view than the input. With `free`, the scale of the coordinates is
    arbitrary, and the figures say so. A measure that does not apply is None. Measures of a baseline are from the same
    pass over anchors.
    """
    size = len(embedding)
    work = (source.values.shape[1] if isinstance(source, Features) else 1) + (kept.work if kept else 0)
    anchors = Anchors.choose(size, work, sample, generator)
    space = input_space(source, anchors.rows)
    spaces = Spaces(space, kept or space, embedded=EuclideanSpace.of(embedding, anchors.rows),
                    baseline=None if baseline is None else EuclideanSpace.of(baseline.points, anchors.rows))
    classes, near = Labels.first_of(labels or {}, label), limit_neighbors(neighbors, size)

    def of_distances(embedded: Space) -> list[Measure]:
        found: list[Measure] = []
        if near is not None:
            found.append(Neighborhoods(size, near, min(size - 1, max(WIDEST, near))))
        if size > 1:
            found += [Distances(size, scale_of(spaces.kept, embedded)), Shepard.of(size, len(anchors.rows))]
        return found if classes is None else [*found, classes]

    measures = of_distances(spaces.embedded)
    if decode is not None:
        measures.append(Reconstruction(source.values if decoded is None else decoded, embedding, decode))
    beside = [] if spaces.baseline is None else [OfBaseline(measure) for measure in of_distances(spaces.baseline)]
    pairs = AnchorPairs.draw(anchors.rows, size, generator)
    *parts, drawn = sums_over_anchors([*measures, *beside, pairs], anchors, spaces)
    figures = {"rows": size, "anchors": len(anchors.rows), "exact": anchors.exact, "neighbors": near,
               "distances": spaces.kept.name, "label": classes and classes.column,
               **({"scale": FREE} if free else {}),
               **all_measures(estimates_of(measures, anchors, parts[: len(measures)]))}
    if baseline is not None:
        figures["baseline"] = {"method": baseline.method, "components": baseline.points.shape[1],
                               **all_measures(estimates_of(beside, anchors, parts[len(measures):]))}
    return QualityResult(figures, in_units(drawn, spaces.kept.unit, spaces.embedded.unit))


def limit_neighbors(neighbors: int, size: int) -> int | None:
    """Return the size of the neighborhoods, below half the points; above that trustworthiness has no meaning."""
    most = (size - 1) // 2
    if neighbors <= most:
        return neighbors
    note("N-QUALITY-NEIGHBORS", f"quality is measured in neighborhoods of {most}, not {neighbors}: "
         f"there are {size} points")
    return most or None


def scale_of(kept: Space, embedded: Space) -> float:
    """Return the factor from units of embedded distances to those of the kept ones, clipped to keep squares in range.

    Beyond that one kind of distances is negligible compared with the other.
    """
    return float(np.clip((embedded.unit / kept.unit).number(1.0), 1 / FARTHEST, FARTHEST))


def all_measures(values: Mapping[str, Array]) -> dict[str, Any]:
    """Return every measure by its name, numbers or (k,) arrays, each followed by its standard error where there is one.
    """
    full: dict[str, Any] = {}
    for name in NAMES:
        full[name] = plain_value(values[name]) if name in values else None
        if f"{name}_se" in values:
            full[f"{name}_se"] = plain_value(values[f"{name}_se"])
    return full


def plain_value(value: Array) -> float | dict[str, list[float]]:
    """Return a number, or a (k,) array as a curve over the sizes of neighborhoods from 1."""
    if np.ndim(value) == 0:
        return float(value)
    return {"neighbors": list(range(1, len(value) + 1)), "values": value.tolist()}


def estimates_of(measures: Sequence[Measure], anchors: Anchors, parts: Sequence[Sums]) -> dict[str, Array]:
    """Return the measures with their standard errors, from the sums of each anchor."""
    estimates: dict[str, Array] = {}
    for measure, sums in zip(measures, parts, strict=True):
        estimates |= anchors.estimates(measure.values, measure.pooled(sums))
    return estimates


def about_label(found: QualityResult, embedding: Array, labels: Mapping[str, Sequence[str]], label: str | None,
                compute: Compute, remedy: str) -> QualityResult:
    """Return measures whose label measures are about `label`, or about the first of `labels` with classes.

    `embedding` is an (n, p) array; `labels` are columns of n texts. Points are measured from the anchors of the other
    measures where those are of all rows. The measures stay as they are where no column has classes. Raises ConfigError
    for a chosen column without classes, with the `remedy`.
    """
    classes = Labels.first_of(labels, label, remedy)
    if classes is None:
        return found
    rows, size = found.figures["rows"], len(embedding)
    if rows != size:
        note("N-QUALITY-ROWS", f"label measures are of all {size:,} rows, the other measures of {rows:,}")
    anchors = Anchors.choose(size, 1, "auto" if rows != size else found.figures["anchors"], compute.generator())
    space = EuclideanSpace.of(embedding, anchors.rows)
    with running("quality"):
        values = estimates_of([classes], anchors, sums_over_anchors([classes], anchors, Spaces(space, space, space)))
    every = [key for name in OF_LABELS for key in (name, f"{name}_se")]
    others = {key: value for key, value in found.figures.items() if key not in every}
    figures = {**others, "label": classes.column, **{name: plain_value(value) for name, value in values.items()}}
    if others.get("baseline") is not None:  # its coordinates are not kept
        figures["baseline"] = {**others["baseline"], **dict.fromkeys(every)}
    return replace(found, figures=figures)
