"""Generated data sets: points on known surfaces, in a ball and in a cube, counts of cells and sites, flow in a pipe.

A shape is a formula from uniform numbers to points (`place`); `cell_counts` and `site_counts` make tables of
another kind, a few rows at a time. Each row takes its numbers from the stream in order, so the first m rows of n are
the sample of m rows; noise has a stream of its own.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import UsageError

TYPES = {"B": 0.3, "T": 0.25, "NK": 0.15, "monocyte": 0.15, "dendritic": 0.1, "platelet": 0.05}  # with their shares
BATCHES = ("one", "two", "three")
MARKERS, RAISED = 0.03, 2.0  # share of the genes that a type raises, and the mean of their log ratios
BATCH, SIZE = 0.5, 0.35  # standard deviations of log ratios: of a gene between batches, of a cell's size
DEPTH = 2000.0  # mean total count of a cell
SPREAD = 4.0  # shape of the gamma distribution: its variance is the square of its mean over this
DRAWN = 256  # cells or sites drawn from one stream
HELD = 50.0  # bytes of a row besides its counts


def cell_counts(rows: int, genes: int, seed: int) -> Iterator[Table]:
    """Yield negative binomial counts (rows x genes), with the labels `type` and `batch`, `DRAWN` rows at a time.

    A gene's mean is a cell's size times a log-normal base, times the ratios of its type and its batch.
    Types and batches are independent. The first m rows of n are the sample of m rows.
    """
    levels = np.random.default_rng([seed, 2])
    base = np.exp(levels.normal(0.0, 1.5, genes))
    marked = levels.random((len(TYPES), genes)) < MARKERS
    raised = marked * levels.normal(RAISED, 0.5, (len(TYPES), genes))
    shifted = levels.normal(0.0, BATCH, (len(BATCHES), genes))
    types, batches, sizes = cells(rows, seed)
    names, columns = tuple(TYPES), tuple(f"gene{number}" for number in range(1, genes + 1))

    def draw(some: slice) -> Table:
        means = base * np.exp(raised[types[some]] + shifted[batches[some]])
        means *= (DEPTH * sizes[some] / means.sum(axis=1))[:, None]
        noise, counts = (np.random.default_rng([seed, stream, some.start // DRAWN]) for stream in (3, 4))
        drawn = counts.poisson(means * noise.gamma(SPREAD, 1 / SPREAD, means.shape))
        return Table(values=drawn.astype(np.float64), columns=columns,
                     ids=RowNumbers(range(some.start + 1, some.stop + 1), "cell"),
                     labels={"type": tuple(names[place] for place in types[some].tolist()),
                             "batch": tuple(BATCHES[place] for place in batches[some].tolist())})

    yield from in_order(draw, row_blocks(rows, DRAWN))


def cells(rows: int, seed: int) -> tuple[Indices, Indices, Array]:
    """Return the type, the batch and the size (mean one) of each cell."""
    uniform = np.random.default_rng([seed, 0]).random((rows, 2))
    normal = np.random.default_rng([seed, 1]).standard_normal(rows)
    ends = np.cumsum(list(TYPES.values()))[:-1]
    batches = (uniform[:, 1] * len(BATCHES)).astype(np.int64)
    return np.searchsorted(ends, uniform[:, 0]).astype(np.int64), batches, np.exp(SIZE * normal - SIZE**2 / 2)


LONG, SHORT = 8.0, 2.0  # lengths of the gradients, in widths of a species
BEYOND = 1.0  # widths by which optima may lie outside of the gradients
TALLEST = 30.0  # mean count of the most common species at its optimum


def site_counts(rows: int, species: int, seed: int) -> Iterator[Table]:
    """Yield Poisson counts (rows x species), with the places `t` and `h` of each site on the gradients as labels.

    The mean of a species is a Gaussian of unit width around its optimum, as in Gauch and Whittaker's
    coenoclines (1972). Sites are uniform on the gradients. The first m rows of n are the sample of m rows.
    """
    lengths = np.array([LONG, SHORT])
    optima = np.random.default_rng([seed, 1]).random((species, 2)) * (lengths + 2 * BEYOND) - BEYOND
    heights = TALLEST * np.random.default_rng([seed, 2]).random(species) ** 2 + 1
    places = np.random.default_rng([seed, 0]).random((rows, 2)) * lengths
    columns = tuple(f"species{number}" for number in range(1, species + 1))

    def draw(some: slice) -> Table:
        apart = places[some, None, :] - optima
        means = heights * np.exp(-np.einsum("ijk,ijk->ij", apart, apart) / 2)
        drawn = np.random.default_rng([seed, 3, some.start // DRAWN]).poisson(means)
        return Table(values=drawn.astype(np.float64), columns=columns,
                     ids=RowNumbers(range(some.start + 1, some.stop + 1), "site"),
                     labels={name: tuple(f"{place:.17g}" for place in places[some, axis].tolist())
                             for axis, name in enumerate("th")})

    yield from in_order(draw, row_blocks(rows, DRAWN))


REGIMES = 3  # 1 homogeneous, 2 in layers, 3 in rings
DOWN, ACROSS = (0.0, 0.35, 0.7), (-0.6, 0.0, 0.6)  # places of the vertical and of the horizontal beams
HEIGHTS = np.linspace(-1, 1, 4001)
BELOW = 0.5 + (HEIGHTS * np.sqrt(1 - HEIGHTS**2) + np.arcsin(HEIGHTS)) / np.pi  # share of the unit disk below a height


def pipe_flow(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return lengths of six beams in water and in oil, an (n, 12) array, with regime and the fractions of both.

    The pipe is the unit disk; fractions of water, oil and gas are uniform on the triangle. Water lies below oil and
    oil below gas, or outside of oil and oil outside of gas, or all are mixed. Bishop and James (1993), whose data are
    readings at two energies, which determine these lengths.
    """
    regime = np.minimum(REGIMES * uniform[:, 0], REGIMES - 1).astype(int)
    water, oil = np.where(uniform[:, 1:2] + uniform[:, 2:] > 1, 1 - uniform[:, 1:], uniform[:, 1:]).T
    ways = [_mixed(water, oil), _layers(water, oil), _rings(water, oil)]
    points = np.select([(regime == way)[:, None] for way in range(REGIMES)], ways)
    return points, {"regime": regime + 1.0, "water": water, "oil": oil}


