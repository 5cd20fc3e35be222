"""The fuzzy graph of an input, and the start of its layout by negative sampling."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.stages.stage import running
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import AffinityGraph, Features, Joined, Labeled, WeightedGraph
from mlcli.base.values.missing import present_cells
from mlcli.errors import ConfigError, GeometryError
from mlcli.stages.chain.layouts import eigenmap_start
from mlcli.stages.chain.starts import principal_scores
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.nearest import Lists, sort_lists
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.layout.memberships import fuzzy_graph, intersect_classes

REACH, JITTER = 10.0, 1e-4  # extent of a start on each axis, and noise that parts equal points, as in umap-learn


def fuzzy_graph_of(data: Joined, lists: Lists, connectivity: float, mix: float) -> Graph:
    """Return the graph of memberships of the data, by its lists of neighbors or of edges, or its given affinities."""
    return Graph(data.starts, data.indices, data.weights) if isinstance(data, AffinityGraph) else fuzzy_graph(
        lists, connectivity, mix)


def lists_of(data: Joined, neighbors: Nearest) -> Lists:
    """Return the nearest neighbors of every point, or those to which a graph has edges.

    Raises GeometryError for a graph without edges, and where all points are equal.
    """
    if isinstance(data, WeightedGraph) and not len(data.indices):
        raise GeometryError("NO-EDGES", f"the graph of {len(data.values)} points has no edge, so none is near another",
                            hint="check that the right column or matrix was read")
    if not isinstance(data, WeightedGraph):
        return neighbors.lists(data)
    rows = np.repeat(np.arange(len(data.values)), np.diff(data.starts))
    return sort_lists(len(data.values), rows, data.indices, data.weights)


def known_classes(labels: Sequence[str]) -> Indices:
    """Return the class of each row from 0 (n), in alphabetical order, and -1 for a row without label.

    Raises GeometryError for fewer than two classes.
    """
    there = present_cells(labels)
    names, classes = np.unique(np.asarray(labels)[there], return_inverse=True)
    if len(names) < 2:
        raise GeometryError("ONE-CLASS", "the labels name one class only" if len(names) else "no row has a label",
                            where="input.label_columns", hint="name two classes, or leave target_weight out")
    found = np.full(len(labels), -1)
    found[there] = classes
    return found


def class_graph(graph: Graph, data: Labeled, weight: float) -> Graph:
    """Return the graph of memberships intersected with the classes of the data, at a weight from 0 to 1.

    Raises GeometryError for fewer than two classes, and where no edge is left.
    """
    found = intersect_classes(graph, known_classes(data.labels), weight)
    if not found.edges:
        raise GeometryError("NO-EDGES", "no neighbors share a class, so their graph has no edge",
                            hint="choose a target_weight below 1, or labels that name classes")
    return found


def start_points(data: Joined, graph: Graph, kind: str, axes: int, generator: np.random.Generator,
                 given: Array | None = None) -> Array:
    """Return first coordinates (n x axes), from 0 to REACH on each axis: of this kind, or those `given` (n x axes).

    Raises ConfigError for principal components without features.
    """
    size = graph.size
    if given is not None:
        points = given - given.mean(axis=0)
    elif kind == "pca":
        if not isinstance(data, Features):
            raise ConfigError("START", "principal components need features", where="method.start",
                              hint="choose spectral or random")
        scores = principal_scores(data.values)[:, :axes]
        points = np.pad(scores, ((0, 0), (0, axes - scores.shape[1])))
    elif kind == "spectral":
        points = eigenmap_start(graph, axes, int(generator.integers(2**62)))
    else:
        points = generator.uniform(-REACH, REACH, (size, axes))
    with running("prepare"):
        top = float(np.abs(points).max(initial=0.0))
        points = points * (REACH / top if top > 0 else 0.0) + generator.normal(scale=JITTER, size=points.shape)
        low = points.min(axis=0)
        extent = points.max(axis=0) - low
        return np.asarray(REACH * (points - low) / np.where(extent > 0, extent, 1.0))
