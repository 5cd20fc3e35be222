"""The certificate of costs on neighborhoods, computed again: weights, tangent spaces, and RᵀR Y = Y / λ; and of linear
functions of least cost.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, later, ratio, skipped
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.certify.chains import chain_checks
from mlcli.certify.eigen import count_check
from mlcli.certify.graph import adjacency, neighbor_check
from mlcli.certify.linearization import Costs, Root, linearization_checks
from mlcli.certify.projection import weight_tolerance
from mlcli.certify.subject import Subject, max_abs, tie_width
from mlcli.core.chain.stages import Stages
from mlcli.core.check.metrics import bounded_distances
from mlcli.core.graph.search import Lists
from mlcli.core.metrics.distances import is_euclidean, metric_of

ROOM = 2**18  # numbers of the local systems solved in one block


def residual_matrix(data: Spatial, lists: Lists, ridge: float) -> tuple[Any, float]:
    """Return I - W, a sparse (n, n) array with weights solved again, and the largest share of rounding.

    Points with equally many neighbors are solved in blocks. The share is that of a metric's rounding in a local system.
    """
    from scipy import sparse

    weights, size, points, rough = np.empty(len(lists.indices)), len(data.values), data.values, 0.0
    for width in np.unique(lists.counts).tolist():
        rows = np.flatnonzero(lists.counts == width)
        step = max(1, ROOM // max(width * (width + (points.shape[1] if is_euclidean(data) else 0)), 1))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            entries = lists.starts[part][:, None] + np.arange(width)
            weights[entries], share = weights_of(data, part, lists.indices[entries], ridge)
            rough = max(rough, share)
    return sparse.eye_array(size, format="csr") - sparse.csr_array(
        (weights, lists.indices, lists.starts), shape=(size, size)), rough


def weights_of(data: Spatial, rows: Indices, names: Indices, ridge: float) -> tuple[Array, float]:
    """Return the weights of points (m) over their neighbors (m x k), and the largest share of a metric's rounding."""
    if is_euclidean(data):
        return solve_weights(data.values[rows], data.values[names], ridge), 0.0
    return solve_weights_by_distances(data, np.column_stack([rows, names]), ridge)


def solve_weights_by_distances(data: Spatial, names: Indices, ridge: float) -> tuple[Array, float]:
    """Return weights (V (Λ₊ + r)⁻¹ Vᵀ) 1, an (m, k) array, and the largest share of rounding in a local system.

    `names` is an (m, 1 + k) array: points, then their neighbors. The share is the norm of a system's errors over its
    trace.
    """
    weights, rough = np.empty((len(names), names.shape[1] - 1)), 0.0
    for place, some in enumerate(names):
        if isinstance(data, Dissimilarities):
            squares = data.values[np.ix_(some, some)] ** 2
        else:
            found = bounded_distances(metric_of(data), data.values[some], data.values[some])
            squares, errors = found.distances**2, (2 * found.distances + found.errors) * found.errors
            if trace := float(squares[0].sum()):  # equal points have equal weights
                rough = max(rough, float(np.linalg.norm(errors)) / trace)
        values, vectors = np.linalg.eigh((squares[:1, 1:] + squares[1:, :1] - squares[1:, 1:]) / 2)
        kept = np.maximum(values, 0.0)
        row = vectors @ (vectors.sum(axis=0) / (kept + ridge * (kept.sum() or 1.0)))
        weights[place] = row / row.sum()
    return weights, rough


