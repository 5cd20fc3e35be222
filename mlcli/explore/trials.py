"""What the trials made: their embeddings read back, judged alike, and fitted again to parts of the rows."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, unheard
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, WeightedGraph
from mlcli.config.run_config import RunConfig
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError
from mlcli.explore.examine import Examined
from mlcli.explore.report.ranking import ENOUGH, best_of
from mlcli.explore.report.scores import Judged, Seen, judged
from mlcli.explore.report.verdict import Chance, Surface
from mlcli.explore.settings import Setting, nested, with_axes
from mlcli.findings.dimension import DimensionFinding
from mlcli.findings.frame.likeness import agreement, procrustes, standardized
from mlcli.findings.quality.labels import Labels
from mlcli.findings.quality.measure import clipped
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.methods import METHODS
from mlcli.pipeline.read_run import finished
from mlcli.stages.graph.graph import Graph, graph_of
from mlcli.stages.graph.neighborhoods import nearest_lists
from mlcli.stages.similarities.spaces import GeodesicSpace, Space, input_space

MOST, FEWEST = 1_000, 16  # points that are looked from
WORK, RATE = 2e8, 4e5  # ranks that are computed of all embeddings together at most, and for each second of the budget
CURVES = 250  # points that curves over the number of axes are seen from
ALONG = 5_000  # points up to which distances along the neighbor graph are compared
NEIGHBORS = 12
FEW = 5  # neighbors of the graph along which distances are compared, or as many as connect it: no short circuits
ENOUGH_SEEN = 1_000  # rows in which surfaces are looked for, and half of them for what permuted columns keep
MUCH = 2 / 3  # R_NX from which on axes hold most of a surface
COPIES = 5  # with permuted columns
DRAWS, SHARE = 3, 0.8  # fits to parts of the rows, and how large these are


@frozen
class Made:
    """A trial that came to its end."""

    setting: Setting
    folder: Path
    config: RunConfig
    seconds: float
    values: Array  # n x q, of at least as many axes as are compared where there are so many
    eigenvalues: Sequence[float]
    advice: Mapping[str, Any]  # what rules say of the number of axes
    warnings: Sequence[str]

    def cut(self, axes: int) -> Array:
        """The first axes."""
        return self.values[:, :axes]


def read_back(setting: Setting, folder: Path, config: RunConfig, document: Mapping[str, Any]) -> Made:
    """A trial's run from its files; raises what `finished` does."""
    run = finished(folder)
    spectrum, dimension = SpectrumFinding.of(run), DimensionFinding.of(run) or {}
    eigenvalues = [] if spectrum is None else spectrum.numbers("eigenvalue")
    return Made(setting, folder, config, float(document["seconds"]), run.embedding.values, eigenvalues,
                dimension.get("recommendation") or {}, [item["code"] for item in document["warnings"]])


def ranks_in(budget: float) -> float:
    """How many ranks are computed within a budget (s); never by the clock, so that the same command sees the same."""
    return min(WORK, RATE * budget)


def seen_from(data: Given, compared: Given, table: Table, settings: int, connecting: int,
              generator: np.random.Generator, work: float) -> Seen:
    """The points that embeddings are judged from: all of few, else a seeded sample.

    `connecting` is the number of neighbors that connects the graph.
    """
    size = len(compared.ids)
    count = min(size, MOST, max(FEWEST, int(work / (size * (settings + 1)))))
    anchors = np.arange(size) if count == size else np.sort(generator.choice(size, count, replace=False))
    with unheard():
        classes, near = Labels.first_of(table.labels), clipped(NEIGHBORS, size) or 1
    return Seen(anchors, size, near, input_space(compared, anchors), along(data, compared, max(connecting, FEW)),
                None if classes is None else classes.codes)


def along(data: Given, compared: Given, neighbors: int) -> Space | None:
    """Where distances are lengths of paths on the neighbor graph; None where it is given or in pieces."""
    if len(data.values) > ALONG or isinstance(data, WeightedGraph) or not isinstance(
            compared, Features | Dissimilarities):
        return None
    points = compared.normalized()
    with unheard(), suppress(MlcliError):
        graph: Graph = graph_of(nearest_lists(points, min(neighbors, len(points.values) - 1)), "union")
        if not graph.pieces().any():
            return GeodesicSpace(graph, points.unit, None, Compute())
    return None


