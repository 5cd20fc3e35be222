#!/usr/bin/env python3
"""Plants dissimilarities with negative eigenvalues of known causes, and counts the causes that `mlcli check` finds.

    python scripts/negative_eigenvalues.py                        # the table of docs/check.md: 100 sets of each family
    python scripts/negative_eigenvalues.py --evidence --seed 0    # quantiles of the evidence
    python scripts/negative_eigenvalues.py --families balls tree  # some families only

The limits in `mlcli/checkup/negative_eigenvalues.py` were chosen by hand: round numbers in the gaps of the quantiles
that the second command prints of the families in `CHOSEN_BY`. The kinds of evidence were chosen with all families in
view. The table and the tests are of other seeds.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.checkup.negative_eigenvalues import FEWEST, cause_of
from mlcli.checkup.report import Cause

Planter = Callable[[np.random.Generator], Array]
LARGEST = 160  # points of a set
DIMENSIONS = (1, 2, 3, 5, 8, 12, 20)  # of points that are measured with noise


# Points, sizes and errors


def between(generator: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def drawn_size(generator: np.random.Generator, most: int = LARGEST) -> int:
    """Draw a number of points."""
    return round(between(generator, FEWEST, most))


def euclidean(points: Array) -> Array:
    """Return the Euclidean distances (n x n) of points (n x k)."""
    return np.asarray(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)))


def mean_of(distances: Array) -> float:
    """Return the mean distance of two different points."""
    return float(distances.sum() / (len(distances) * (len(distances) - 1)))


def without_diagonal(distances: Array) -> Array:
    """Return symmetric dissimilarities (n x n) with a zero diagonal."""
    found = (distances + distances.T) / 2
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def drawn_points(generator: np.random.Generator, columns: int, size: int) -> Array:
    """Draw points (n x k): uniform in a cube or a box, normal, or in groups."""
    shape = generator.integers(4)
    if shape == 0:
        return generator.random((size, columns))
    if shape == 1:
        return generator.standard_normal((size, columns))
    if shape == 2:
        return generator.random((size, columns)) * np.exp(generator.normal(0, 0.5, columns))
    centers = 2 * generator.standard_normal((int(generator.integers(2, 6)), columns))
    return centers[generator.integers(len(centers), size=size)] + 0.5 * generator.standard_normal((size, columns))


def any_points(generator: np.random.Generator, most: int) -> Array:
    """Draw points in 1 to `most` dimensions."""
    return drawn_points(generator, int(generator.integers(1, most + 1)), drawn_size(generator))


def drawn_sizes(generator: np.random.Generator, centers: Array, most: float = 0.25) -> Array:
    """Draw half sizes of objects (n): equal, uniform, log-normal or Pareto, around a share of the mean distance."""
    size, shape = len(centers), generator.integers(4)
    if shape == 0:
        sizes = np.ones(size)
    elif shape == 1:
        sizes = generator.random(size)
    elif shape == 2:
        sizes = np.exp(generator.normal(0, generator.uniform(0.4, 1), size))
    else:
        sizes = np.minimum((1 - generator.random(size)) ** (-1 / generator.uniform(1.2, 3)), 20)
    return np.asarray(sizes / sizes.mean() * between(generator, 0.03, most) * mean_of(euclidean(centers)))


def drawn_shapes(generator: np.random.Generator, centers: Array) -> Array:
    """Draw half lengths of sides or axes (n x k), from nearly equal to longish."""
    shapes = generator.normal(0, generator.uniform(0, 0.8), centers.shape)
    return np.asarray(np.exp(shapes - shapes.mean(axis=1)[:, None]) * drawn_sizes(generator, centers)[:, None])


def rotations(generator: np.random.Generator, size: int, columns: int) -> Array:
    """Draw orthogonal matrices (n x k x k)."""
    return np.asarray(np.linalg.qr(generator.standard_normal((size, columns, columns)))[0])


def errors_of(draw: Callable[[tuple[int, int]], Array], size: int) -> Array:
    """Draw symmetric errors (n x n), one for each pair."""
    errors = np.triu(draw((size, size)), 1)
    return errors + errors.T


def with_errors(distances: Array, errors: Array, *, relative: bool) -> Array:
    """Return distances with errors that are relative to each, or to their mean."""
    return without_diagonal(distances * np.exp(errors) if relative else np.abs(
        distances + mean_of(distances) * errors))


def with_noise(generator: np.random.Generator, distances: Array, low: float, high: float) -> Array:
    """Return distances with normal errors of a level between two, relative to each or to their mean."""
    level = between(generator, low, high)
    return with_errors(distances, level * errors_of(generator.standard_normal, len(distances)),
                       relative=bool(generator.integers(2)))


def measured(generator: np.random.Generator, distances: Array) -> Array:
    """Return distances as they are, or, of one set of three, with noise of 1 to 3 %."""
    exact = without_diagonal(distances)
    return with_noise(generator, exact, 0.01, 0.03) if generator.integers(3) == 0 else exact


# Extended objects


def balls(generator: np.random.Generator) -> Array:
    """Balls in 1 to 5 dimensions."""
    centers = any_points(generator, 5)
    radii = drawn_sizes(generator, centers)
    return measured(generator, np.maximum(euclidean(centers) - radii[:, None] - radii, 0))


def parallel_boxes(generator: np.random.Generator, columns: int) -> Array:
    """Return distances of boxes with sides along the axes."""
    centers = drawn_points(generator, columns, drawn_size(generator))
    halves = drawn_shapes(generator, centers)
    gaps = np.maximum(np.abs(centers[:, None] - centers) - halves[:, None] - halves, 0)
    return measured(generator, np.sqrt((gaps**2).sum(axis=2)))


def intervals(generator: np.random.Generator) -> Array:
    """Intervals on a line."""
    return parallel_boxes(generator, 1)


def rectangles(generator: np.random.Generator) -> Array:
    """Rectangles with sides along the axes."""
    return parallel_boxes(generator, 2)


def boxes(generator: np.random.Generator) -> Array:
    """Boxes in 3 or 5 dimensions with sides along the axes."""
    return parallel_boxes(generator, int(generator.choice([3, 5])))


def nearest_parts(centers: Array, halves: Array, axes: Array) -> Array:
    """Return distances of turned boxes (centers and half sides n x k, axes n x k x k) by projections in turn."""
    left, right = np.triu_indices(len(centers), 1)

    def projected(points: Array, box: Indices) -> Array:
        along = np.einsum("pkl,pk->pl", axes[box], points - centers[box])
        return np.asarray(centers[box] + np.einsum("pkl,pl->pk", axes[box], np.clip(along, -halves[box], halves[box])))

    there = centers[right]
    for _ in range(120):
        here = projected(there, left)
        there = projected(here, right)
    found = np.zeros((len(centers), len(centers)))
    found[left, right] = found[right, left] = np.sqrt(((here - there) ** 2).sum(axis=1))
    return found


def turned_boxes(generator: np.random.Generator) -> Array:
    """Rectangles or boxes, each turned in its own way."""
    columns = int(generator.integers(2, 4))
    centers = drawn_points(generator, columns, drawn_size(generator, 100))
    axes = rotations(generator, len(centers), columns)
    return measured(generator, nearest_parts(centers, drawn_shapes(generator, centers), axes))


def needles(generator: np.random.Generator) -> Array:
    """Needles: segments of a line in 2 or 3 dimensions."""
    columns = int(generator.integers(2, 4))
    centers = drawn_points(generator, columns, drawn_size(generator, 100))
    halves = np.zeros(centers.shape)
    halves[:, 0] = drawn_sizes(generator, centers, 0.5)
    return measured(generator, nearest_parts(centers, halves, rotations(generator, len(centers), columns)))


def ellipsoids(generator: np.random.Generator) -> Array:
    """Ellipses and ellipsoids in 2 to 4 dimensions.

    The point of the differences of two that is nearest to zero is found by Gilbert's algorithm (1966).
    """
    columns = int(generator.integers(2, 5))
    centers = drawn_points(generator, columns, drawn_size(generator, 100))
    axes = rotations(generator, len(centers), columns)
    shapes = np.einsum("nkl,nl,nml->nkm", axes, drawn_shapes(generator, centers) ** 2, axes)
    left, right = np.triu_indices(len(centers), 1)

    def reach(object_: Indices, direction: Array) -> Array:
        moved = np.einsum("pkm,pm->pk", shapes[object_], direction)
        return np.asarray(moved / np.sqrt(np.maximum((direction * moved).sum(axis=1), 1e-300))[:, None])

    apart = nearest = centers[left] - centers[right]
    for _ in range(120):
        step = apart - reach(left, nearest) - reach(right, nearest) - nearest
        length = -(nearest * step).sum(axis=1) / np.maximum((step**2).sum(axis=1), 1e-300)
        nearest = nearest + np.clip(length, 0, 1)[:, None] * step
    lengths = np.sqrt((nearest**2).sum(axis=1))
    found = np.zeros((len(centers), len(centers)))
    found[left, right] = found[right, left] = np.where(lengths < 0.01 * lengths.mean(), 0, lengths)  # they overlap
    return measured(generator, found)


def polygons(generator: np.random.Generator) -> Array:
    """Convex polygons of 3 to 7 corners."""
    centers = drawn_points(generator, 2, drawn_size(generator, 90))
    angles = np.sort(2 * np.pi * generator.random((len(centers), int(generator.integers(3, 8)))), axis=1)
    corners = centers[:, None] + drawn_sizes(generator, centers)[:, None, None] * np.stack(
        [np.cos(angles), np.sin(angles)], axis=2)
    sides = np.roll(corners, -1, axis=1) - corners
    normals = np.stack([sides[..., 1], -sides[..., 0]], axis=2)

    def to_sides(left: Indices, right: Indices) -> Array:
        apart, side = corners[left][:, :, None] - corners[right][:, None], sides[right][:, None]
        along = np.clip((apart * side).sum(axis=3) / np.maximum((side**2).sum(axis=3), 1e-300), 0, 1)
        return np.asarray(np.sqrt(((apart - along[..., None] * side) ** 2).sum(axis=3)).min(axis=(1, 2)))

    def are_apart(left: Indices, right: Indices) -> Array:
        own, other = (np.einsum("pmk,pck->pmc", normals[left], corners[of]) for of in (left, right))
        return np.asarray((other.min(axis=2) > own.max(axis=2)).any(axis=1))

    left, right = np.triu_indices(len(centers), 1)
    found = np.zeros((len(centers), len(centers)))
    found[left, right] = np.where(are_apart(left, right) | are_apart(right, left),
                                  np.minimum(to_sides(left, right), to_sides(right, left)), 0)
    return measured(generator, found + found.T)


def single_linkage(points: Array, owners: Indices) -> Array:
    """Return the distances of the nearest points (N x k) of n sets; `owners` (N) counts them, ascending, from 0."""
    starts = np.searchsorted(owners, np.arange(owners[-1] + 1))
    return np.asarray(np.minimum.reduceat(np.minimum.reduceat(euclidean(points), starts, 0), starts, 1))


def clouds(generator: np.random.Generator) -> Array:
    """Sets of points in 1 to 5 dimensions, normal or uniform around their centers."""
    centers = drawn_points(generator, int(generator.integers(1, 6)), drawn_size(generator, 90))
    owners = np.repeat(np.arange(len(centers)), np.maximum(1, generator.poisson(
        int(generator.integers(3, 16)), len(centers))))
    shape = (len(owners), centers.shape[1])
    places = generator.standard_normal(shape) if generator.integers(2) else generator.uniform(-1.7, 1.7, shape)
    return measured(generator, single_linkage(
        centers[owners] + drawn_sizes(generator, centers)[owners, None] * places, owners))


def trails(generator: np.random.Generator) -> Array:
    """Sets of points along random walks."""
    centers = drawn_points(generator, int(generator.integers(2, 4)), drawn_size(generator, 80))
    steps = int(generator.integers(8, 20))
    walks = np.cumsum(generator.standard_normal((len(centers), steps, centers.shape[1])), axis=1) / np.sqrt(steps)
    points = centers[:, None] + drawn_sizes(generator, centers, 0.3)[:, None, None] * walks
    return measured(generator, single_linkage(points.reshape(-1, centers.shape[1]),
                                              np.repeat(np.arange(len(centers)), steps)))


def regions(generator: np.random.Generator) -> Array:
    """Regions of a map, with the sea between some."""
    size, side = drawn_size(generator, 120), int(generator.integers(35, 50))
    seeds = drawn_points(generator, 2, 2 * size)
    seeds = (seeds - seeds.min(axis=0)) / np.ptp(seeds, axis=0) * (side - 1)
    cells = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=2).reshape(-1, 2).astype(float)
    owners = ((cells[:, None] - seeds) ** 2).sum(axis=2).argmin(axis=1)
    land = generator.permutation(np.unique(owners))[:size]
    number = np.full(2 * size, -1)
    number[land] = np.arange(len(land))
    owners = number[owners]
    around = np.pad(owners.reshape(side, side), 1, constant_values=-2)
    inner = around[1:-1, 1:-1]
    edge = np.logical_or.reduce([inner != around[:-2, 1:-1], inner != around[2:, 1:-1], inner != around[1:-1, :-2],
                                 inner != around[1:-1, 2:]]).ravel()
    order = np.argsort(owners, kind="stable")
    order = order[(owners[order] >= 0) & edge[order]]
    return measured(generator, np.maximum(single_linkage(cells[order], owners[order]) - 1, 0))


# Noise of measurement


def exact(generator: np.random.Generator) -> Array:
    """Return Euclidean distances in one of `DIMENSIONS`."""
    return euclidean(drawn_points(generator, int(generator.choice(DIMENSIONS)), drawn_size(generator)))


def normal_errors(generator: np.random.Generator) -> Array:
    """Normal errors of 1 to 30 % of the mean distance."""
    distances = exact(generator)
    return with_errors(distances, between(generator, 0.01, 0.3) * errors_of(generator.standard_normal, len(distances)),
                       relative=False)


def relative_errors(generator: np.random.Generator) -> Array:
    """Normal errors of 1 to 30 % of each distance."""
    distances = exact(generator)
    return with_errors(distances, between(generator, 0.01, 0.3) * errors_of(generator.standard_normal, len(distances)),
                       relative=True)


def uniform_errors(generator: np.random.Generator) -> Array:
    """Uniform errors of up to 2 to 50 % of the mean distance."""
    distances = exact(generator)
    errors = errors_of(lambda shape: generator.uniform(-1, 1, shape), len(distances))
    return with_errors(distances, between(generator, 0.02, 0.5) * errors, relative=False)


def gross_errors(generator: np.random.Generator) -> Array:
    """Errors of Student's t with 3 degrees of freedom, some of them large."""
    distances = exact(generator)
    errors = errors_of(lambda shape: np.clip(generator.standard_t(3, shape), -8, 8), len(distances))
    return with_errors(distances, between(generator, 0.01, 0.15) * errors, relative=False)


