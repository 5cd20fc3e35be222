"""Finished trials: read back, scored with the same points, and fitted again to parts of the rows."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, WeightedGraph
from mlcli.base.values.sample_size import sample_of
from mlcli.config.run_config import RunConfig
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import nearest_lists
from mlcli.core.similarities.spaces import GeodesicSpace, Space, input_space
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError
from mlcli.explore.examine import Examination
from mlcli.explore.scores import ENOUGH, Assessment, Reference, assess, best_of
from mlcli.explore.settings import Setting, has_nested_axes, with_axes
from mlcli.explore.verdict import Chance, Surface
from mlcli.findings.dimension import DimensionFinding
from mlcli.findings.discontinuity import FIGURES, DiscontinuityFinding
from mlcli.findings.frame.likeness import agreement, procrustes, standardize
from mlcli.findings.quality.measure import limit_neighbors
from mlcli.findings.quality.measures import Labels
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.methods import METHODS
from mlcli.pipeline.read_run import read_run

MOST, FEWEST = 1_000, 16  # points in the sample that embeddings are scored from
WORK, RATE = 2e8, 4e5  # ranks to compute for all embeddings: at most, and for each second of the budget
CURVES = 250  # points for curves over the number of axes
ALONG = 5_000  # largest number of points for distances along the neighbor graph
NEIGHBORS = 12
FEW = 5  # neighbors of that graph, or as many as connect it: more would make short circuits
ENOUGH_SEEN = 1_000  # rows for the test of a surface; half of them for the test of chance
MUCH = 2 / 3  # R_NX from which on an embedding keeps most of a surface
COPIES = 5  # copies with permuted columns
DRAWS, SHARE = 3, 0.8  # number of fits to parts of the rows, and share of the rows in each


@frozen
class Trial:
    """A finished trial."""

    setting: Setting
    folder: Path
    config: RunConfig
    seconds: float
    values: Array  # (n, q) array; q is at least the number of axes compared, where there are so many
    eigenvalues: Sequence[float]
    advice: Mapping[str, Any]  # the recommended number of axes
    warnings: Sequence[str]
    doubtful: int | None = None  # points where the map of a layout tears

    def cut(self, axes: int) -> Array:
        """Return the first `axes` axes, an (n, axes) array."""
        return self.values[:, :axes]


def read_trial(setting: Setting, folder: Path, config: RunConfig, document: Mapping[str, Any]) -> Trial:
    """Return a trial from its run's files; raises the errors of `read_run`."""
    run = read_run(folder)
    spectrum, dimension = SpectrumFinding.of(run), DimensionFinding.of(run) or {}
    eigenvalues = [] if spectrum is None else spectrum.numbers("eigenvalue")
    return Trial(setting, folder, config, float(document["seconds"]), run.embedding.values, eigenvalues,
                 dimension.get("recommendation") or {}, [item["code"] for item in document["warnings"]],
                 None if (torn := DiscontinuityFinding.of(run)) is None else torn[FIGURES.name]["doubtful"])


def ranks_in(budget: float) -> float:
    """Return the number of ranks to compute within a budget (s). The clock plays no part, so results repeat."""
    return min(WORK, RATE * budget)


def reference_of(data: Given, compared: Given, table: Table, settings: int, connecting: int,
                 generator: np.random.Generator, work: float) -> Reference:
    """Return the points that embeddings are scored from, all or a seeded sample, and the input's distances.

    `connecting` is the number of neighbors that connects the graph.
    """
    size = len(compared.ids)
    count = min(size, MOST, max(FEWEST, int(work / (size * (settings + 1)))))
    anchors = sample_of(size, count, generator)
    with no_listeners():
        classes, near = Labels.first_of(table.labels), limit_neighbors(NEIGHBORS, size) or 1
    return Reference(anchors, size, near, input_space(compared, anchors),
                     graph_space(data, compared, max(connecting, FEW)),
                     None if classes is None else classes.codes)


def graph_space(data: Given, compared: Given, neighbors: int) -> Space | None:
    """Return distances along the neighbor graph; None for a graph as input, one in pieces, or too many points."""
    if len(data.values) > ALONG or isinstance(data, WeightedGraph) or not isinstance(
            compared, Features | Dissimilarities):
        return None
    points = compared.normalized()
    with no_listeners(), suppress(MlcliError):
        graph: Graph = graph_of(nearest_lists(points, min(neighbors, len(points.values) - 1)), "union")
        if not graph.pieces().any():
            return GeodesicSpace(graph, points.unit, None, Compute())
    return None


