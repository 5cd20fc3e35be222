"""The neighbor graph that a model holds, against distances computed again from the input."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.blocks import in_order, row_blocks
from mlcli.base.check import EPS, Check, count, ratio, skipped
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Dissimilarities
from mlcli.base.scaling import BLOCK
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.certify.budget import Budget
from mlcli.certify.kernel import ROOM
from mlcli.certify.recompute import CACHED, NARROW, squared
from mlcli.certify.subject import Subject
from mlcli.certify.witness import NUMBER, shortest
from mlcli.stages.graph.graph import Graph
from mlcli.stages.graph.neighbors import Neighbors

EDGE = 1e-7  # seconds for the length of one edge


@frozen
class Near:
    """Who is near whom among all rows that were given, found by looking at every pair."""

    subject: Subject
    neighbors: Neighbors
    radius: float | None

    def squares(self, rows: Indices) -> Array:
        """Squared distances from some of the embedded rows to all that were given; infinite to themselves."""
        own = rows if self.subject.model.kept is None else self.subject.model.kept[rows]
        values = self.subject.given.values  # type: ignore[union-attr]
        given = isinstance(self.subject.given, Dissimilarities)
        found = values[own] ** 2 if given else squared(values[own], values)
        found[np.arange(len(own)), own] = np.inf
        return found

    def reach(self, squares: Array) -> Array:
        """How far the neighbors of each row may be, squared: the k-th nearest, or the radius."""
        if self.radius is not None:
            return np.full(len(squares), self.radius**2)
        k = min(self.neighbors.count or 1, squares.shape[1] - 1)
        return np.partition(squares, k - 1, axis=1)[:, k - 1]

    def rounding(self, squares: Array) -> Array | float:
        """What two ways of computing a squared distance may differ by."""
        narrow = self.subject.given.values.shape[1] <= NARROW  # type: ignore[union-attr]
        if isinstance(self.subject.given, Dissimilarities) or narrow:
            return 64 * EPS * squares
        return 256 * EPS * float(squares[np.isfinite(squares)].max(initial=0.0))

    def few(self, asked: AnyArray) -> Indices:
        """A few of the points asked for (m x n) that were embedded."""
        columns, kept = np.flatnonzero(asked.any(axis=0)), self.subject.model.kept
        inside = columns if kept is None else columns[np.isin(columns, kept)]
        return inside[: max(4, 2 * len(asked))]

    def numbers(self, columns: Indices) -> Indices:
        """The places of some points given among those embedded."""
        return columns if self.subject.model.kept is None else np.searchsorted(self.subject.model.kept, columns)

    def affordable(self, budget: Budget, share: float) -> Indices:
        """Rows to look at, all of them where there is time."""
        rows, columns = self.subject.given.values.shape  # type: ignore[union-attr]
        wide = 1 if isinstance(self.subject.given, Dissimilarities) else min(columns, NARROW)
        size = self.subject.size
        chosen = budget.affordable(share, (NUMBER * wide + 8e-8) * rows, size, least=4)
        chosen = min(chosen, size if budget.full else max(ROOM // rows, 1))
        generator = np.random.default_rng(self.subject.seed + 2)
        return np.arange(size) if chosen == size else np.sort(generator.choice(size, chosen, replace=False))


def graph_checks(subject: Subject, graph: Graph, near: Near, rule: str, budget: Budget) -> Iterator[Check]:
    """All checks of this page."""
    yield _shape(graph, subject.size)
    if graph.size != subject.size:
        return
    yield _lengths(subject, graph, budget)
    rows = near.affordable(budget, 0.2)
    yield _neighbors(graph, near, rows, rule)


def graph_facts(graph: Graph) -> dict[str, int]:
    """Edges, pieces and degrees."""
    degrees = np.diff(graph.starts)
    return {"vertices": graph.size, "edges": graph.edges, "pieces": int(graph.pieces().max(initial=0)) + 1,
            "least_degree": int(degrees.min(initial=0)), "largest_degree": int(degrees.max(initial=0))}


def _shape(graph: Graph, size: int) -> Check:
    """The graph has a vertex for every row, is undirected, without loops, and in one piece."""
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    there, back = rows * graph.size + graph.indices, graph.indices * graph.size + rows
    order, turned = np.argsort(there, kind="stable"), np.argsort(back, kind="stable")
    wrong = abs(graph.size - size) + int(np.sum(rows == graph.indices))
    wrong += int(np.sum(there[order] != back[turned])) + int(np.sum(graph.lengths[order] != graph.lengths[turned]))
    wrong += int(np.sum(~np.isfinite(shortest(graph, np.zeros(1, dtype=np.int64))))) if graph.size else 0
    return count("graph", wrong, "edges that go one way, loops, vertices without a row, and those in other pieces")


def _lengths(subject: Subject, graph: Graph, budget: Budget) -> Check:
    """An edge is as long as its ends are apart in the input."""
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    values = subject.data.values
    wide = 1 if isinstance(subject.data, Dissimilarities) else values.shape[1]
    few = budget.affordable(0.08, EDGE + 4e-9 * wide, len(rows), least=64)
    chosen = np.arange(len(rows)) if few == len(rows) else np.sort(
        np.random.default_rng(subject.seed).choice(len(rows), few, replace=False))
    left, right, lengths = rows[chosen], graph.indices[chosen], graph.lengths[chosen]
    if isinstance(subject.data, Dissimilarities):
        found = values[left, right]
    else:
        found = np.empty(len(left))
        for start in range(0, len(left), step := max(1, CACHED // wide)):
            part = slice(start, start + step)
            gaps = values[left[part]] - values[right[part]]
            found[part] = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    gap, scale = np.abs(found - lengths), EPS * (8 + np.sqrt(wide)) * np.maximum(found, lengths)
    worst = int(np.argmax(gap - 10 * scale)) if len(gap) else 0
    return ratio("edge lengths", float(gap[worst]) if len(gap) else 0.0, float(scale[worst]) if len(gap) else 1.0,
                 "lengths of edges are distances in the input", exact=few == len(rows))


def _neighbors(graph: Graph, near: Near, rows: Indices, rule: str) -> Check:
    """Every near point is joined, and every joined point is near, for rows looked at in full."""
    joined, kept = _joined(graph, near, rows), near.subject.model.kept
    whole = len(rows) == graph.size and kept is None
    one_sided = whole or near.radius is not None
    ahead = near.few(joined if rule == "union" and not one_sided else joined[:0])
    found = near.squares(np.concatenate([rows, near.numbers(ahead)]))  # one look at all points for both sides
    squares, across = found[: len(rows)], found[len(rows) :]
    rough, reach = near.rounding(squares), near.reach(squares)
    surely = squares < reach[:, None] - rough
    perhaps = squares <= reach[:, None] + rough
    if one_sided:
        other = (surely.T, perhaps.T) if near.radius is None else (surely, perhaps)
    else:
        if rule == "mutual":
            ahead = near.few(joined | perhaps)
            across = near.squares(near.numbers(ahead))
        other = _from_the_other_side(near, ahead, across, squares, rough)
    missing, extra = _disagreement(rule if near.radius is None else "union", joined, (surely, perhaps), other)
    if near.radius is None and rule == "union":
        short = np.maximum((near.neighbors.count or 1) - (joined & perhaps).sum(axis=1), 0)
        missing += int(short.sum())
    if near.neighbors.pieces == "connect":
        extra = 0  # links between pieces are longer than any neighbor
    return count("neighbors", missing + extra, f"neighbors that are not joined: {missing}; joined points that are not "
                 f"neighbors: {extra}; every pair of {len(rows)} rows", exact=whole or len(rows) == graph.size)


def _joined(graph: Graph, near: Near, rows: Indices) -> AnyArray:
    """Which of the points given the rows are joined to (m x n)."""
    kept, size = near.subject.model.kept, len(near.subject.given.values)  # type: ignore[union-attr]
    joined = np.zeros((len(rows), size), dtype=bool)
    columns = np.concatenate([graph.indices[graph.starts[i] : graph.starts[i + 1]] for i in rows])
    joined[np.repeat(np.arange(len(rows)), np.diff(graph.starts)[rows]),
           columns if kept is None else kept[columns]] = True
    return joined


def _disagreement(rule: str, joined: AnyArray, one: tuple[AnyArray, AnyArray],
                  other: tuple[AnyArray, AnyArray]) -> tuple[int, int]:
    """How many points are missing among the joined, and how many are too many, by who surely and perhaps is near."""
    (surely, perhaps), (other_surely, other_perhaps) = one, other
    if rule == "mutual":
        return int(np.sum(surely & other_surely & ~joined)), int(np.sum(joined & ~(perhaps & other_perhaps)))
    return int(np.sum(surely & ~joined)), int(np.sum(joined & ~(perhaps | other_perhaps)))


def _from_the_other_side(near: Near, few: Indices, across: Array, squares: Array,
                         rough: Array | float) -> tuple[AnyArray, AnyArray]:
    """Whether a few points see the rows as neighbors, by their own distances; others surely not, and perhaps."""
    surely, perhaps = np.zeros(squares.shape, dtype=bool), np.ones(squares.shape, dtype=bool)
    reach, part = near.reach(across), squares[:, few]
    bound = rough[:, few] if isinstance(rough, np.ndarray) else rough
    surely[:, few], perhaps[:, few] = part < reach - bound, part <= reach + bound
    return surely, perhaps


def stored_points(subject: Subject) -> Check:
    """The points that new ones are compared with are the input's."""
    similarity = subject.projector.similarity
    points = getattr(similarity, "points", None)
    if points is None:
        return skipped("points", "the model holds no points")
    part = len(points) == len(subject.fit) != subject.size
    own = subject.data.values[subject.fit] if part else subject.data.values
    origin = getattr(similarity, "origin", None)

    def wrong_in(rows: slice) -> int:
        return int(np.sum((points[rows] != (own[rows] if origin is None else own[rows] - origin)).any(axis=1)))

    if points.shape != own.shape:
        wrong = len(points)
    elif origin is None and points is own:
        wrong = 0  # found to be the same already, when the data was taken to the model's units
    else:
        wrong = sum(in_order(wrong_in, row_blocks(len(points), BLOCK, points.shape[1])))
    wrong += int(np.sum(subject.fit < 0))
    return count("points", wrong, "points in the model that are not the input's")
