"""Block Krylov with Rayleigh-Ritz: the largest eigenvalues of a kernel that is only applied to vectors.

Each pass applies the kernel to one block of vectors, makes the result orthogonal to all before
and solves the small projected problem (Golub and Underwood, 1977; Stewart's Krylov-Schur restart).
A block as wide as an eigenvalue's multiplicity finds all of its copies; a few more columns than
axes are wanted make the last of them converge as fast as the first.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.checkpoints import Place, loop
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.linalg import CACHED, require_finite, tall_qr
from mlcli.errors import NumericalError

SPARE = 4  # columns of a block beyond the axes wanted
PASSES = 500  # the edge of noise, which nothing separates, takes 50 to 200; beyond that the whole spectrum is quicker
IDLE = 2  # consecutive passes that gain less than half of the rest: nothing more can be gained
WIDEST = 16  # blocks kept before a restart; each costs two n x b arrays
GROUP, GROUPS = 4, 32  # products that one thread makes at a time, and most such groups: a product takes 50 microseconds

Apply = Callable[[Array], Array]
Pairs = tuple[Array, Callable[[int], Array], Array]  # Ritz values, a function for vectors, and residuals
NOTHING: Pairs = (np.zeros(0), lambda count: np.zeros((0, 0)), np.zeros(0))


@frozen
class Ritz:
    """Converged eigenpairs, descending, with residuals and the number of passes."""

    values: Array  # m
    vectors: Array  # n x m
    residuals: Array  # m, ‖Kv - λv‖ relative to the largest eigenvalue
    passes: int
    block: Array  # n x b: the first Ritz vectors, converged or nearly, to begin again from
    at_least: Array  # values after the converged ones: lower bounds of the eigenvalues of their rank
    negative: Array  # Ritz values below zero: their sizes sum to no more than those of the negative eigenvalues


@result("krylov")
@frozen
class KrylovCheckpoint:
    """State of the search between two passes; a search resumed from it gives the same bits."""

    vectors: Array  # n x w, orthonormal
    images: Array  # n x w, K times the vectors
    small: Array  # w x w, the vectors' products with the images
    block: Array  # n x b, what the next pass multiplies
    widest: int  # vectors kept before a restart
    passes: int = 0  # that are done
    least: float = np.inf  # the smallest that the largest wanted residual has been
    idle: int = 0  # passes in a row that gained little

    @classmethod
    def before(cls, start: Array, kept: int | None = None) -> "KrylovCheckpoint":
        """Return the checkpoint before the first pass, for a start block (n x b); a restart comes at `kept` vectors."""
        none = np.empty((len(start), 0))
        widest = min(kept or WIDEST * start.shape[1], len(start))
        return cls(none, none, np.zeros((0, 0)), tall_qr(start)[0], widest)


def krylov(apply: Apply, start: Array, count: int, tolerance: float, noise: float = 0.0, clear: float | None = None,
           passes: int = PASSES, kept: int | None = None, growth: float = 0.0, later: int | None = None) -> Ritz:
    """Return the `count` algebraically largest eigenpairs, from a start block (n x b).

    Stops when every wanted residual is below `tolerance` times the largest absolute eigenvalue, or when residuals stop
    falling and are below `noise`, the rounding error of the kernel. Raises NumericalError if `passes` are not enough.
    Further pairs that have converged by then are returned as well. With `clear`, only eigenvalues of at least this
    share of the largest are wanted. A checkpoint is offered before each further pass. `kept` is the number of basis
    vectors before a restart, by default those of WIDEST blocks. Where passes cost less than the projected problem of
    many vectors, that is solved only once the basis has grown by the share `growth`. With `later`, blocks after the
    first are the residuals of so many leading Ritz pairs, which refine a good start.
    """
    with loop(KrylovCheckpoint) as place:
        with single_threaded_blas():  # blocks this thin cost threads more to share than to multiply
            begun = place.left or KrylovCheckpoint.before(start, kept)
        return _search(apply, begun, place, (count, tolerance, noise, clear), passes, growth, later)


def _search(apply: Apply, begun: KrylovCheckpoint, place: Place[KrylovCheckpoint],
            demand: tuple[int, float, float, float | None], most_passes: int, growth: float, later: int | None) -> Ritz:
    """Continue a search from a checkpoint."""
    count, tolerance, noise, clear = demand
    with single_threaded_blas():
        basis, least, idle = _Basis(begun, growth, later), begun.least, begun.idle
    for passes in range(begun.passes + 1, most_passes + 1):
        image = apply(basis.newest)
        require_finite(image, "the kernel")
        with single_threaded_blas():
            basis.extend(image)
            due = basis.due or passes == most_passes
            values, vectors, residuals = basis.ritz(count) if due else NOTHING
        most = count if clear is None or not due else max(int(np.sum(values[:count] >= clear * values[0])), 1)
        wanted = residuals[:most]
        worst = float(wanted.max(initial=0.0)) if len(wanted) == most else np.inf
        if due:
            least, idle = min(least, worst), idle + 1 if worst > least / 2 else 0
        reached = max(tolerance, worst) if worst <= noise and idle >= IDLE else tolerance
        if worst <= reached:
            with single_threaded_blas():
                values, vectors, residuals = basis.ritz(count, further=True)
            reached = max(reached, float(residuals[:most].max(initial=0.0)))  # of wider products, rounded otherwise
            good = int(np.argmin(np.append(residuals <= reached, False)))
            with single_threaded_blas():
                return Ritz(values=values[:good], vectors=vectors(good), residuals=residuals[:good], passes=passes,
                            block=vectors(max(good, most + SPARE)), at_least=_lower_bounds(values, residuals, good),
                            negative=values[values < 0])
        with single_threaded_blas():
            grown = basis.grow(image, count)
        if not grown:
            values, vectors, residuals = basis.ritz(count)
            return Ritz(values=values[:count], vectors=vectors(count), residuals=residuals[:count], passes=passes,
                        block=vectors(count + SPARE), at_least=np.zeros(0), negative=values[values < 0])
        if passes < most_passes:
            place.offer(partial(basis.checkpoint, passes, least, idle))
    converged = int((wanted <= tolerance).sum())
    raise NumericalError("KRYLOV", f"{converged} of {most} eigenvalues converged in {most_passes} passes; the largest "
                         f"relative residual is {wanted.max(initial=0.0):.1e}", where="method.eigensolve",
                         hint="ask for fewer axes or set method.eigensolve.tolerance higher")


def _lower_bounds(values: Array, residuals: Array, first: int) -> Array:
    """Return the Ritz values from `first` on that exceed their residuals: lower bounds of eigenvalues (interlacing)."""
    following = values[first : len(residuals)]
    clear = following > residuals[first:] * np.abs(values).max(initial=0.0)
    return following[: int(np.argmin(np.append(clear, False)))]


class _Basis:
    """Orthonormal vectors with their images, in arrays that are filled block by block."""

    def __init__(self, begun: KrylovCheckpoint, growth: float, later: int | None) -> None:
        self._growth, self._later = growth, later
        self._solved: tuple[Array, Array] | None = None  # of the projected problem
        self._vectors = np.empty((len(begun.block), begun.widest), order="F")
        self._images = np.empty_like(self._vectors)
        self._width, self._block, self._small = len(begun.small), begun.block, begun.small
        self._vectors[:, : self._width], self._images[:, : self._width] = begun.vectors, begun.images

    def checkpoint(self, passes: int, least: float, idle: int) -> KrylovCheckpoint:
        """Return the state that the next pass needs; its arrays are views, and that pass overwrites some of them."""
        vectors, images = (array[:, : self._width] for array in (self._vectors, self._images))
        return KrylovCheckpoint(vectors=vectors, images=images, small=self._small, block=self._block,
                                widest=self._vectors.shape[1], passes=passes, least=least, idle=idle)

    @property
    def newest(self) -> Array:
        """The block (n x b) that the next pass multiplies."""
        return self._block

    def extend(self, image: Array) -> None:
        """Add the newest block with its image (n x b)."""
        old, new = self._width, self._width + image.shape[1]

        def place(rows: slice) -> None:
            self._vectors[rows, old:new], self._images[rows, old:new] = self._block[rows], image[rows]

        each(place, row_blocks(len(image), CACHED, image.shape[1]))
        self._width = new
        self._corner = corner = self._shares(image)
        small = np.zeros((new, new))
        small[:old, :old], small[:, old:], small[old:, :old] = self._small, corner, corner[:old].T
        small[old:, old:] = (corner[old:] + corner[old:].T) / 2
        self._small, self._solved = small, None

    @property
    def due(self) -> bool:
        """Whether the basis has grown enough since the projected problem was solved; by its width alone."""
        if not self._growth:
            return True
        before, now = (int(np.log(width) / np.log1p(self._growth))
                       for width in (max(self._width - self._block.shape[1], 1), self._width))
        return now > before

    def ritz(self, count: int, *, further: bool = False) -> Pairs:
        """Return Ritz values, a function for vectors, and relative residuals, of `count` pairs and a few `further`.

        The function maps a count c to the first c Ritz vectors (n x c).
        """
        values, rotation = self._pairs()
        vectors = self._vectors[:, : self._width]
        wide = self._block.shape[1]
        most = (max(2 * wide, 8) if wide >= count else 2 * (count + SPARE)) if further else count
        show = min(self._width, most)
        errors = self._errors(show)

        def squares(rows: slice) -> Array:
            return np.stack([np.einsum("ij,ij->j", some, some) for some in errors(rows)])

        scale = float(np.abs(values).max(initial=0.0))
        residuals = np.sqrt(self._sum(squares)) / scale if scale > 0 else np.zeros(show)
        return values, lambda count: vectors @ rotation[:, :count], residuals

    def _errors(self, count: int) -> Callable[[slice], Array]:
        """Return the function of a group of rows that gives Kv - λv of the first Ritz pairs (blocks x r x count)."""
        values, rotation = self._pairs()
        turned, step = rotation[:, :count], self._step
        vectors, images = self._vectors[:, : self._width], self._images[:, : self._width]

        def errors(rows: slice) -> Array:
            difference: Array = _stack(images[rows], step) @ turned
            difference -= (_stack(vectors[rows], step) @ turned) * values[:count]
            return difference

        return errors

    def _pairs(self) -> tuple[Array, Array]:
        """Return the eigenvalues and eigenvectors of the projected problem, descending."""
        if self._solved is None:
            values, rotation = np.linalg.eigh(self._small)
            self._solved = values[::-1], rotation[:, ::-1]
        return self._solved

    def grow(self, image: Array, count: int) -> bool:
        """Make the image (n x b) of the last `extend`, or residuals, orthogonal to the basis: the next block.

        Return False where nothing new is left. A restart keeps `count` Ritz vectors and more.
        """
        rest = self._rest(image)
        self._take(rest, self._shares(rest))
        block, triangle = tall_qr(rest)
        new = np.abs(np.diag(triangle)) > 1e3 * EPS * np.linalg.norm(image, axis=0).max(initial=0.0)
        block = block[:, new]
        self._take(block, self._shares(block))
        self._block = tall_qr(block)[0]
        if self._width + self._block.shape[1] > self._vectors.shape[1]:
            self._restart(max(3 * image.shape[1], count + 2 * image.shape[1]))
        return bool(new.any())

    def _rest(self, image: Array) -> Array:
        """Return the part of an image (n x b) outside the basis, or the residuals that come in its place."""
        if self._later is None:
            rest = image.copy()
            self._take(rest, self._corner)
            return rest
        count = min(self._later, self._width)
        rest, errors = np.empty((len(image), count)), self._errors(count)

        def fill(rows: slice) -> None:
            rest[rows] = errors(rows).reshape(-1, count)

        each(fill, self._groups())
        return rest

    def _shares(self, block: Array) -> Array:
        """Return Vᵀ B of the basis V and a block B (n x b)."""
        step, vectors = self._step, self._vectors[:, : self._width]
        return self._sum(lambda rows: _stack(vectors[rows], step).transpose(0, 2, 1) @ _stack(block[rows], step))

    def _take(self, block: Array, shares: Array) -> None:
        """Subtract V C from a block (n x b) in place, for the basis V and its shares C."""
        step, vectors = self._step, self._vectors[:, : self._width]

        def take(rows: slice) -> None:
            block[rows] -= (_stack(vectors[rows], step) @ shares).reshape(block[rows].shape)

        each(take, self._groups())

    def _sum(self, parts: Callable[[slice], Array]) -> Array:
        """Return the sum of an array over blocks of rows, in their order; `parts` returns those of a group's blocks."""
        return sum((part for group in in_order(parts, self._groups()) for part in group), start=np.zeros(()))

    @property
    def _step(self) -> int:
        """The number of rows of a block, whose part of the basis stays in the cache."""
        return max(1, CACHED // self._width)

    def _groups(self) -> list[slice]:
        """Return rows in groups of whole blocks, the work of a thread at a time; the last may be a part of a block."""
        blocks, rest = divmod(len(self._vectors), self._step)
        whole = blocks * self._step
        groups = row_blocks(whole, self._step * max(GROUP, -(-blocks // GROUPS)))
        return [*groups, slice(whole, whole + rest)] if rest else groups

    def _restart(self, keep: int) -> None:
        """Reduce the basis to the `keep` best Ritz vectors and their images, without a pass."""
        keep = min(keep, self._width)
        values, rotation = self._pairs()
        turned = rotation[:, :keep]
        self._vectors[:, :keep] = self._vectors[:, : self._width] @ turned
        self._images[:, :keep] = self._images[:, : self._width] @ turned
        self._small, self._width, self._solved = np.diag(values[:keep]), keep, None


def _stack(rows: Array, step: int) -> Array:
    """Return a group of rows (m x w) as its blocks (m / step x step x w), or as the one block that it is a part of."""
    step = min(step, len(rows))
    return rows.reshape(len(rows) // step, step, rows.shape[1])  # not -1: a block may have no columns