def solve_weights(points: Array, neighbors: Array, ridge: float) -> Array:
    """Return the weights of points over their neighbors, an (m, k) array, by solving the local systems.

    `points` is an (m, d) array, `neighbors` an (m, k, d) array. Source: Saul and Roweis, 2003.
    """
    gaps = neighbors - points[:, None, :]
    grams = gaps @ gaps.transpose(0, 2, 1)
    traces = np.trace(grams, axis1=1, axis2=2)
    grams += np.eye(grams.shape[1]) * (ridge * np.where(traces > 0, traces, 1.0))[:, None, None]
    weights = np.linalg.solve(grams, np.ones((*grams.shape[:2], 1)))[..., 0]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def reconstruction_error(data: Spatial, matrix: Any) -> tuple[float, float]:
    """Return Σ ‖xᵢ - Σ w xⱼ‖² by I - W, a sparse (n, n) array, and the size of the sums that it is a difference of.

    By distances it is Σ λ (v · w)² over the positive eigenvalues λ of each point's Gram matrix.
    """
    if is_euclidean(data):
        centered = data.values - data.values.mean(axis=0)
        return float(np.square(matrix @ centered).sum()), float(np.square(abs(matrix) @ abs(centered)).sum())
    total = size = 0.0
    for place in range(matrix.shape[0]):
        row = slice(matrix.indptr[place], matrix.indptr[place + 1])
        others = matrix.indices[row] != place
        names, weights = matrix.indices[row][others], -matrix.data[row][others]
        some = np.append(place, names)
        squares = data.values[np.ix_(some, some)] ** 2 if isinstance(data, Dissimilarities) else bounded_distances(
            metric_of(data), data.values[some], data.values[some]).distances ** 2
        values, vectors = np.linalg.eigh((squares[:1, 1:] + squares[1:, :1] - squares[1:, 1:]) / 2)
        total += float(np.maximum(values, 0.0) @ (vectors.T @ weights) ** 2)
        size += float(np.abs(values).max(initial=0.0) * np.square(weights).sum())
    return total, size


SLACK = 8.0  # roundings by which two decompositions differ


@frozen
class NeighborhoodAxes:
    """Neighborhoods with equally many members, and their principal axes."""

    rows: Indices  # m: the points that the neighborhoods belong to
    names: Indices  # m x k: the members
    coordinates: Array  # m x k x q: orthonormal
    lengths: Array  # m x q: descending, none below zero
    zero: Array  # m: the length up to which an axis is rounding
    errors: Array  # m: of the longest length
    squared: bool  # whether errors of other lengths are those of their squares

    def gaps(self, longer: Array, shorter: Array) -> Array:
        """Return the gaps of lengths (m), as errors compare with them."""
        first = np.where(self.lengths[:, 0] > 0, self.lengths[:, 0], 1.0)
        return (longer - shorter) * ((longer + shorter) / first if self.squared else 1.0)


@frozen
class TangentSpaces:
    """Tangent spaces of neighborhoods."""

    names: Indices  # m x k
    coordinates: Array  # m x k x p, orthonormal; zero beyond the axes that a neighborhood spans
    ranks: Indices  # m
    unsure: Array  # m: the error of the projection; one where axes are as long as others, or nearly rounding

    @property
    def affine(self) -> Array:
        """Projections onto affine functions (m x k x k)."""
        products = self.coordinates @ self.coordinates.transpose(0, 2, 1)
        return np.asarray(products + 1 / self.names.shape[1])


