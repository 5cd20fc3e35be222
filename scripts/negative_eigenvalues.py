#!/usr/bin/env python3
"""Plants dissimilarities with negative eigenvalues of known causes, and counts the causes that `mlcli check` finds.

    python scripts/negative_eigenvalues.py                        # the table of docs/check.md: 150 sets of each kind
    python scripts/negative_eigenvalues.py --evidence --seed 0    # quantiles of the evidence

The limits in `mlcli/checkup/negative_eigenvalues.py` were chosen once, by hand: round numbers in the gaps between the
quantiles of 0.05 and 0.95 that the second command prints. The table and the tests are of other seeds.
"""

import argparse
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from mlcli.base.types import Array
from mlcli.checkup.negative_eigenvalues import cause_of
from mlcli.checkup.report import Cause, Evidence

Planter = Callable[[np.random.Generator], Array]
SMALLEST, LARGEST = 40, 160  # points of a set
EVIDENCE = [field.name for field in fields(Evidence)]


def euclidean(points: Array) -> Array:
    """Return the Euclidean distances (n x n) of points (n x k)."""
    return np.asarray(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)))


def drawn_points(generator: np.random.Generator, most: int) -> Array:
    """Draw points in 2 to `most` dimensions: uniform, normal, or in groups."""
    size, columns = int(generator.integers(SMALLEST, LARGEST + 1)), int(generator.integers(2, most + 1))
    shape = generator.integers(3)
    if shape == 0:
        return generator.random((size, columns))
    if shape == 1:
        return generator.standard_normal((size, columns))
    centers = 2 * generator.standard_normal((int(generator.integers(2, 6)), columns))
    return centers[generator.integers(len(centers), size=size)] + 0.5 * generator.standard_normal((size, columns))


def mean_of(distances: Array) -> float:
    """Return the mean distance of two different points."""
    return float(distances.sum() / (len(distances) * (len(distances) - 1)))


