"""What the trials made: their embeddings read back, judged alike, and fitted again to parts of the rows."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
from mlcli.explore.report.scores import Judged, Seen, judged
from mlcli.explore.settings import Setting, nested, with_axes
from mlcli.findings.likeness import agreement, procrustes, standardized
from mlcli.findings.quality.labels import Labels
from mlcli.findings.quality.measure import clipped
from mlcli.pipeline.read_run import finished
from mlcli.stages.graph.graph import Graph, graph_of
from mlcli.stages.graph.neighborhoods import nearest_lists
from mlcli.stages.similarities.spaces import GeodesicSpace, Space, input_space

MOST, FEWEST = 1_000, 64  # points that are looked from
WORK = 2e8  # ranks that are computed of all embeddings together
CURVES = 250  # points that curves over the number of axes are seen from
ALONG = 5_000  # points up to which distances along the neighbor graph are compared
NEIGHBORS = 12
FEW = 5  # neighbors of the graph along which distances are compared, or as many as connect it: no short circuits
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
    eigenvalues = [] if run.spectrum is None else run.spectrum.numbers("eigenvalue")
    return Made(setting, folder, config, float(document["seconds"]), run.embedding.values, eigenvalues,
                (run.dimension or {}).get("recommendation") or {}, [item["code"] for item in document["warnings"]])


def seen_from(data: Given, compared: Given, table: Table, settings: int, connecting: int,
              generator: np.random.Generator) -> Seen:
    """The points that embeddings are judged from: all of few, else a seeded sample.

    `connecting` is the number of neighbors that connects the graph.
    """
    size = len(compared.ids)
    count = min(size, MOST, max(FEWEST, int(WORK / (size * (settings + 1)))))
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


def by_axes(seen: Seen, made: Sequence[Made], most: int) -> list[list[tuple[int, Judged]]]:
    """What is measured of each with 1, 2, ... axes, where its axes are nested; seen from some of the points."""
    cuts = [(place, axes) for place, one in enumerate(made) if nested(one.setting.method)
            for axes in range(1, min(most, one.values.shape[1]) + 1)]
    count = min(CURVES, max(FEWEST, int(WORK / (seen.size * (len(cuts) + 1)))))
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
