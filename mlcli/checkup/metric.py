"""Whether dissimilarities are a metric, Euclidean, or a kernel: how often conditions are violated."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.checkup.report import (
    Condition,
    Corrections,
    EuclideanConditions,
    Identity,
    KernelConditions,
    MetricConditions,
    Offender,
    Symmetry,
    Triangle,
    Unknown,
)
from mlcli.core.euclidean_distances import gower
from mlcli.core.kernels.corrections import cailliez_constant, is_euclidean, lingoes_constant
from mlcli.core.kernels.forms import Dense
from mlcli.core.linalg import symmetric_eigenvalues
from mlcli.core.paths.floyd import shorten
from mlcli.data.pairs.square import ROUNDING as DIAGONAL
from mlcli.data.pairs.symmetry import ROUNDING as GAP
from mlcli.data.pairs.symmetry import symmetrize
from mlcli.data.table.cells import ROWS

SLACK = 1e-12  # of the largest dissimilarity: a side this much longer than the other two is rounding
CACHED = 2**16  # numbers in a block: they fit in the processor's cache
PAIR_ROWS = 8  # rows in a block of pairs: a row is fetched once for all of them
LISTED = 5


@frozen
class Sides:
    """Sides that are too long, worst first, and the number of triples with one."""

    violations: int
    triples: int
    excess: Array  # of each side listed over the shortest way around
    left: Indices
    right: Indices
    between: Indices  # the point on that way


@stage("triangle inequality")
def violations(distances: Array) -> Sides:
    """Count the triples that break the triangle inequality.

    `distances` is an (n, n) array: symmetric, with a zero diagonal, NaN where unknown. A triple with a side
    below zero always breaks it. Of the others, only pairs longer than some path through other points can:
    these are the pairs that Floyd and Warshall's algorithm shortens, and for each of them every third point
    is tried.
    """
    known = np.isfinite(distances)
    slack = SLACK * float(np.abs(distances, where=known, out=np.zeros_like(distances)).max(initial=0.0))
    usable = known & (distances >= -slack)
    lengths = np.where(usable, np.maximum(distances, 0.0), np.inf)
    triples = _triangles(known)
    long_sides = _too_long(lengths, _undercut(lengths), usable, slack)
    count = sum(part[0] for part in long_sides) + triples - _triangles(usable)
    excess, left, right = (np.concatenate([part[place] for part in long_sides]) for place in (1, 2, 3))
    top = np.lexsort((right, left, -excess))[:LISTED]
    between = (lengths[left[top]] + lengths[right[top]] + _ends(left[top], right[top], len(lengths))).argmin(axis=1)
    return Sides(count, triples, excess[top], left[top], right[top], between)


def _ends(left: Indices, right: Indices, size: int) -> Array:
    """Return a row for every pair: infinite at its two ends, zero elsewhere."""
    ends, rows = np.zeros((len(left), size)), np.arange(len(left))
    ends[rows, left] = ends[rows, right] = np.inf
    return ends


def _triangles(joined: AnyArray) -> int:
    """Count the triples of points joined pairwise in an (n, n) array of flags (the diagonal does not count)."""
    size = len(joined)
    if joined.all():
        return size * (size - 1) * (size - 2) // 6
    ones = joined.astype(np.float64)
    np.fill_diagonal(ones, 0.0)
    blocks = range(0, size, 512)
    return round(sum(float(np.sum((ones[at:at + 512] @ ones) * ones[at:at + 512])) for at in blocks) / 6)


def _undercut(lengths: Array) -> Array:
    """Return lengths of shortest paths; zeros, which exclude no pair, without native kernels."""
    if not native.available() or len(lengths) < 3:
        return np.zeros_like(lengths)
    paths = lengths.copy()
    np.fill_diagonal(paths, 0.0)
    for _ in shorten(paths):
        pass
    return paths


def _too_long(lengths: Array, paths: Array, usable: AnyArray,
              slack: float) -> list[tuple[int, Array, Indices, Indices]]:
    """Count, in blocks of rows, the triples with a pair as their longest side, and list the worst of these pairs."""
    size = len(lengths)
    count_of = native.undercuts if native.available() else undercuts

    def block(rows: slice) -> tuple[int, Array, Indices, Indices]:
        own = np.arange(rows.start, rows.stop)
        wanted = usable[rows] & (paths[rows] < lengths[rows] - slack) & (np.arange(size) > own[:, None])
        counts, least = count_of(lengths, rows.start, wanted, slack)
        gaps = np.subtract(lengths[rows], least, out=np.zeros_like(least), where=wanted)
        left, right = np.nonzero(gaps > slack)
        excess = gaps[left, right]
        worst = np.lexsort((right, left, -excess))[:LISTED]
        return int(counts.sum()), excess[worst], own[left[worst]], right[worst]

    return list(in_order(block, row_blocks(size, PAIR_ROWS), progress=True))


def undercuts(lengths: Array, first: int, wanted: AnyArray, slack: float) -> tuple[Indices, Array]:
    """Count detours shorter than each pair, as the native kernel of this name does, with NumPy.

    `lengths` is an (n, n) array, `wanted` an (m, n) array of flags for rows from `first` on. Returns, for
    each row, the number of ways over a third point that are shorter by more than `slack` than a wanted
    pair, an (m,) array; and the length of the shortest way of each wanted pair (infinite elsewhere), an (m,
    n) array.
    """
    counts, least = np.zeros(len(wanted), dtype=np.int64), np.full(wanted.shape, np.inf)
    step = max(1, CACHED // len(lengths))
    for row in range(len(wanted)):
        left, rights = lengths[first + row], np.flatnonzero(wanted[row])
        for at in range(0, len(rights), step):
            chosen = rights[at:at + step]
            around = lengths[chosen] + left
            counts[row] += np.count_nonzero(around < (left[chosen] - slack)[:, None])
            least[row, chosen] = around.min(axis=1)
    return counts, least


CAILLIEZ = 3000  # most points for Cailliez' constant: about seven eigenproblems, about a minute


@stage("euclidean")
def euclidean_of(distances: Array) -> tuple[EuclideanConditions, Corrections]:
    """Test an (n, n) array of dissimilarities (symmetric, zero diagonal, none negative) by the eigenvalues of -HD²H/2.

    Returns the result of the test, and the constants of Lingoes and Cailliez in the units of their
    correction.
    """
    unit = Unit.of(distances)
    normalized = unit.measured(distances)
    squared = normalized**2
    kernel = Dense.of(gower(squared)).matrix
    values = symmetric_eigenvalues(kernel)
    right = is_euclidean(values)
    in_units = (unit**2).plain(values)
    zero = 10 * len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
    negative = values < -zero
    sizes = float(np.abs(values).sum())
    # roots of Euclidean distances are Euclidean (Schoenberg, 1938)
    roots = right or is_euclidean(symmetric_eigenvalues(Dense.of(gower(normalized)).matrix))
    found = EuclideanConditions(right, float(in_units[-1]), float(in_units[0]), int(negative.sum()),
                                float(np.abs(values[negative]).sum() / sizes) if sizes > 0 else 0.0, roots)
    if right:
        return found, Corrections(0.0, 0.0)
    cailliez = cailliez_constant(squared, kernel) if len(values) <= CAILLIEZ else None
    return found, Corrections((unit**2).number(lingoes_constant(values)),
                              None if cailliez is None else unit.number(cailliez))


FEW = 256  # rows in a block of pairs
Ids = Sequence[str]


def metric_of(values: Array, completed: Array, ids: Ids) -> MetricConditions:
    """Check the conditions of an (n, n) array as it stands in the file, and triples of its symmetric form."""
    largest = largest_size(values)
    nonnegative, identity = nonnegative_of(values, ids), identity_of(values, ids, largest)
    symmetry, triangle = symmetry_of(values, ids, largest), triangle_of(completed, ids)
    missing = unknown_of(values, ids)
    broken = (missing.cells or nonnegative.violations or identity.violations or identity.coincident_pairs
              or symmetry.violations or triangle.violations)
    return MetricConditions(not broken, missing, nonnegative, identity, symmetry, triangle)


def unknown_of(values: Array, ids: Ids) -> Unknown:
    """Count the cells of an (n, n) array without a finite number, by the points of their rows."""
    cells = np.concatenate([(~np.isfinite(values[rows])).sum(axis=1) for rows in row_blocks(len(values), ROWS)])
    worst = np.argsort(-cells, kind="stable")[:LISTED]
    return Unknown(int(cells.sum()), int(np.count_nonzero(cells)),
                   tuple((ids[i], int(cells[i])) for i in worst.tolist() if cells[i]))


def largest_size(values: Array) -> float:
    """Return the largest finite absolute value in an (n, n) array."""
    parts = (values[rows] for rows in row_blocks(len(values), ROWS))
    return max(float(np.abs(part, where=np.isfinite(part), out=np.zeros_like(part)).max(initial=0.0)) for part in parts)


def nonnegative_of(values: Array, ids: Ids) -> Condition:
    """Find pairs of an (n, n) array with a number below zero."""
    count, worst = worst_pairs(len(values), lambda rows: -np.fmin(values[rows], values[:, rows].T))
    return Condition(count, _pairs(values), _offenders(worst, ids, lambda i, j: (min(values[i, j], values[j, i]),)))


def identity_of(values: Array, ids: Ids, largest: float) -> Identity:
    """Find points of an (n, n) array with a nonzero diagonal beyond rounding, and different points at distance zero."""
    diagonal = np.diag(values)
    sizes = np.where(np.isfinite(diagonal), np.abs(diagonal), 0.0)
    wrong = np.flatnonzero(sizes > DIAGONAL * largest)
    worst = wrong[np.argsort(-sizes[wrong], kind="stable")][:LISTED]
    same, pairs = worst_pairs(len(values), lambda rows: (values[rows] == 0) & (values[:, rows].T == 0))
    return Identity(len(wrong), len(values), tuple(Offender((ids[i],), (float(diagonal[i]),)) for i in worst.tolist()),
                    same, _offenders(pairs, ids, lambda i, j: (0.0,)))


def symmetry_of(values: Array, ids: Ids, largest: float) -> Symmetry:
    """Find pairs of an (n, n) array whose two numbers differ by more than rounding."""
    halves = largest / 2

    def gaps(rows: slice) -> Array:
        with np.errstate(invalid="ignore"):  # of two infinite ones; halves cannot overflow
            return np.asarray(np.abs(values[rows] * 0.5 - values[:, rows].T * 0.5) - GAP * halves)

    count, worst = worst_pairs(len(values), gaps)
    offenders = _offenders(worst, ids, lambda i, j: (values[i, j], values[j, i]))
    apart = [abs(first / 2 - second / 2) for first, second in (offender.values for offender in offenders)]
    return Symmetry(count, _pairs(values), offenders, apart[0] / halves if apart else 0.0)


def triangle_of(completed: Array, ids: Ids) -> Triangle:
    """Check the triangle inequality over all triples of a symmetric (n, n) array."""
    unit = Unit.of(np.nan_to_num(completed, nan=0.0, posinf=0.0, neginf=0.0))
    distances = unit.measured(completed)
    sides = violations(distances)
    worst = [(int(i), int(j), int(k)) for i, j, k in zip(sides.left, sides.right, sides.between, strict=True)]
    offenders = tuple(Offender((ids[i], ids[j], ids[k]), (float(completed[i, j]), float(completed[i, k]),
                                                          float(completed[k, j]))) for i, j, k in worst)
    excess = float(unit.plain(sides.excess[:1]).max(initial=0.0))
    return Triangle(sides.violations, sides.triples, sides.violations / max(sides.triples, 1), excess, offenders)


def worst_pairs(size: int, score: Callable[[slice], Array]) -> tuple[int, list[tuple[int, int]]]:
    """Count the pairs i < j of `size` points with a positive score, and list the few with the largest.

    `score` maps a slice of m rows to an (m, n) array of scores.
    """

    def block(rows: slice) -> tuple[int, list[tuple[float, int, int]]]:
        scores = np.triu(score(rows).astype(np.float64), rows.start + 1)
        flat = np.where(np.isnan(scores), 0.0, scores).ravel()
        positive = int(np.count_nonzero(flat > 0))
        few = np.argsort(-flat, kind="stable")[:LISTED] if positive else np.zeros(0, dtype=np.int64)
        return positive, [(float(flat[at]), rows.start + int(at) // size, int(at) % size) for at in few if flat[at] > 0]

    parts = list(in_order(block, row_blocks(size, FEW)))
    few = sorted((item for _, items in parts for item in items), key=lambda item: (-item[0], item[1], item[2]))
    return sum(count for count, _ in parts), [(i, j) for _, i, j in few[:LISTED]]


def _pairs(values: Array) -> int:
    return len(values) * (len(values) - 1) // 2


def _offenders(pairs: list[tuple[int, int]], ids: Ids,
               numbers: Callable[[int, int], tuple[float, ...]]) -> tuple[Offender, ...]:
    return tuple(Offender((ids[i], ids[j]), tuple(float(value) for value in numbers(i, j))) for i, j in pairs)


@stage("definiteness")
def kernel_of(values: Array, ids: Ids) -> KernelConditions:
    """Check an (n, n) array for missing cells and symmetry, and return the ends of its spectrum if none are missing."""
    missing, symmetry = unknown_of(values, ids), symmetry_of(values, ids, largest_size(values))
    if missing.cells:
        return KernelConditions(missing, symmetry, None, None, None)
    matrix = values.copy()
    symmetrize(matrix, "mean")
    unit = Unit.of(matrix)
    spectrum = symmetric_eigenvalues(unit.measured(matrix))
    return KernelConditions(missing, symmetry, is_euclidean(spectrum), unit.number(spectrum[-1]),
                            unit.number(spectrum[0]))