def errors_of_some(generator: np.random.Generator) -> Array:
    """Errors of 5 to 30 % on 5 to 60 % of the pairs."""
    distances = exact(generator)
    wrong = errors_of(generator.random, len(distances)) < generator.uniform(0.05, 0.6)
    errors = between(generator, 0.05, 0.3) * errors_of(generator.standard_normal, len(distances))
    return with_errors(distances, wrong * errors, relative=bool(generator.integers(2)))


def unequal_errors(generator: np.random.Generator) -> Array:
    """Normal errors, of some objects larger than of others."""
    distances = exact(generator)
    levels = np.exp(generator.normal(0, 0.35, len(distances)))
    errors = errors_of(generator.standard_normal, len(distances)) * np.outer(levels, levels)
    return with_errors(distances, between(generator, 0.01, 0.15) * errors, relative=False)


def rounded(generator: np.random.Generator) -> Array:
    """Distances rounded to 5 to 100 steps."""
    distances = exact(generator)
    step = distances.max() / generator.choice([5, 7, 10, 20, 50, 100])
    return np.asarray(np.round(distances / step) * step)


def judgments(generator: np.random.Generator) -> Array:
    """Means of two judgments of each pair, with errors of 3 to 30 %, or on a scale of 7 to 20 steps."""
    distances = exact(generator)
    level, scale = between(generator, 0.03, 0.3), int(generator.choice([7, 10, 20])) if generator.integers(2) else 0
    pairs = np.abs(distances * (1 + level * generator.standard_normal(distances.shape)))
    return without_diagonal(np.round(np.clip(pairs / distances.max(), 0, 1) * scale) if scale else pairs)