def between(generator: np.random.Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def with_noise(distances: Array, level: float, generator: np.random.Generator, *, relative: bool) -> Array:
    """Return distances with normal noise, of a level relative to each or to their mean."""
    errors = np.triu(generator.standard_normal(distances.shape), 1)
    errors = level * (errors + errors.T)
    found = distances * np.exp(errors) if relative else np.abs(distances + mean_of(distances) * errors)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def noise(generator: np.random.Generator) -> Array:
    """Euclidean distances with noise of 1 to 20 %."""
    level, relative = between(generator, 0.01, 0.2), bool(generator.integers(2))
    return with_noise(euclidean(drawn_points(generator, 10)), level, generator, relative=relative)


def extents(generator: np.random.Generator, size: int, mean: float) -> Array:
    """Draw sizes (n): uniform, exponential, or of some points only."""
    shape = generator.integers(3)
    if shape == 0:
        return mean * generator.random(size)
    return mean * (generator.exponential(0.5, size) if shape == 1 else
                   (generator.random(size) < generator.uniform(0.05, 0.5)).astype(float))


def balls(generator: np.random.Generator) -> Array:
    """Distances between the surfaces of balls, zero where they overlap."""
    distances = euclidean(drawn_points(generator, 5))
    radii = extents(generator, len(distances), between(generator, 0.05, 0.25) * mean_of(distances))
    found = np.maximum(distances - radii[:, None] - radii[None], 0.0)
    np.fill_diagonal(found, 0.0)
    return found


def segments(generator: np.random.Generator) -> Array:
    """Distances between the nearest points of segments, by projections of one on the other in turn."""
    centers = drawn_points(generator, 5)
    halves = extents(generator, len(centers), between(generator, 0.1, 0.6) * mean_of(euclidean(centers)))
    directions = generator.standard_normal(centers.shape)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    apart, turned = centers[:, None] - centers[None], directions @ directions.T
    along, across = np.einsum("ijk,ik->ij", apart, directions), np.einsum("ijk,jk->ij", apart, directions)
    first = second = np.zeros_like(turned)
    for _ in range(200):
        first = np.clip(turned * second - along, -halves[:, None], halves[:, None])
        second = np.clip(turned * first + across, -halves[None], halves[None])
    nearest = apart + first[..., None] * directions[:, None] - second[..., None] * directions[None]
    found = np.sqrt((nearest**2).sum(axis=2))
    found = (found + found.T) / 2
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def sphere(generator: np.random.Generator) -> Array:
    """Lengths of arcs on a sphere of 2 to 4 dimensions, or on a cap of it."""
    points = generator.standard_normal((int(generator.integers(SMALLEST, LARGEST + 1)),
                                        int(generator.integers(3, 6))))
    points[:, 0] += generator.integers(2) * generator.uniform(0.5, 2)
    points /= np.linalg.norm(points, axis=1)[:, None]
    found = np.arccos(np.clip(points @ points.T, -1, 1))
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def hyperbolic(generator: np.random.Generator) -> Array:
    """Distances in a ball of a hyperbolic space of 2 to 4 dimensions."""
    size, columns = int(generator.integers(SMALLEST, LARGEST + 1)), int(generator.integers(2, 5))
    radius, places = generator.uniform(1.5, 5), generator.random(size)
    radii = (np.arccosh(1 + (np.cosh(radius) - 1) * places) if generator.integers(2) else radius * places)[:, None]
    directions = generator.standard_normal((size, columns))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    space = np.sinh(radii) * directions
    found = np.arccosh(np.maximum(np.cosh(radii) @ np.cosh(radii).T - space @ space.T, 1))
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def city_block(generator: np.random.Generator) -> Array:
    """City-block distances in 2 to 5 dimensions."""
    points = drawn_points(generator, 5)
    return np.asarray(np.abs(points[:, None] - points[None]).sum(axis=2))


def curved_with_noise(generator: np.random.Generator) -> Array:
    """Distances in a space that is not Euclidean, with noise of 1 to 10 %."""
    distances = one_of(KINDS["space"], generator)
    return with_noise(distances, between(generator, 0.01, 0.1), generator, relative=True)


def extended_with_noise(generator: np.random.Generator) -> Array:
    """Distances between nearest parts, with noise of 1 to 10 %."""
    distances = one_of(KINDS["extent"], generator)
    return with_noise(distances, between(generator, 0.01, 0.1), generator, relative=True)


def equal_balls(generator: np.random.Generator) -> Array:
    """Distances between the surfaces of balls of one size."""
    distances = euclidean(drawn_points(generator, 5))
    found = np.maximum(distances - generator.uniform(0.05, 0.5) * mean_of(distances), 0.0)
    np.fill_diagonal(found, 0.0)
    return found


def squares(generator: np.random.Generator) -> Array:
    """Squared Euclidean distances."""
    return euclidean(drawn_points(generator, 5)) ** 2


def counts(generator: np.random.Generator, columns: int) -> Array:
    """Draw counts (n x d) with three latent gradients."""
    size = int(generator.integers(SMALLEST, LARGEST + 1))
    rates = np.exp(generator.standard_normal((size, 3)) @ generator.standard_normal((3, columns)))
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


KINDS: dict[str, tuple[Planter, ...]] = {
    "noise": (noise,), "extent": (balls, segments), "space": (sphere, hyperbolic, city_block)}
OTHERS: tuple[Planter, ...] = (curved_with_noise, extended_with_noise, equal_balls, squares, bray_curtis, jaccard)


def one_of(planters: tuple[Planter, ...], generator: np.random.Generator) -> Array:
    """Plant a set by one of the planters."""
    return planters[int(generator.integers(len(planters)))](generator)


def causes(planters: tuple[Planter, ...], seed: int, sets: int) -> list[Cause]:
    """Return the causes found of so many planted sets."""
    generator = np.random.default_rng(seed)
    return [cause_of(one_of(planters, generator), generator) for _ in range(sets)]


def main() -> None:
    """Print the shares of causes found, or quantiles of the evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evidence", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", type=int, default=150)
    options = parser.parse_args()
    names = (*KINDS, "undecided")
    planters = {**KINDS, **{planter.__name__: (planter,) for kind in KINDS.values() for planter in kind},
                **{planter.__name__: (planter,) for planter in OTHERS}}
    if not options.evidence:
        print(f"{'planted':<20}" + "".join(f"{name:>11}" for name in names))
    for name, chosen in planters.items():
        found = causes(chosen, options.seed, options.sets)
        if options.evidence:
            print(name)
            for fact in EVIDENCE:
                numbers = [getattr(cause.evidence, fact) for cause in found if cause.evidence is not None]
                print(f"    {fact:<22}" + "".join(f"{value:9.3f}" for value in np.quantile(
                    numbers, [0, 0.05, 0.5, 0.95, 1])))
        else:
            shares = (sum(cause.name == other for cause in found) / len(found) for other in names)
            print(f"{name:<20}" + "".join(f"{share:11.1%}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