def by_axes(seen: Seen, made: Sequence[Made], most: int, work: float) -> list[list[tuple[int, Judged]]]:
    """What is measured of each with 1, 2, ... axes, where its axes are nested; seen from some of the points."""
    cuts = [(place, axes) for place, one in enumerate(made) if nested(one.setting.method)
            for axes in range(1, min(most, one.values.shape[1]) + 1)]
    count = min(CURVES, max(FEWEST, int(work / (seen.size * (len(cuts) + 1)))))
    few = seen.anchors[:: -(-len(seen.anchors) // count)]
    part = Seen(few, seen.size, seen.neighbors, seen.input, None, None)
    found = judged(part, [made[place].cut(axes) for place, axes in cuts]) if cuts else []
    curves: list[list[tuple[int, Judged]]] = [[] for _ in made]
    for (place, axes), one in zip(cuts, found, strict=True):
        curves[place].append((axes, one))
    return curves


@frozen
class Refit:
    """A setting fitted again to parts of the rows, compared with the fit to all."""

    fits: int
    m2: float | None  # mean Procrustes statistic; None where no fit was made
    overlap: float | None  # mean share of neighbors that are the same
    reason: str = ""  # why there are fewer fits than asked for


def refits(made: Sequence[Made], data: Given, axes: int, end: float) -> Iterator[Refit]:
    """Each fitted again to seeded parts of the rows, while that ends in time by its seconds of before."""
    for place, one in enumerate(made):
        yield refitted(one, data, axes, end)
        advance(place + 1, len(made))


def refitted(made: Made, data: Given, axes: int, end: float) -> Refit:
    """One setting fitted again to parts of the rows."""
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


def likeness(made: Made, part: Any, rows: Indices, axes: int) -> tuple[float, float]:
    """Procrustes m² and the share of common neighbors of a fit to some rows and the fit to all."""
    with unheard():
        method = with_axes(made.config, axes).method.resolve(part)
        again = method.fit(part, made.config.compute).embedding
    sides = standardized(again), standardized(made.cut(axes)[rows])
    some = np.arange(len(rows))[:: -(-len(rows) // MOST)]
    near = min(NEIGHBORS, (len(rows) - 1) // 2)
    return procrustes(*sides).m2, agreement(*sides, some, near).overlap


def r_nx(one: Judged, name: str = "r_nx") -> float:
    """The mean of a measure."""
    return float(one.scores[name].mean())


def surface_of(made: Sequence[Made], scores: Sequence[Judged], curves: Sequence[Sequence[tuple[int, Judged]]],
               data: Given, axes: int, connecting: int) -> Surface | None:
    """Axes of a linear method that hold all neighborhoods, where no method holds most of them with those compared,
    nor as many along the neighbor graph, as one that unrolls the surface would.
    """
    linear = next((place for place, one in enumerate(made) if METHODS[one.setting.method].baseline), None)
    best = best_of(scores)
    if linear is None or r_nx(scores[best]) >= MUCH:
        return None
    count = next((count for count, one in curves[linear] if count > axes and r_nx(one) > 1 - ENOUGH), None)
    take = getattr(data, "take", None)
    if count is None or take is None:
        return None
    rows = rows_of_sample(made[linear], len(data.values), ENOUGH_SEEN)
    part = take(rows)
    compared = made[linear].config.method.with_metric(part) if data.kind == "features" else part
    graph = along(part, compared, max(connecting, FEW))
    if graph is None:
        return None
    seen = Seen(np.arange(len(rows)), len(rows), 1, input_space(compared), graph, None)
    *others, whole = judged(seen, [*(one.cut(axes)[rows] for one in made), made[linear].cut(count)[rows]])
    most = max(r_nx(one, "geodesic_r_nx") for one in others)
    if r_nx(whole, "geodesic_r_nx") <= most + ENOUGH:
        return None
    return Surface(linear=linear, axes=count, kept=r_nx(whole), along=r_nx(whole, "geodesic_r_nx"), best=best,
                   best_kept=r_nx(scores[best]), best_along=most)


def chance_of(made: Sequence[Made], scores: Sequence[Judged], data: Given, examined: Examined) -> Chance | None:
    """What the best method keeps, where it keeps no more than of permuted columns; only of columns that look unrelated.
    """
    if examined.structure is None or not examined.structure.unrelated or not isinstance(data, Features):
        return None
    best = made[best_of(scores)]
    generator = best.config.compute.generator()
    part = data.take(rows_of_sample(best, len(data.values), ENOUGH_SEEN // 2))
    try:
        own, *others = [kept_of(best, one, examined.axes) for one in (part, *(
            replace(part, values=generator.permuted(part.values, axis=0)) for _ in range(COPIES)))]
    except MlcliError:
        return None
    kept_by_few = own > 1 - ENOUGH and examined.axes < part.values.shape[1]  # the others hardly vary
    return None if own > max(others) + ENOUGH or kept_by_few else Chance(own, max(others))


def kept_of(made: Made, part: Features, axes: int) -> float:
    """R_NX of a method's fit to some points."""
    with unheard():
        method = with_axes(made.config, axes).method.resolve(part)
        values = method.fit(part, made.config.compute).embedding
    rows = np.arange(len(part.values))
    return r_nx(judged(Seen(rows, len(rows), 1, input_space(part), None, None), [values])[0])


def rows_of_sample(made: Made, count: int, most: int) -> Indices:
    """All rows, or a seeded sample of so many."""
    return np.arange(count) if count <= most else np.sort(
        made.config.compute.generator().choice(count, most, replace=False))