# Other spaces


def sphere(generator: np.random.Generator) -> Array:
    """Lengths of arcs on a sphere of 1 to 4 dimensions, or on a cap of it."""
    points = generator.standard_normal((drawn_size(generator), int(generator.integers(2, 6))))
    points[:, 0] += generator.integers(2) * generator.uniform(0.5, 2)
    points /= np.linalg.norm(points, axis=1)[:, None]
    return without_diagonal(np.arccos(np.clip(points @ points.T, -1, 1)))


def hyperbolic(generator: np.random.Generator) -> Array:
    """Distances in a ball of a hyperbolic space of 2 to 4 dimensions."""
    size, columns = drawn_size(generator), int(generator.integers(2, 5))
    radius, places = generator.uniform(1.5, 5), generator.random(size)
    radii = (np.arccosh(1 + (np.cosh(radius) - 1) * places) if generator.integers(2) else radius * places)[:, None]
    directions = generator.standard_normal((size, columns))
    space = np.sinh(radii) * directions / np.linalg.norm(directions, axis=1)[:, None]
    return without_diagonal(np.arccosh(np.maximum(np.cosh(radii) @ np.cosh(radii).T - space @ space.T, 1)))


def torus(generator: np.random.Generator) -> Array:
    """Shortest ways in a box whose opposite sides are one, of 2 or 3 dimensions."""
    sides = generator.uniform(0.5, 2, int(generator.integers(2, 4)))
    points = sides * generator.random((drawn_size(generator), len(sides)))
    gaps = np.abs(points[:, None] - points)
    return np.asarray(np.sqrt((np.minimum(gaps, sides - gaps) ** 2).sum(axis=2)))