def spreads_of(data: Spatial, lists: Lists, *, own: bool = False) -> Iterator[NeighborhoodAxes]:
    """Yield all neighborhoods in blocks, those of points by right singular vectors, others by their Gram matrices.

    Axes are those of differences to the mean of the members, or to the point itself (`own`).
    """
    by_points = is_euclidean(data)
    for width in np.unique(lists.counts).tolist():
        same = np.flatnonzero(lists.counts == width)
        step = max(1, ROOM // max(width * (width + by_points * data.values.shape[1]), 1))
        for start in range(0, len(same), step):
            rows = same[start : start + step]
            names = lists.indices[lists.starts[rows][:, None] + np.arange(width)]
            yield _of_points(data.values, rows, names, own) if by_points else _of_distances(data, rows, names, own)


def _of_points(points: Array, rows: Indices, names: Indices, own: bool) -> NeighborhoodAxes:
    """Return the axes of points (n x d): their projections on right singular vectors, made orthonormal."""
    members = points[names]
    centered = members - (points[rows][:, None] if own else members.mean(axis=1, keepdims=True))
    _, lengths, right = np.linalg.svd(centered, full_matrices=False)
    zero = EPS * max(members.shape[1:]) * np.abs(members).max(axis=(1, 2), initial=0.0)
    projected = centered @ right.transpose(0, 2, 1)
    errors = zero + SLACK * EPS * names.shape[1] * lengths[:, 0]
    return NeighborhoodAxes(rows, names, np.asarray(np.linalg.qr(projected)[0]), lengths, zero=zero, errors=errors,
                            squared=False)


def _of_distances(data: Spatial, rows: Indices, names: Indices, own: bool) -> NeighborhoodAxes:
    """Return the axes of members (m x k) that are known by their distances, from Gram matrices about the first."""
    asked = np.column_stack([rows, names]) if own else names
    squares, rough = np.empty((*asked.shape, asked.shape[1])), np.zeros(len(names))
    for place, some in enumerate(asked):
        if isinstance(data, Dissimilarities):
            squares[place] = data.values[np.ix_(some, some)] ** 2
            continue
        found = bounded_distances(metric_of(data), data.values[some], data.values[some])
        squares[place] = found.distances**2
        rough[place] = np.linalg.norm((2 * found.distances + found.errors) * found.errors)
    grams = (squares[:, :1] + squares[:, :, :1] - squares) / 2
    if own:
        grams = grams[:, 1:, 1:]
    else:
        grams -= grams.mean(axis=1, keepdims=True)
        grams -= grams.mean(axis=2, keepdims=True)
    values, vectors = np.linalg.eigh((grams + grams.transpose(0, 2, 1)) / 2)
    lengths = np.sqrt(np.maximum(values[:, ::-1], 0.0))
    zero = np.sqrt(EPS * names.shape[1] * squares.max(axis=(1, 2), initial=0.0))
    first = np.where(lengths[:, 0] > 0, lengths[:, 0], 1.0)
    return NeighborhoodAxes(rows, names, vectors[:, :, ::-1], lengths, zero=zero,
                            errors=(rough + SLACK * zero**2) / first,
                            squared=True)


def tangent_spaces(spread: NeighborhoodAxes, dimension: int) -> TangentSpaces:
    """Return the tangent spaces of a dimension, and how sure they are.

    The projection onto the axes has the error of a length over the gap to the next.
    """
    lengths, places = spread.lengths, np.arange(len(spread.lengths))
    count = min(dimension, lengths.shape[1])
    ranks = np.minimum((lengths > spread.zero[:, None]).sum(axis=1), dimension)
    last = lengths[places, np.maximum(ranks, 1) - 1]
    after = np.where(ranks < lengths.shape[1], lengths[places, np.minimum(ranks, lengths.shape[1] - 1)], 0.0)
    gaps = spread.gaps(last, after)
    unsure = np.divide(spread.errors, gaps, out=np.ones_like(gaps), where=gaps > 0)
    unsure = np.where(ranks > 0, unsure, 0.0) + SLACK * EPS * spread.names.shape[1]
    near = np.abs(lengths[:, :count] - spread.zero[:, None]) <= (spread.zero / 2 + spread.errors)[:, None]
    unsure = np.where((near & (lengths[:, :count] > 0)).any(axis=1), 1.0, unsure)
    coordinates = np.where((np.arange(count) < ranks[:, None])[:, None, :], spread.coordinates[:, :, :count], 0.0)
    return TangentSpaces(spread.names, coordinates, ranks, np.minimum(unsure, 1.0))


FLAT = 1e-10  # share of the products' size up to which they add nothing to affine functions
CLEAR = 1e-10  # share of their square from which on it is clear that they do
Part = tuple[Array, Indices, Array]  # rows (m x s x k), the points that they are of (m x k), and their errors (m)


def tangent_root(data: Spatial, lists: Lists, kernel: Any, axes: int) -> Root:
    """Return I - 11ᵀ/k - UUᵀ of each neighborhood, a projection and so its own root, as k rows."""
    parts = []
    for spread in spreads_of(data, lists):
        spaces = tangent_spaces(spread, kernel.dimension or axes)
        parts.append((np.eye(spread.names.shape[1]) - spaces.affine, spaces.names, spaces.unsure))
    return stack([*parts, *_of_strangers(data, lists, kernel.ridge)], len(data.values))


def hessian_root(data: Spatial, lists: Lists, kernel: Any, axes: int) -> Root:
    """Return what products of tangent coordinates add to affine functions, orthonormal by the Gram matrix of these."""
    parts = []
    for spread in spreads_of(data, lists):
        spaces = tangent_spaces(spread, dimension := kernel.dimension or axes)
        off = np.eye(spread.names.shape[1]) - spaces.affine
        left, right = np.triu_indices(spaces.coordinates.shape[2])
        products = spaces.coordinates[:, :, left] * spaces.coordinates[:, :, right]
        added = off @ products
        values, turns = np.linalg.eigh(added.transpose(0, 2, 1) @ added)
        total = np.einsum("mii->m", products.transpose(0, 2, 1) @ products)[:, None]
        shares = values / np.where(total > 0, total, 1.0)
        rows = (added @ turns).transpose(0, 2, 1)
        norms = np.linalg.norm(rows, axis=2, keepdims=True)
        rows = np.where((shares > FLAT**2)[:, :, None], rows / np.where(norms > 0, norms, 1.0), 0.0)
        # rounding of affine functions counts relative to the least of what is added; of squares, where it is small
        clear = np.where(shares > CLEAR, shares, np.inf).min(axis=1)
        unsure = spaces.unsure / np.sqrt(clear) + EPS * spread.names.shape[1] / clear
        unsure = np.where(((shares <= CLEAR) & (shares > 0)).any(axis=1), 1.0, unsure)
        fewer = spaces.ranks < dimension  # these have all functionals that vanish on affine functions
        for some, wanted in ((fewer, off), (~fewer, rows)):
            if some.any():
                parts.append((wanted[some], spaces.names[some], np.minimum(np.where(
                    fewer, spaces.unsure, unsure)[some], 1.0)))
    pairs = {(min(a, b), max(a, b)) for a, b, far in zip(lists.rows.tolist(), lists.indices.tolist(),
                                                         lists.lengths.tolist(), strict=True) if far == 0}
    equal = [(np.array([[[1.0, -1.0]]]), np.array([pair]), np.zeros(1)) for pair in sorted(pairs)]
    return stack([*parts, *_of_strangers(data, lists, kernel.ridge), *equal], len(data.values))


def _of_strangers(data: Spatial, lists: Lists, ridge: float) -> list[Part]:
    """Return the weights of points that are in no neighborhood, solved again, as rows that take the point itself."""
    parts = []
    for place in np.setdiff1d(np.arange(len(lists.counts)), lists.indices).tolist():
        names = lists.indices[lists.starts[place] : lists.starts[place + 1]]
        mine, rough = weights_of(data, np.array([place]), names[None], ridge)
        parts.append((np.column_stack([[1.0], -mine])[:, None, :], np.append(place, names)[None],
                      np.array([(EPS + rough) / ridge])))
    return parts


def stack(parts: list[Part], columns: int) -> Root:
    """Return the root of rows (m x s x k) on members (m x k) with errors (m)."""
    from scipy import sparse

    values, wide, lengths, each, counts, errors = [], [], [], [], [], []
    for rows, names, unsure in parts:
        values.append(rows.ravel())
        wide.append(np.repeat(names[:, None, :], rows.shape[1], axis=1).ravel())
        lengths.append(np.full(rows.shape[0] * rows.shape[1], rows.shape[2]))
        each.append(names.ravel())
        counts.append(np.full(len(names), names.shape[1]))
        errors.append(unsure)
    starts, firsts = (np.concatenate([[0], np.cumsum(np.concatenate(some))]) for some in (lengths, counts))
    matrix = sparse.csr_array((np.concatenate(values), np.concatenate(wide), starts), shape=(len(starts) - 1, columns))
    ends = np.concatenate(each)
    members = sparse.csr_array((np.ones(len(ends)), ends, firsts), shape=(len(firsts) - 1, columns))
    return Root(matrix, EPS, members, np.concatenate(errors))


SAME = 1e-10  # relative difference up to which the share of an axis is the median
NEAR = 1e-8  # relative difference up to which rounding decides between them


def several_weights_root(data: Spatial, lists: Lists, kernel: Any, axes: int) -> Root:
    """Return rows of each point: its value less the mean of its weighted means, and projections off that mean.

    With Q the projection onto the last s axes and q = Q1, the weight vectors are, turned so that the first one is their
    sum over √s: (q / α + (1 - α) s w') / √s with α = ‖q‖ / √s, and an orthonormal basis of the range of Q - qqᵀ/‖q‖²,
    for which this projection itself stands.
    """
    found = list(spreads_of(data, lists, own=True))
    values = [np.where(some.lengths > some.zero[:, None], some.lengths, 0.0) ** 2 for some in found]
    dimension = kernel.dimension or axes
    within = [some[:, :dimension].sum(axis=1) for some in values]
    most = float(np.median(np.concatenate([
        some[:, dimension:].sum(axis=1) / np.where(part > 0, part, 1.0)
        for some, part in zip(values, within, strict=True)])))
    return stack([_rows(some, sizes, most, kernel.ridge) for some, sizes in zip(found, values, strict=True)],
                 len(data.values))


def _rows(spread: NeighborhoodAxes, values: Array, most: float, ridge: float) -> Part:
    """Return rows (m x (k + 1) x (k + 1)) over each point and its neighbors."""
    size, count = spread.names.shape
    sizes = np.pad(values, ((0, 0), (0, count - values.shape[1])))
    total = sizes.sum(axis=1, keepdims=True)
    shares = np.array([[part[-last:].sum() / (part[:-last].sum() or 1.0) for last in range(1, count)]
                       for part in sizes]).reshape(size, count - 1)
    vectors = np.where(sizes[:, 0] > 0, np.maximum((shares <= most * (1 - SAME)).sum(axis=1), 1), count)
    kept = np.arange(spread.coordinates.shape[2]) < (count - vectors)[:, None]
    first = np.where(kept[:, None, :], spread.coordinates, 0.0)
    last = np.eye(count) - first @ first.transpose(0, 2, 1)
    sums = last.sum(axis=2)
    lengths = np.linalg.norm(sums, axis=1)
    alpha, safe = lengths / np.sqrt(vectors), np.where(lengths > 0, lengths, 1.0)
    turned = spread.coordinates.transpose(0, 2, 1) @ np.ones(count)
    damping = ridge * np.where(total > 0, total, 1.0)
    less = turned * (values / damping / (values + damping))
    regular = 1 / damping - np.einsum("mkq,mq->mk", spread.coordinates, less)  # (G + r)⁻¹ 1
    regular /= regular.sum(axis=1, keepdims=True)
    mean = sums / safe[:, None] + ((1 - alpha) * np.sqrt(vectors))[:, None] * regular
    rows = np.zeros((size, count + 1, count + 1))
    rows[:, 0, 0], rows[:, 0, 1:] = np.sqrt(vectors), -mean
    rows[:, 1:, 1:] = last - sums[:, :, None] * (sums / safe[:, None] ** 2)[:, None, :]
    errors = _errors(spread, sizes, shares, vectors, most) / np.maximum(alpha, EPS) + EPS * count / ridge
    cost = 2 * np.square(rows).sum(axis=(1, 2))  # of two computations, where all is in doubt
    return rows, np.column_stack([spread.rows, spread.names]), np.minimum(errors, 1.0) * cost


def _errors(spread: NeighborhoodAxes, sizes: Array, shares: Array, vectors: Array, most: float) -> Array:
    """Return the errors of projections (m); one where rounding decides how many axes are the last."""
    size, count = spread.names.shape
    places, roots = np.arange(size), np.sqrt(sizes)
    before = np.where(vectors < count, roots[places, np.maximum(count - vectors, 1) - 1], 0.0)
    after = roots[places, np.minimum(count - vectors, count - 1)]
    gaps = spread.gaps(before, after)
    errors = np.divide(spread.errors, gaps, out=np.ones(size), where=gaps > 0)
    errors = np.where(vectors == count, 0.0, errors) + EPS * count
    close = (np.abs(shares - most) <= NEAR * most) & (np.abs(shares / (most or 1.0) - 1) > SAME / 100)
    rounding = (np.abs(spread.lengths - spread.zero[:, None]) <= (spread.zero / 2 + spread.errors)[:, None]) & (
        spread.lengths > 0)
    return np.where(close.any(axis=1) | rounding.any(axis=1), 1.0, errors)


LOCAL = 1e-4  # seconds for a row with distances but no features
ROW, PAIR, GRAM = 2e-5, 2e-10, 4e-10  # seconds for a row, a column of a distance, and one of a product
APART = 1e5  # ratio of eigenvalues of M⁺ above which the solver computes them one after the other
ROOTS: Mapping[str, Callable[[Spatial, Lists, Any, int], Root]] = {
    "alignment": tangent_root, "hessian": hessian_root, "modified_reconstruction": several_weights_root}


def local_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of coordinates √n V of a cost that is a sum over neighborhoods."""
    yield from chain_checks(subject, chain, _cost_checks, weight_tolerance, scale="variance")


def _cost_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of the rows of a cost's root: reconstruction weights, or functionals on tangent spaces."""
    kernel: Any = chain.kernel
    held, ridge = subject.similarity.parts.neighbors, subject.similarity.parts.ridge
    assert held is not None and ridge is not None  # of every kernel on neighborhoods
    width, columns = held.usual, subject.data.values.shape[1]
    row = ROW if is_euclidean(subject.data) and kernel.name not in ROOTS else LOCAL
    if not subject.plan.allows(0.5, subject.size * (row + columns * (PAIR * subject.size + GRAM * width**2))):
        yield later("residual")
        return
    lists, _ = kernel.lists(subject.data, held, subject.neighbors.pieces)
    # the lists are proven by `neighbor_check`
    root = root_of(subject.data, lists, kernel, subject.embedding.shape[1], ridge)
    sizes = abs(root.matrix)
    norm = float(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())  # a bound of that of RᵀR
    costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    yield from _eigenproblem(subject, root, norm, costs)
    yield from _stated_costs(subject, chain, root, norm)
    last, rounding = max_abs(costs), 10 * (norm * (subject.rounding + root.unsure) + root.spread)
    if not subject.plan.full:
        yield later("count")
    elif last > 2 * rounding:  # the last cost kept is not below the shift, but the constant vector's zero is
        yield count_check(lambda: -(root.matrix.T @ root.matrix).toarray(), subject.size, -last,
                          subject.embedding.shape[1], rounding / 10 + 1e-4 * last)
    yield neighbor_check(subject, adjacency(subject, lists.starts, lists.indices), "lists")


def root_of(data: Spatial, lists: Lists, kernel: Any, axes: int, ridge: float) -> Root:
    """Return the root of a kernel's cost, computed again."""
    if kernel.name in ROOTS:
        return ROOTS[kernel.name](data, lists, kernel, axes)
    matrix, rough = residual_matrix(data, lists, ridge)
    return Root(matrix, (EPS + rough) / ridge)


def linear_checks(subject: Subject, kernel: Any) -> Iterator[Check]:
    """Yield the checks of linear functions of least cost on neighborhoods."""

    def costs() -> Costs:
        lists, kept = kernel.lists(subject.given, subject.neighborhood, subject.neighbors.pieces)
        data = subject.given if kept is None else subject.given.take(kept)
        root = root_of(data, lists, kernel, subject.embedding.shape[1], kernel.ridge)
        return Costs(root, np.ones(len(data.values)), adjacency(subject, lists.starts, lists.indices), "lists")

    yield from linearization_checks(subject, costs)


def _eigenproblem(subject: Subject, root: Root, norm: float, costs: Array) -> Iterator[Check]:
    """Check RᵀR v = v / λ, with all rows of R."""
    coordinates, size, unsure = subject.embedding, subject.size, root.unsure
    image = root.matrix @ coordinates
    gaps = np.abs(root.matrix.T @ image - coordinates * costs)
    gaps = np.linalg.norm(np.maximum(gaps - root.slack(coordinates), 0.0), axis=0) / np.sqrt(size)
    # an iterative solver's residuals are relative to the largest λ, and grow by its ratio to the axis' own
    ratios = np.clip(subject.top * costs, 1.0, APART)
    precision = subject.rounding + unsure + subject.spectrum.tolerance * ratios
    solved = subject.spectrum.solved  # powers of the singular values of R, the roots of costs
    ties = tie_width(solved[solved > 0] ** -0.5, subject.rounding, coordinates.shape[1], power=2)
    yield ratio("residual", max_abs(gaps / (norm * precision + ties)), 1.0,
                "RᵀR v = v / λ, with the rows of R computed again")
    again = np.sum(image * image, axis=0) / size
    noise = norm * unsure**2 + root.noise(coordinates) / size  # rounding of the sum of squares
    relative = np.abs(again - costs) / (1e-4 * costs + 2 * np.sqrt(costs * noise) + noise)
    yield ratio("costs", max_abs(relative), 1.0, "‖R v‖² = 1 / λ, to a ten-thousandth")


def _stated_costs(subject: Subject, chain: Stages, root: Root, norm: float) -> Iterator[Check]:
    """Check the costs among the figures of the fit, if any: of the coordinates as written, and of LLE's weights."""
    if "cost_of_coordinates" not in subject.model.fit:
        return
    sizes, stated = chain.coordinates.sizes(subject.spectrum), subject.model.fit
    units = subject.embedding / np.sqrt(subject.size)
    found = float(np.sum(np.square(root.matrix @ units) @ sizes**2))
    noise = norm * root.unsure**2 * float(sizes @ sizes) + float(root.noise(units) @ sizes**2)
    yield ratio("cost of coordinates", abs(stated["cost_of_coordinates"] - found),
                1e-8 * found + 2 * np.sqrt(found * noise) + noise, "‖R Y‖² = the cost that the run states")
    if "cost_of_weights" not in stated:
        return
    unit = subject.data.unit**2
    found, size = reconstruction_error(subject.data, root.matrix)
    if stated["cost_of_weights"] is None and not np.isfinite(unit.number(found)):
        yield skipped("cost of weights", "it is outside the range of double precision")
        return
    noise = size * root.unsure**2 + EPS * size * (not is_euclidean(subject.data))
    last = (unit**-1).number(float(np.finfo(np.float64).smallest_subnormal))  # digit of a cost near zero
    yield ratio("cost of weights", abs((unit**-1).number(stated["cost_of_weights"]) - found),
                1e-8 * found + 2 * np.sqrt(found * noise) + noise + last,
                "Σ ‖x - Σ w x‖² = the cost that the run states")