def _mixed(water: Array, oil: Array) -> Array:
    chords = 2 * np.sqrt(1 - np.array([*DOWN, *ACROSS]) ** 2)
    return np.hstack([water[:, None] * chords, oil[:, None] * chords])


def _layers(water: Array, oil: Array) -> Array:
    """Vertical beams cross the layers; a horizontal one is in the layer at its height."""
    half, place = np.sqrt(1 - np.array(DOWN) ** 2), np.array(ACROSS)
    surfaces = [np.interp(share, BELOW, HEIGHTS)[:, None] for share in (water, water + oil)]
    low, high = (np.clip(surface, -half, half) + half for surface in surfaces)
    wet, filled = (np.where(place < surface, 2 * np.sqrt(1 - place**2), 0.0) for surface in surfaces)
    return np.hstack([low, wet, high - low, filled - wet])


def _rings(water: Array, oil: Array) -> Array:
    """A beam at a distance from the center crosses each circle that is wider."""
    place = np.array([*DOWN, *ACROSS])
    gas = np.maximum(1 - water - oil, 0.0)
    core, middle = (2 * np.sqrt(np.maximum(area[:, None] - place**2, 0.0)) for area in (gas, gas + oil))
    return np.hstack([2 * np.sqrt(1 - place**2) - middle, middle - core])


Place = Callable[[Array], tuple[Array, Mapping[str, Array]]]  # n x w uniform -> n x d points, their parameters
HIGHEST = 0.8  # the punctured sphere ends at this height: a tenth of its area is cut off
RING, TUBE = 2.0, 1.0  # radii of the torus and of the toroidal helix
WINDINGS = 8  # of the helix around its ring
PLANE = np.array([[2.0, 1.0, 2.0], [-2.0, 2.0, 1.0]]) / 3  # orthonormal directions of t and h
BLOCK = 1 << 16  # rows in a block
SIDES = (4.0, 2.0)  # of the plane's rectangle


@frozen
class SampleData:
    """A generated data set: its description, its formula, and its default noise."""

    summary: str
    place: Place
    noise: float = 0.0
    columns: int = 3  # the default; another number can be chosen if `more` is not None
    more: int | None = None  # uniform numbers that a row takes beyond its columns; by default it takes three in all