def city_block(generator: np.random.Generator) -> Array:
    """City-block distances in 2 to 10 dimensions, or powers of them."""
    points = drawn_points(generator, int(generator.integers(2, 11)), drawn_size(generator))
    power = generator.uniform(0.7, 1) if generator.integers(2) else 1
    return np.asarray(np.abs(points[:, None] - points).sum(axis=2) ** power)


def maximum(generator: np.random.Generator) -> Array:
    """Largest differences of coordinates, in 3 to 10 dimensions."""
    points = drawn_points(generator, int(generator.integers(3, 11)), drawn_size(generator))
    return np.asarray(np.abs(points[:, None] - points).max(axis=2))


def paths(lengths: Array) -> Array:
    """Return lengths of shortest paths among the points of the largest piece, of edges (n x n), infinite where none."""
    found = lengths.copy()
    np.fill_diagonal(found, 0.0)
    for middle in range(len(found)):
        found = np.minimum(found, found[:, middle, None] + found[middle])
    inside = np.isfinite(found[np.isfinite(found).sum(axis=1).argmax()])
    return np.asarray(found[np.ix_(inside, inside)])


def edges_of(generator: np.random.Generator, size: int, left: Indices, right: Indices) -> Array:
    """Return edges (n x n) of length 1, or of random lengths."""
    found = np.full((size, size), np.inf)
    found[left, right] = 1 if generator.integers(2) else generator.uniform(0.2, 1, len(left))
    return np.minimum(found, found.T)


