"""Work for every kernel, from numbers that are the same on every machine, and the hashes of its results.

`python -m tests.native.library.bits` renews them, at the level of this processor; a change of a formula needs that, and
changes the bytes of layouts.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mlcli.base.rows.blocks import in_stages
from mlcli.core import arithmetic, convolution
from mlcli.core.graph.graph import Graph
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import PairOrder, Ranks, Ties
from mlcli.native import layouts, linalg, paths, points
from tests.native.support import random_graph

STORED = Path(__file__).with_name("bits.json")
CURVE = np.array([1.577, 0.895, 1.5, 1e-3, 4.0])
SIZES = [(1, 1), (7, 3), (33, 17), (70, 64), (41, 301)]  # rows and columns: below, at and above every width


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of many sizes, some of them equal and some zero."""
    generator = np.random.default_rng([seed, *shape])
    found = (generator.random(shape) - 0.5) * 2.0 ** generator.integers(-12, 12, shape)
    found[generator.random(shape) < 0.05] = 0.0
    return found


def hard(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers whose products with each other overflow, vanish or nearly cancel, with infinities and NaN."""
    generator = np.random.default_rng([9, seed, *shape])
    found = (generator.random(shape) - 0.5) * 2.0 ** generator.integers(-540, 540, shape)
    for value in (np.inf, -np.inf, np.nan, -0.0, 5e-324, 1.7e308):
        found[generator.random(shape) < 0.02] = value
    return found


def products(rows: int, columns: int, of: Callable[..., np.ndarray] = numbers) -> Iterator[Any]:
    left, right, shift = of(rows, columns), of(columns, 13, seed=1), of(columns, seed=2)
    out, down = np.empty((rows, 13)), np.zeros((13, columns))
    linalg.lift_rows(left, shift, directions=right, less=of(13, seed=3), out=out)
    linalg.lower_rows(left, shift, vectors=of(rows, 13, seed=4), out=down)
    yield out, down
    yield arithmetic.row_products(left, of(29, columns, seed=5))


def fused_products(rows: int, columns: int, of: Callable[..., np.ndarray] = numbers) -> Iterator[Any]:
    left, right, shift = of(rows, columns), of(columns, 13, seed=1), of(columns, seed=2)
    yield linalg.gram(left, shift)
    yield linalg.project(left, shift, right)
    with np.errstate(all="ignore"):
        yield linalg.products_of_rows(left.astype(np.float32), of(29, columns, seed=5).astype(np.float32))


def gaussian(rows: int, columns: int) -> Iterator[Any]:
    for kind in (np.float32, np.float64):
        left, right = (numbers(size, 9, seed=size).astype(kind) for size in (rows, columns))
        to_rows, to_columns = np.zeros((rows, 5)), np.zeros((columns, 5))
        yield linalg.gaussian_tile(left, right, of_columns=numbers(columns, 5).astype(kind),
                                   of_rows=numbers(rows, 5, seed=1).astype(kind), to_rows=to_rows,
                                   to_columns=to_columns)
        yield to_rows, to_columns


def sparse_rows(rows: int, columns: int) -> sparse.csr_array:
    held = sparse.random_array((rows, columns), density=0.3, rng=np.random.default_rng(1), format="csr")
    return sparse.csr_array((held.data, held.indices.astype(np.int32), held.indptr), shape=held.shape)


def products_of_sparse_rows(rows: int, columns: int) -> Iterator[Any]:
    held = sparse_rows(rows, columns)
    yield linalg.multiply_sparse(held, numbers(columns, 9), numbers(9), images=True)
    yield linalg.lower_sparse(held, numbers(rows, 9))


def permuted(rows: int, columns: int) -> Iterator[Any]:
    generator, size = np.random.default_rng(4), rows + columns
    orders = np.array([generator.permutation(size) for _ in range(35)], dtype=np.int32)
    codes = np.array([generator.integers(1, 4, size), np.full(size, 4)], dtype=np.int32)
    codes[0, codes[0] == 3] = -1
    for some in (np.ones((2, size)), numbers(2, size)):
        yield linalg.permuted_products(numbers(rows, columns), (0, rows), orders, codes, some, 5)


def sweeps(rows: int, columns: int) -> Iterator[Any]:
    held = sparse_rows(rows, columns)
    parts = np.abs(numbers(columns, 5))
    yield linalg.sweep_rows((held.indptr.astype(np.int64), held.indices, held.data), parts,
                            np.sum(parts[:, :, None] * parts[:, None], axis=0), 3, np.abs(numbers(rows, 5, seed=1)))


def distances(rows: int, columns: int) -> Iterator[Any]:
    left, right = np.abs(numbers(rows, columns)), np.abs(numbers(29, columns, seed=1))
    for kind in points.KINDS:
        yield points.differences(kind, left, right)
    for kind in points.AMOUNTS:
        yield points.amount_distances(kind, left * (left > 0.5), right)
    chosen = np.random.default_rng(2).integers(0, 29, (rows, 11))
    yield points.squared_at(left, right, chosen)
    several = np.argsort(np.random.default_rng(3).random((rows, 29)), axis=1)
    yield points.refine(left, right, several[:, :20], 7)
    yield points.KdTree(right).query(left, 5)
    quick = numbers(rows, columns + 9)
    yield points.select_neighbors(quick, 5)
    yield points.select_neighbors(quick.astype(np.float32), 5)
    squared = points.differences("sqeuclidean", left, np.vstack([left, right]))
    yield points.pair_sums(squared, squared[::-1], 0.7)
    yield points.order_points(squared, np.arange(rows), 7, 8)


def edges_of(graph: Graph) -> layouts.EdgeArrays:
    """Edges of rows 10 to 30 of a graph, half of which draw samples."""
    rates = np.random.default_rng(7).integers(2**20, 2**32, len(graph.indices)).astype(np.uint32)
    numbered = np.arange(len(graph.indices))
    return layouts.EdgeArrays(graph.starts[10:31], graph.indices.astype(np.int32), rates,
                              np.where(numbered % 2 == 0, numbered, -1).astype(np.int32))


def forces(axes: int, dof: float) -> Iterator[Any]:
    places = 5 * np.random.default_rng(axes).random((61, axes))
    places[7] = places[8]
    for alone in (False, True):
        yield layouts.repel_rows(places, layouts.turn_sources(places), dof, slice(3, 60), alone=alone)
    if axes <= 3:
        tree, out = layouts.Octree(places), (np.zeros((61, axes)), np.zeros(61))
        tree.repel(slice(0, tree.groups), 0.3, dof, out)
        yield out
    if axes <= 2:
        grid = np.zeros((1 if axes == 1 else 40, 40))
        layouts.spread_points(places, np.arange(61), np.zeros(axes), 5.0, grid)
        slopes, values = np.zeros((61, axes)), np.zeros(61)
        layouts.collect_points(places, np.arange(61), np.zeros(axes), 5.0, grid, factor=0.3, out=(slopes, values))
        yield grid, slopes, values
    graph = random_graph(61, 900)
    pulls = np.zeros((61, axes)), np.zeros(61)
    layouts.attract_rows((graph.starts, graph.indices.astype(np.int32), graph.lengths), places, dof, np.arange(61),
                         pulls)
    yield pulls
    lengths = np.abs(numbers(61, 61))
    for weights in (None, np.abs(numbers(61, 61, seed=1))):
        yield layouts.stress_rows(places, layouts.turn_sources(places), lengths=lengths, weights=weights,
                                  rows=slice(2, 60))
    edges, draw = edges_of(graph), layouts.Draw(5, 6, 2**63 + 11)
    yield layouts.sample_rows(edges, places[10:30], 10, places, CURVE, draw, 0.5)
    yield layouts.radii_rows(edges.starts, edges.columns, 10, places, CURVE, 1e-8)
    moved = places[10:30].copy()
    layouts.density_rows(edges, 10, places, pulls=numbers(61, 2), curve=CURVE, epoch=6, rate=0.5, moved=moved)
    yield moved


def radial(axes: int, order: int) -> Iterator[Any]:
    places = 5 * np.random.default_rng(axes).random((141, axes))
    places[7] = places[8]
    sources, own = layouts.turn_sources(places), np.arange(141)
    for dof in (1.0, 0.7):
        yield layouts.student_sums(places, sources, own, dof=dof, order=order)
    yield layouts.membership_sums(places, sources, own, form=(1.6, 0.9, 1e-3), order=order)
    yield layouts.membership_rests(places, sources, own, form=(1.6, 0.9, 1e-3), limit=2.0, series=numbers(15, 1)[:, 0],
                                   ranges=np.sort(numbers(141, 2, seed=3) > 0, axis=1).astype(np.int64) * 141)


def ranks(axes: int, ties: Ties) -> Iterator[Any]:
    lengths = np.rint(9 * np.abs(numbers(61, 61))) + 1
    for counts in (np.ones(61), np.r_[2.0, 3.0, np.ones(59)]):
        pairs = Pairs(lengths + lengths.T, counts, np.arange(61))
        yield Ranks(PairOrder.of(pairs, ties), counts)(numbers(61, axes, seed=2).ravel())


def weights_of(size: int) -> Iterator[paths.Weights]:
    graph = random_graph(size, 6 * size)
    order = np.random.default_rng(1).permutation(size)
    elimination = paths.Elimination(graph.starts, graph.indices, graph.lengths, order)
    yield from (paths.Weights.eliminated(elimination, precision) for precision in ("float32", "float64"))


def shortest_paths(size: int) -> Iterator[Any]:
    for weights in weights_of(size):
        out = np.empty((size, size))
        weights.all_pairs(out)
        yield weights.numbers, out
    matrix = np.abs(numbers(size, size))
    for pivot in range(-(-size // paths.STRIP)):
        paths.floyd_pivot(matrix, pivot)
        for strip in range(-(-size // paths.STRIP)):
            if strip != pivot:
                paths.floyd_rows(matrix, pivot, strip)
    yield matrix


def folds(size: int) -> Iterator[Any]:
    for weights in weights_of(size):
        vectors, product, sums = numbers(size, 5), np.zeros((size, 5)), np.zeros(size)
        for block in range(weights.blocks):
            first = weights.first(block)
            yield weights.fold(block, vectors, product[first:], sums[first:])
        yield product, sums
    root = sparse.random_array((3 * size, size), density=5 / size, rng=np.random.default_rng(2), format="csr")
    factors = linalg.NormalCholesky(root.indptr, root.indices, root.data, columns=size, shift=0.1)
    for _ in in_stages(factors.steps, factors.prepare):
        pass
    assert all(in_stages(factors.stages, factors.factor))
    yield factors.solve(numbers(size, 9))


def convolutions(*counts: int) -> Iterator[Any]:
    charges, sizes = np.zeros(convolution.charges_shape(counts)), convolution.transform_sizes(counts)
    charges[:, : counts[-1]] = numbers(*counts)
    spectrum = convolution.measure(lambda squared: 1 / (1 + squared), lambda cosines: 2 + cosines, sizes)
    convolution.convolve(charges, spectrum)
    yield spectrum.numbers, charges


def elementary() -> Iterator[Any]:
    some = np.random.default_rng(0).uniform(-700, 700, 3001)
    yield arithmetic.exponential(some)
    yield arithmetic.exponential_of_two(some)
    yield arithmetic.binary_logarithm(np.abs(numbers(3001)) + 1e-300)
    yield arithmetic.exponential(hard(3001))
    yield arithmetic.binary_logarithm(hard(3001))


def rotations(size: int) -> Iterator[Any]:
    yield arithmetic.symmetric_eigen(numbers(size, size))


def sized(works: Iterable[Callable[..., Iterator[Any]]]) -> dict[str, Callable[[], Iterator[Any]]]:
    return {f"{work.__name__} {rows} x {columns}": partial(work, rows, columns)
            for work in works for rows, columns in SIZES}


CASES = {
    **sized((products, products_of_sparse_rows, distances, permuted)),
    "products of hard numbers": partial(products, 33, 17, hard),
    **{f"forces on {axes} axes, {dof}": partial(forces, axes, dof) for axes in (1, 2, 3, 5, 18) for dof in (1.0, 0.7)},
    **{f"radial sums on {axes} axes, order {order}": partial(radial, axes, order) for axes in (1, 2, 3, 18)
       for order in (1, 2)},
    **{f"ranks on {axes} axes, {ties}": partial(ranks, axes, ties) for axes in (1, 2, 3, 5)
       for ties in ("primary", "secondary")},
    **{f"paths of {size}": partial(shortest_paths, size) for size in (9, 150, 700)}, "elementary": elementary,
    **{f"rotations of {size}": partial(rotations, size) for size in (5, 60)},
    **{f"convolutions of {counts}": partial(convolutions, *counts) for counts in ((1000,), (5, 7), (150, 255))},
}
FUSED = {
    **sized((fused_products, gaussian, sweeps)),
    "fused products of hard numbers": partial(fused_products, 33, 17, hard),
    **{f"folds of {size}": partial(folds, size) for size in (9, 150, 700)},
}


def bits_of(found: Any) -> bytes:
    """Every array and number of a result; every NaN counts as one."""
    if isinstance(found, dict):
        found = tuple(found.values())
    if isinstance(found, tuple | list):
        return b"".join(map(bits_of, found))
    array = np.asarray(found)
    return np.where(np.isnan(array), np.nan, array).tobytes() if array.dtype.kind == "f" else array.tobytes()


def hashes(work: Callable[[], Iterator[Any]]) -> str:
    """The start of the hash of each result."""
    return " ".join(hashlib.sha256(bits_of(found)).hexdigest()[:8] for found in work())


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: hashes(work) for name, work in (CASES | FUSED).items()}, indent=1) + "\n",
                      encoding="utf-8")