def scores_by_axes(reference: Reference, made: Sequence[Trial], most: int,
                   work: float) -> list[list[tuple[int, Assessment]]]:
    """Return the scores of each trial with 1, 2, ... axes, where its axes are nested, from part of the points."""
    cuts = [(place, axes) for place, one in enumerate(made) if has_nested_axes(one.setting.method)
            for axes in range(1, min(most, one.values.shape[1]) + 1)]
    count = min(CURVES, max(FEWEST, int(work / (reference.size * (len(cuts) + 1)))))
    few = reference.anchors[:: -(-len(reference.anchors) // count)]
    part = Reference(few, reference.size, reference.neighbors, reference.input, None, None)
    found = assess(part, [made[place].cut(axes) for place, axes in cuts]) if cuts else []
    curves: list[list[tuple[int, Assessment]]] = [[] for _ in made]
    for (place, axes), one in zip(cuts, found, strict=True):
        curves[place].append((axes, one))
    return curves


@frozen
class Refit:
    """A setting fitted again to parts of the rows, in comparison with the fit to all."""

    fits: int
    m2: float | None  # mean Procrustes statistic; None where no fit was made
    overlap: float | None  # mean share of common neighbors
    reason: str = ""  # why fewer fits were made than planned


def refit_all(made: Sequence[Trial], data: Given, axes: int, end: float) -> Iterator[Refit]:
    """Yield the refits of each trial, as long as the time that the trial took remains before `end`."""
    for place, one in enumerate(made):
        yield refit(one, data, axes, end)
        advance(place + 1, len(made))


def refit(made: Trial, data: Given, axes: int, end: float) -> Refit:
    """Fit one setting again to seeded parts of the rows and compare."""
    take, generator = getattr(data, "take", None), made.config.compute.generator()
    count, found, reason = int(SHARE * len(data.values)), list[tuple[float, float]](), ""
    for _ in range(DRAWS):
        if take is None or count < 4:
            reason = "parts of such an input cannot be taken" if take is None else "there are too few rows"
            break
        if time.monotonic() + made.seconds > end:
            reason = "the budget was used up"
            break
        rows = np.sort(generator.choice(len(data.values), count, replace=False))
        try:
            found.append(likeness(made, take(rows), rows, axes))
        except MlcliError as error:
            reason = f"on a part of the rows: {error.what}"
    means = np.mean(found, axis=0).tolist() if found else [None, None]
    return Refit(len(found), means[0], means[1], reason)


def likeness(made: Trial, part: Any, rows: Indices, axes: int) -> tuple[float, float]:
    """Return Procrustes m² and the share of common neighbors of a fit to some rows and the fit to all.

    `rows` is an (m,) array of the rows in `part`.
    """
    with no_listeners():
        method = with_axes(made.config, axes).method.resolve(part)
        again = method.fit(part, made.config.compute).embedding
    sides = standardize(again), standardize(made.cut(axes)[rows])
    some = np.arange(len(rows))[:: -(-len(rows) // MOST)]
    near = min(NEIGHBORS, (len(rows) - 1) // 2)
    return procrustes(*sides).m2, agreement(*sides, some, near).overlap


def r_nx(one: Assessment, name: str = "r_nx") -> float:
    """Return the mean of a measure over the points."""
    return float(one.scores[name].mean())


def surface_of(made: Sequence[Trial], scores: Sequence[Assessment], curves: Sequence[Sequence[tuple[int, Assessment]]],
               data: Given, axes: int, connecting: int) -> Surface | None:
    """Return the axes of a linear method that keep all neighborhoods of a surface; None where there is none.

    A surface: with the compared number of axes no method preserves most neighborhoods, nor as many along the neighbor
    graph as more linear axes do; a method that unrolls the surface would. One that tears it keeps most of any surface,
    and is not asked.
    """
    linear = next((place for place, one in enumerate(made) if METHODS[one.setting.method].baseline), None)
    untorn = [place for place, one in enumerate(made) if not METHODS[one.setting.method].loses]
    if linear is None:
        return None
    best = untorn[best_of([scores[place] for place in untorn])]
    if r_nx(scores[best]) >= MUCH:
        return None
    count = next((count for count, one in curves[linear] if count > axes and r_nx(one) > 1 - ENOUGH), None)
    take = getattr(data, "take", None)
    if count is None or take is None:
        return None
    rows = sample_of(len(data.values), ENOUGH_SEEN, made[linear].config.compute.generator())
    part = take(rows)
    compared = made[linear].config.method.with_metric(part) if data.kind == "features" else part
    graph = graph_space(part, compared, max(connecting, FEW))
    if graph is None:
        return None
    reference = Reference(np.arange(len(rows)), len(rows), 1, input_space(compared), graph, None)
    *others, whole = assess(reference, [*(one.cut(axes)[rows] for one in made), made[linear].cut(count)[rows]])
    most = max(r_nx(one, "geodesic_r_nx") for one in others)
    if r_nx(whole, "geodesic_r_nx") <= most + ENOUGH:
        return None
    return Surface(linear=linear, axes=count, kept=r_nx(whole), along=r_nx(whole, "geodesic_r_nx"), best=best,
                   best_kept=r_nx(scores[best]), best_along=most)


def chance_of(made: Sequence[Trial], scores: Sequence[Assessment], data: Given, examined: Examination) -> Chance | None:
    """Return the best method's R_NX where it is no larger than on permuted columns; else None.

    Computed only for columns that look unrelated.
    """
    if examined.structure is None or not examined.structure.unrelated or not isinstance(data, Features):
        return None
    best = made[best_of(scores)]
    generator = best.config.compute.generator()
    part = data.take(sample_of(len(data.values), ENOUGH_SEEN // 2, best.config.compute.generator()))
    try:
        own, *others = [r_nx_of(best, one, examined.axes) for one in (part, *(
            replace(part, values=generator.permuted(part.values, axis=0)) for _ in range(COPIES)))]
    except MlcliError:
        return None
    kept_by_few = own > 1 - ENOUGH and examined.axes < part.values.shape[1]  # the other columns hardly vary
    return None if own > max(others) + ENOUGH or kept_by_few else Chance(own, max(others))


def r_nx_of(made: Trial, part: Features, axes: int) -> float:
    """Return R_NX of a trial's method fitted to some points."""
    with no_listeners():
        method = with_axes(made.config, axes).method.resolve(part)
        values = method.fit(part, made.config.compute).embedding
    rows = np.arange(len(part.values))
    return r_nx(assess(Reference(rows, len(rows), 1, input_space(part), None, None), [values])[0])