def neighbor_graph(generator: np.random.Generator) -> Array:
    """Paths among nearest neighbors in a plane, over edges of their length or of length 1."""
    distances = euclidean(drawn_points(generator, 2, drawn_size(generator)))
    left = np.repeat(np.arange(len(distances)), int(generator.integers(4, 9)))
    right = distances.argsort(axis=1)[:, 1:1 + len(left) // len(distances)].ravel()
    lengths = np.full(distances.shape, np.inf)
    lengths[left, right] = 1 if generator.integers(2) else distances[left, right]
    return paths(np.minimum(lengths, lengths.T))


def random_graph(generator: np.random.Generator) -> Array:
    """Paths in a graph of random edges, 3 to 10 of each point."""
    size = drawn_size(generator)
    left, right = np.nonzero(np.triu(generator.random((size, size)) < generator.uniform(3, 10) / size, 1))
    return paths(edges_of(generator, size, left, right))


def grid(generator: np.random.Generator) -> Array:
    """Paths along the streets of a town, some of them longer than others."""
    shape = generator.integers(6, 13, 2)
    numbers = np.arange(shape.prod()).reshape(shape)
    left, right = (np.concatenate([one.ravel(), other.ravel()]) for one, other in (
        (numbers[1:], numbers[:, 1:]), (numbers[:-1], numbers[:, :-1])))
    return paths(edges_of(generator, numbers.size, left, right))


def tree(generator: np.random.Generator) -> Array:
    """Paths in a tree, random or with two branches at each point, of all points or of the leaves."""
    size = 2 * drawn_size(generator)
    children = np.arange(1, size)
    parents = np.floor(generator.random(size - 1) * children).astype(int) if generator.integers(2) else (
        children - 1) // 2
    edges = edges_of(generator, size, children, parents)
    leaves = np.isfinite(edges).sum(axis=1) == 1
    kept = leaves if leaves.sum() >= FEWEST and generator.integers(2) else np.arange(size) < size // 2
    return np.asarray(paths(edges)[np.ix_(kept, kept)])


def surface(generator: np.random.Generator) -> Array:
    """Paths on a neighbor graph of 400 points of an ellipsoid or a ring, as Isomap has them."""
    height, turn = 2 * generator.random(400) - 1, 2 * np.pi * generator.random(400)
    if generator.integers(2):
        radius, height = np.sqrt(1 - height**2), height * generator.uniform(0.5, 2)
    else:
        radius, height = generator.uniform(1.5, 3) + np.cos(np.pi * height), np.sin(np.pi * height)
    distances = euclidean(np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1))
    near = distances <= np.sort(distances, axis=1)[:, 8, None]
    found, size = paths(np.where(near | near.T, distances, np.inf)), drawn_size(generator)
    return found[:size, :size]