@frozen
class Counts:
    """A generated table of counts: its parts, of so many rows, columns and a seed, and its default size."""

    make: Callable[[int, int, int], Iterator[Table]]
    rows: int
    columns: int


def swiss_roll(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return (t cos t, h, t sin t), an (n, 3) array, with t uniform on [3π/2, 9π/2], h uniform on [0, 21].

    Tenenbaum, de Silva and Langford (2000), in the proportions of Marsland and scikit-learn. It unrolls to
    arc length (t√(1+t²) + asinh t)/2, so it is denser inside, where t is small.
    """
    t, h = 1.5 * np.pi * (1 + 2 * uniform[:, 0]), 21 * uniform[:, 1]
    return np.column_stack([t * np.cos(t), h, t * np.sin(t)]), {"t": t, "h": h}


def s_curve(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return (sin t, h, sign(t)(cos t - 1)), an (n, 3) array, with t uniform on [-3π/2, 3π/2], h uniform on [0, 2].

    Two three-quarter circles, as in scikit-learn; t is arc length, so the density is even and (t, h) are
    the coordinates of the flattened sheet.
    """
    t, h = 3 * np.pi * (uniform[:, 0] - 0.5), 2 * uniform[:, 1]
    return np.column_stack([np.sin(t), h, np.sign(t) * (np.cos(t) - 1)]), {"t": t, "h": h}


def helix(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return the toroidal helix, an (n, 3) array, with t uniform on [0, 2π].

    Points are ((2 + cos 8t) cos t, (2 + cos 8t) sin t, sin 8t): a closed curve, as in Coifman and Lafon
    (2006) and van der Maaten's toolbox.
    """
    t = 2 * np.pi * uniform[:, 0]
    return on_torus(t, WINDINGS * t), {"t": t}


def punctured_sphere(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return (√(1-h²) cos t, √(1-h²) sin t, h), an (n, 3) array, t uniform on [0, 2π], h uniform on [-1, 0.8].

    The unit sphere open at the top, after Saul and Roweis (2003), here even in area: equal heights of a
    sphere have equal areas (Archimedes).
    """
    t, h = 2 * np.pi * uniform[:, 0], (1 + HIGHEST) * uniform[:, 1] - 1
    radius = np.sqrt((1 - h) * (1 + h))
    return np.column_stack([radius * np.cos(t), radius * np.sin(t), h]), {"t": t, "h": h}


def torus(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return ((2 + cos h) cos t, (2 + cos h) sin t, sin h), an (n, 3) array of points even in area.

    The density of h is (1 + ½ cos h)/2π. Diaconis, Holmes and Shahshahani (2013) draw h by rejection; here
    the draws that they reject are moved to h + π, where the density lacks just these.
    """
    t, drawn = 2 * np.pi * uniform[:, 0], 2 * np.pi * uniform[:, 1]
    accepted = uniform[:, 2] < (1 + TUBE / RING * np.cos(drawn)) / 2
    h = np.where(accepted, drawn, (drawn + np.pi) % (2 * np.pi))
    return on_torus(t, h), {"t": t, "h": h}


def noisy_plane(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return t (2, 1, 2)/3 + h (-2, 2, 1)/3, an (n, 3) array, with t uniform on [0, 4], h uniform on [0, 2].

    With noise σ the covariance has the eigenvalues 4/3 + σ², 1/3 + σ² and σ².
    """
    coordinates = uniform[:, :2] * SIDES
    points = coordinates[:, :1] * PLANE[0] + coordinates[:, 1:] * PLANE[1]  # row by row: no product of blocks
    return points, {"t": coordinates[:, 0], "h": coordinates[:, 1]}


def ball(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return points uniform in the unit ball, an (n, d) array.

    Each is a normal direction and a radius r with rᵈ uniform on [0, 1]; the last of d + 1 uniform numbers
    gives r.
    """
    from scipy.special import ndtri

    directions = ndtri(np.maximum(uniform[:, :-1], np.finfo(float).tiny))
    radius = uniform[:, -1] ** (1 / directions.shape[1])
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    return directions * (radius / np.where(lengths > 0, lengths, 1.0))[:, None], {"r": radius}


def cube(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return points uniform in the cube [0, 1]ᵈ, an (n, d) array; w is the distance to the nearest wall."""
    return uniform.copy(), {"w": np.minimum(uniform, 1 - uniform).min(axis=1)}


def spots(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return images of 16 x 16 pixels with a round spot, exp(-d²/8) at the distance d from its center (t, h) in pixels.

    The center is uniform on the inner 10 x 10 pixels: two numbers determine all of 256, and the points lie
    in no plane.
    """
    centers = 3 + 10 * uniform[:, :2]
    row, column = (np.exp(-((np.arange(16) + 0.5 - centers[:, axis, None]) ** 2) / 8) for axis in (0, 1))
    pictures = (row[:, :, None] * column[:, None, :]).reshape(len(uniform), 256)
    return pictures, {"t": centers[:, 0], "h": centers[:, 1]}


def on_torus(around: Array, tube: Array) -> Array:
    """Return points of the torus, an (n, 3) array, by the angles around its axis and around its tube."""
    radius = RING + TUBE * np.cos(tube)
    return np.column_stack([radius * np.cos(around), radius * np.sin(around), TUBE * np.sin(tube)])


SAMPLES: Mapping[str, SampleData] = MappingProxyType({
    "swiss-roll": SampleData("A rolled-up rectangle.", swiss_roll),
    "s-curve": SampleData("A rectangle bent into an S, evenly covered.", s_curve),
    "helix": SampleData("A closed curve wound eight times around a ring.", helix),
    "punctured-sphere": SampleData("A sphere with its top cut off, evenly covered.", punctured_sphere),
    "torus": SampleData("A ring's surface, evenly covered.", torus),
    "noisy-plane": SampleData("A rectangle in space, with noise 0.1 in every direction.", noisy_plane, noise=0.1),
    "ball": SampleData("A ball, evenly filled.", ball, more=1),
    "cube": SampleData("A cube, evenly filled.", cube, more=0),
    "spots": SampleData("Pictures of a spot in many places.", spots, columns=256),
    "pipe": SampleData("Readings of a pipe with oil, water and gas in three flow regimes.", pipe_flow, 0.02,
                       columns=12),
})
TABLES: Mapping[str, Counts] = MappingProxyType({
    "cells": Counts(cell_counts, 5000, 2000),
    "sites": Counts(site_counts, 100, 40),
})
ROWS = 1000  # of points, by default
NAMES = (*SAMPLES, *TABLES)


def sample(name: str, rows: int | None, seed: int, noise: float | None = None, *, truth: bool = False,
           columns: int | None = None) -> Table:
    """Return `rows` points of the shape `name`, with Gaussian noise of standard deviation `noise` on each coordinate.

    With `truth`, the parameters are added as labels, texts of 17 digits: `t` and `h`, the coordinates on
    the surface, the radius `r` of a ball, the distance `w` to the wall of a cube, `type` and `batch` of
    cells, `regime` and the fractions of water and oil in a pipe. Raises UsageError.
    """
    name, size, width = size_of(name, rows, seed, noise, columns)
    require_memory(size, width, 8.0 * size * width)
    parts = draw_parts(name, size, width, seed, noise, truth=truth)
    first = next(parts)
    if first.rows == size:
        return first
    values, labels = np.empty((size, width)), {key: list[str]() for key in first.labels}
    done = 0
    for part in chain([first], parts):
        values[done : done + part.rows] = part.values
        done += part.rows
        for key, texts in part.labels.items():
            labels[key].extend(texts)
    assert isinstance(first.ids, RowNumbers)
    return replace(first, values=values, ids=RowNumbers.up_to(size).prefixed(first.ids.prefix),
                   labels={key: tuple(texts) for key, texts in labels.items()})


def sample_parts(name: str, rows: int | None, seed: int, noise: float | None = None, *, truth: bool = False,
                 columns: int | None = None) -> Iterator[Table]:
    """Return the rows of `sample` in tables of a few rows each: counts as they are drawn, points as one table.

    Raises UsageError.
    """
    name, size, width = size_of(name, rows, seed, noise, columns)
    require_memory(size, width, 8.0 * size * width if name in SAMPLES else HELD * size + 8.0 * DRAWN * width)
    return draw_parts(name, size, width, seed, noise, truth=truth)


def draw_parts(name: str, rows: int, columns: int, seed: int, noise: float | None, *, truth: bool) -> Iterator[Table]:
    """Return the rows of a sample in parts, of sizes that `size_of` has returned."""
    if name in SAMPLES:
        return iter([sample_points(name, rows, columns, seed, noise, truth=truth)])
    parts = TABLES[name].make(rows, columns, seed)
    return parts if truth else (replace(part, labels={}) for part in parts)


def size_of(name: str, rows: int | None, seed: int, noise: float | None, columns: int | None) -> tuple[str, int, int]:
    """Return the name of a sample and its numbers of rows and columns, chosen or by default.

    Raises UsageError for unknown names, invalid sizes, seeds and noise, and what the sample does not take.
    """
    name = require_name(name)
    counts, shape = TABLES.get(name), SAMPLES.get(name)
    size = rows if rows is not None else ROWS if counts is None else counts.rows
    check(size, seed, noise or 0.0, columns)
    if counts is not None and noise is not None:
        raise UsageError("SAMPLE-NOISE", "counts are random already", where="--noise", hint="leave it out")
    if shape is not None and shape.more is None and columns is not None:
        raise UsageError("SAMPLE-COLUMNS", f"{name} has {shape.columns} columns", where="--columns",
                         hint=f"leave it out, or choose {', '.join(names_with_columns())}")
    return name, size, columns or (counts or SAMPLES[name]).columns


def require_memory(rows: int, columns: int, size: float) -> None:
    """Raise MemoryRefused where a sample of so many rows and columns takes more bytes than there are."""
    Compute().require(size, f"{rows:,} rows of {columns:,} columns", "ask for fewer with --rows")


def sample_points(name: str, rows: int, dimensions: int, seed: int, noise: float | None, *, truth: bool) -> Table:
    """Return points of a shape."""
    shape = SAMPLES[name]
    level = shape.noise if noise is None else noise
    drawn = 3 if shape.more is None else dimensions + shape.more
    uniform, normal = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    points = np.empty((rows, dimensions))
    labels: dict[str, list[str]] = {}
    for block in row_blocks(rows, BLOCK):
        count = block.stop - block.start
        points[block], told = shape.place(uniform.random((count, drawn)))
        if level > 0:
            points[block] += level * normal.standard_normal((count, dimensions))
        for key, values in told.items() if truth else ():
            labels.setdefault(key, []).extend(f"{value:.17g}" for value in values.tolist())
    names = ("x", "y", "z") if dimensions == 3 else tuple(f"x{number}" for number in range(1, dimensions + 1))
    return Table(values=points, columns=names, ids=RowNumbers.up_to(rows),
                 labels={key: tuple(texts) for key, texts in labels.items()})


def names_with_columns() -> tuple[str, ...]:
    """Return the samples whose number of columns can be chosen."""
    return (*(name for name, shape in SAMPLES.items() if shape.more is not None), *TABLES)


def require_name(name: str) -> str:
    """Return the name of a sample, which may be written with underscores or in capitals.

    Raises UsageError for an unknown one, with the nearest known name.
    """
    written = name.lower().replace("_", "-")
    if written not in NAMES:
        near = difflib.get_close_matches(written, NAMES, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(NAMES)}"
        raise UsageError("SAMPLE", f"no sample is called {name[:80]!r}", where="NAME", hint=remedy)
    return written


def check(rows: int, seed: int, noise: float, columns: int | None) -> None:
    """Raise UsageError for invalid sizes, seeds and noise."""
    if rows < 1:
        raise UsageError("SAMPLE-ROWS", f"a sample of {rows} rows is empty", where="--rows", hint="ask for 1 or more")
    if columns is not None and columns < 1:
        raise UsageError("SAMPLE-COLUMNS", f"a sample of {columns} columns is empty", where="--columns",
                         hint="ask for 1 or more")
    if seed < 0:
        raise UsageError("SAMPLE-SEED", f"the seed {seed} is negative", where="--seed", hint="use 0 or more")
    if not (np.isfinite(noise) and noise >= 0):
        raise UsageError("SAMPLE-NOISE", f"the noise {noise} is not a standard deviation", where="--noise",
                         hint="use a number that is 0 or more")
