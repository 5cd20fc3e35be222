"""The angle bounds of axes by landmarks against the true angles, over landmark runs whose exact answer is known.

Usage: python benchmarks/landmark_error.py [DRAWS]. Each data set is fitted to all of its points once, and to so many
draws of landmarks (default 20, 200 runs in all). The table has, for each data set, the share of axes whose true angle
is at most the bound, the median of bound over angle, and the median angle in degrees.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.methods import METHODS

AXES = 2


def roll(size: int, noise: float) -> Callable[[np.random.Generator], Array]:
    """Return a function that draws a Swiss roll."""
    def draw(generator: np.random.Generator) -> Array:
        turn, height = 1.5 * np.pi * (1 + 2 * generator.random(size)), 21 * generator.random(size)
        points = np.column_stack([turn * np.cos(turn), height, turn * np.sin(turn)])
        return points + noise * generator.standard_normal(points.shape)
    return draw


def normal(size: int, spread: list[float]) -> Callable[[np.random.Generator], Array]:
    """Return a function that draws normal columns with these standard deviations."""
    return lambda generator: generator.standard_normal((size, len(spread))) * spread


def groups(size: int) -> Callable[[np.random.Generator], Array]:
    """Return a function that draws five groups in ten dimensions."""
    def draw(generator: np.random.Generator) -> Array:
        return 4 * generator.standard_normal((5, 10))[generator.integers(5, size=size)] + generator.standard_normal(
            (size, 10))
    return draw


CASES: dict[str, tuple[Callable[[np.random.Generator], Array], str, dict[str, Any], int]] = {
    "isomap: roll, 1,000 points, 100 landmarks": (roll(1000, 0), "isomap", {"neighbors": {"count": 10}}, 100),
    "isomap: roll, 2,000 points, 100 landmarks": (roll(2000, 0), "isomap", {"neighbors": {"count": 10}}, 100),
    "isomap: noisy roll, 1,500 points, 300 landmarks": (roll(1500, 0.2), "isomap", {"neighbors": {"count": 10}}, 300),
    "isomap: groups joined, 1,000 points, 150 landmarks": (
        groups(1000), "isomap", {"neighbors": {"count": 12, "pieces": "connect"}}, 150),
    "isomap: 6 normal columns, 1,000 points, 200 landmarks": (
        normal(1000, [4, 3, 1, 1, 1, 1]), "isomap", {"neighbors": {"count": 12}}, 200),
    "mds, cityblock: 10 normal columns, 1,500 points, 150 landmarks": (
        normal(1500, [4, 3, 2, 1.5, 1, 1, 1, 1, 1, 1]), "mds", {"metric": "cityblock"}, 150),
    "mds, cityblock: 10 normal columns, 3,000 points, 400 landmarks": (
        normal(3000, [4, 3, 2, 1.5, 1, 1, 1, 1, 1, 1]), "mds", {"metric": "cityblock"}, 400),
    "mds, cosine: groups, 1,000 points, 60 landmarks": (groups(1000), "mds", {"metric": "cosine"}, 60),
    "kpca, gaussian: 5 normal columns, 1,000 points, 100 landmarks": (
        normal(1000, [3, 2, 1.5, 1, 0.5]), "kpca", {"kernel": {"name": "gaussian", "rate": 0.03}}, 100),
    "kpca, gaussian: roll, 1,500 points, 200 landmarks": (
        roll(1500, 0), "kpca", {"kernel": {"name": "gaussian", "rate": 0.003}}, 200)}


def units(embedding: Array) -> Array:
    """Return the axes of an embedding (n x p), centered and of unit length."""
    centered = embedding - embedding.mean(axis=0)
    return np.asarray(centered / np.linalg.norm(centered, axis=0))


def fit(method: str, points: Array, options: dict[str, Any], seed: int) -> Any:
    """Return the model of two axes."""
    rows, columns = (list(map(str, range(count))) for count in points.shape)
    data = Features(points, rows, columns)
    chosen = METHODS[method](**options, eigensolve={"components": AXES})
    return chosen.resolve(data).fit(data, Compute(seed=seed))


def runs(draws: int) -> Iterator[tuple[str, Array, Array]]:
    """Yield the name of a data set, the true angles of its landmark runs in degrees (draws x p), and the bounds."""
    for number, (name, (draw, method, options, landmarks)) in enumerate(CASES.items()):
        points = draw(np.random.default_rng(number))
        exact, angles, bounds = units(fit(method, points, options, 0).embedding), list[Array](), list[Array]()
        for seed in range(draws):
            model = fit(method, points, {**options, "landmarks": landmarks}, 1000 + seed)
            cosines = np.abs(np.einsum("ij,ij->j", exact, units(model.embedding)))
            angles.append(np.degrees(np.arccos(np.minimum(cosines, 1))))
            bounds.append(model.ranks.errors)
        yield name, np.array(angles), np.array(bounds)


def row(name: str, angles: Array, bounds: Array) -> str:
    """Return a line of the table."""
    return (f"| {name} | {len(angles)} | {np.mean(angles <= bounds):.1%} | {np.median(bounds / angles):.2f} "
            f"| {', '.join(f'{angle:.2f}°' for angle in np.median(angles, axis=0))} |")


def main() -> None:
    """Print the table."""
    print("| data | runs | angles within the bound | bound over angle, median | true angles, median |")
    print("|---|---|---|---|---|")
    every = []
    for name, angles, bounds in runs(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        every.append((angles, bounds))
        print(row(name, angles, bounds), flush=True)
    print(row("all", *(np.concatenate(parts) for parts in zip(*every, strict=True))))


if __name__ == "__main__":
    main()