def mutations(generator: np.random.Generator) -> Array:
    """Differences of sequences of 20 to 60 letters that descend from each other."""
    sequences = [generator.integers(4, size=int(generator.integers(20, 61)))]
    for _ in range(drawn_size(generator) - 1):
        parent = sequences[int(generator.integers(len(sequences)))]
        sequences.append(np.where(generator.random(len(parent)) < 0.1, generator.integers(4, size=len(parent)), parent))
    table = np.array(sequences)
    return np.asarray((table[:, None] != table).mean(axis=2))


# Other causes, and two at once


def of_kind(generator: np.random.Generator, kind: str) -> Array:
    """Plant a set of any family of a kind."""
    planters = KINDS[kind]
    return planters[int(generator.integers(len(planters)))](generator)


def space_with_noise(generator: np.random.Generator) -> Array:
    """Another space, with noise of 1 to 10 %."""
    return with_noise(generator, of_kind(generator, "space"), 0.01, 0.1)


def extent_with_noise(generator: np.random.Generator) -> Array:
    """Extended objects, with noise of 3 to 10 % on top."""
    return with_noise(generator, of_kind(generator, "extent"), 0.03, 0.1)


def squares(generator: np.random.Generator) -> Array:
    """Squared Euclidean distances."""
    return euclidean(any_points(generator, 5)) ** 2


def powers(generator: np.random.Generator) -> Array:
    """Euclidean distances to a power of 1.1 to 3."""
    return np.asarray(euclidean(any_points(generator, 5)) ** generator.uniform(1.1, 3))


def counts(generator: np.random.Generator, columns: int) -> Array:
    """Draw counts (n x d) with three latent gradients."""
    rates = np.exp(generator.standard_normal((drawn_size(generator), 3)) @ generator.standard_normal((3, columns)))
    found = generator.poisson(rates).astype(float)
    found[:, 0] += 1
    return found


def bray_curtis(generator: np.random.Generator) -> Array:
    """Bray-Curtis dissimilarities of counts in 10 to 60 columns."""
    table = counts(generator, int(generator.integers(10, 61)))
    return np.asarray(np.abs(table[:, None] - table[None]).sum(axis=2) / (table[:, None] + table[None]).sum(axis=2))


def jaccard(generator: np.random.Generator) -> Array:
    """Jaccard distances of presence in 20 to 80 columns."""
    table = counts(generator, int(generator.integers(20, 81))) > 0
    both, either = (table[:, None] & table[None]).sum(axis=2), (table[:, None] | table[None]).sum(axis=2)
    return np.asarray(1 - both / either)


def cosine(generator: np.random.Generator) -> Array:
    """Cosine and correlation distances (1 - r) in 3 to 20 dimensions."""
    points = drawn_points(generator, int(generator.integers(3, 21)), drawn_size(generator))
    points -= generator.integers(2) * points.mean(axis=1)[:, None]
    points /= np.linalg.norm(points, axis=1)[:, None]
    return without_diagonal(np.maximum(1 - points @ points.T, 0))


def divergence(generator: np.random.Generator) -> Array:
    """Jeffreys' divergence of compositions of 5 to 30 parts."""
    table = counts(generator, int(generator.integers(5, 31))) + 0.5
    shares = table / table.sum(axis=1)[:, None]
    logarithms = np.log(shares)
    return without_diagonal(((shares[:, None] - shares) * (logarithms[:, None] - logarithms)).sum(axis=2))


def time_warp(generator: np.random.Generator) -> Array:
    """Dynamic time warping of 30 to 60 random walks, or of waves, of 20 steps."""
    size, steps = drawn_size(generator, 60), 20
    waves = np.sin(np.linspace(0, 6, steps) * generator.uniform(0.7, 1.4, (size, 1)) + generator.uniform(
        0, 2, (size, 1)))
    series = np.cumsum(generator.standard_normal((size, steps)), axis=1) if generator.integers(2) else waves
    gaps = np.abs(series[:, None, :, None] - series[None, :, None])
    warped = np.full((size, size, steps + 1, steps + 1), np.inf)
    warped[..., 0, 0] = 0
    for here in range(steps):
        for there in range(steps):
            warped[..., here + 1, there + 1] = gaps[..., here, there] + np.minimum(
                np.minimum(warped[..., here, there + 1], warped[..., here + 1, there]), warped[..., here, there])
    return without_diagonal(warped[..., steps, steps])


KINDS: dict[str, tuple[Planter, ...]] = {
    "noise": (normal_errors, relative_errors, uniform_errors, gross_errors, errors_of_some, unequal_errors, rounded,
              judgments),
    "extent": (balls, intervals, rectangles, boxes, turned_boxes, needles, ellipsoids, polygons, clouds, trails,
               regions),
    "space": (sphere, hyperbolic, torus, city_block, maximum, neighbor_graph, random_graph, grid, tree, surface,
              mutations)}
OTHERS: tuple[Planter, ...] = (extent_with_noise, space_with_noise, squares, powers, cosine, divergence, time_warp,
                               bray_curtis, jaccard)
CHOSEN_BY = {"normal_errors", "errors_of_some", "unequal_errors", "rounded", "balls", "rectangles", "boxes", "needles",
             "polygons", "clouds", "trails", "sphere", "hyperbolic", "city_block", "neighbor_graph", "tree",
             "mutations", "space_with_noise", "squares", "powers", "cosine", "divergence", "time_warp", "bray_curtis"}
PLANTERS = {planter.__name__: planter for planter in (*KINDS["noise"], *KINDS["extent"], *KINDS["space"], *OTHERS)}


def causes(family: str, seed: int, sets: int) -> list[Cause]:
    """Return the causes found of so many sets of a family, without those that are too small or Euclidean by chance."""
    generator, found = np.random.default_rng([seed, *family.encode()]), list[Cause]()
    while len(found) < sets:
        cause = cause_of(PLANTERS[family](generator), generator)
        found += [cause] if cause.evidence is not None else []
    return found


def main() -> None:
    """Print the shares of causes found, or quantiles of the evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evidence", action="store_true")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--families", nargs="*", choices=list(PLANTERS), default=list(PLANTERS))
    options = parser.parse_args()
    names = (*KINDS, "undecided")
    total: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    if not options.evidence:
        print(f"{'planted':<24}" + "".join(f"{name:>11}" for name in names))
    for family in options.families:
        found = causes(family, options.seed, options.sets)
        if options.evidence:
            print(family)
            known = [asdict(cause.evidence) for cause in found if cause.evidence is not None]
            for fact in known[0]:
                print(f"    {fact:<22}" + "".join(f"{value:9.3f}" for value in np.quantile(
                    [float(evidence[fact]) for evidence in known], [0, 0.05, 0.5, 0.95, 1])))
            continue
        counted = Counter(cause.name for cause in found)
        kind = next((kind for kind, planters in KINDS.items() if PLANTERS[family] in planters), None)
        if kind is not None:
            total[kind] += counted
        print(f"{family + ('' if family in CHOSEN_BY else ' *'):<24}" + "".join(
            f"{counted[name] / len(found):11.1%}" for name in names), flush=True)
    for kind, counted in total.items():
        if counted and not options.evidence:
            print(f"{'all of ' + kind:<24}" + "".join(f"{counted[name] / counted.total():11.1%}" for name in names))
    if not options.evidence:
        print("* a family that no limit was chosen by")


if __name__ == "__main__":
    main()
