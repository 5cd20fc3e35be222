"""Permutations of rows for tests: drawn by a seed, within strata or not, or given; and the p-value of a statistic."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, running
from mlcli.base.types import Array, Indices
from mlcli.errors import DataError

TOGETHER = 2**18  # numbers of the permutations that are drawn together
TIED = 2.0**-26  # differences of a statistic up to which a permutation counts as one that is as large (vegan's EPS)


@frozen
class Permutations:
    """Permutations of rows: so many by a seed, or given ones (count x n)."""

    count: int
    seed: int = 0
    given: Indices | None = None

    def batches(self, size: int, strata: Indices | None = None, most: int = 2**31) -> Iterator[Indices]:
        """Yield the orders (b x n) of n rows, at most `most` together; with strata, codes (n), only within these.

        They are the same for every test of as many rows and the same strata. Raises DataError for given ones of
        another number of rows, or that move rows to other strata.
        """
        step = max(1, min(most, TOGETHER // max(size, 1)))
        if self.given is not None:
            self._require_fit(self.given, size, strata)
            yield from (self.given[start : start + step] for start in range(0, self.count, step))
            return
        generator = np.random.default_rng(self.seed)
        home = None if strata is None else np.argsort(strata, kind="stable")
        for drawn in range(self.count):
            order = generator.permutation(size)
            if strata is not None and home is not None:
                within = np.empty(size, dtype=np.int64)
                within[home] = order[np.argsort(strata[order], kind="stable")]
                order = within
            if drawn % step == 0:
                batch = np.empty((min(step, self.count - drawn), size), dtype=np.int64)
            batch[drawn % step] = order
            if drawn % step == len(batch) - 1:
                yield batch

    def _require_fit(self, given: Indices, size: int, strata: Indices | None) -> None:
        if given.shape[1] != size:
            raise DataError("PERMUTATIONS", f"permutations of {given.shape[1]:,} rows, and a test of {size:,} rows",
                            where="--permutations", hint="give one for each row that the run and the file have in "
                            "common; variables without a missing cell have all of them")
        if strata is not None and (wrong := (strata[given] != strata).any(axis=1)).any():
            raise DataError("PERMUTATIONS", "rows are moved to other strata", where="--permutations",
                            row=int(np.flatnonzero(wrong)[0]), hint="leave out --strata, or permute within the strata")

    def p_values(self, observed: Array, statistics: Callable[[Indices], Array], size: int, *,
                 strata: Indices | None = None, most: int = 2**31, slack: float = TIED) -> Array:
        """Return the share of permutations whose statistics are no lower than the observed ones (v), these included.

        `statistics` returns those of some orders (b x n) of n rows, a (b, v) array; NaN do not count. Without
        permutations, or where a statistic is NaN, the p-value is NaN.
        """
        def found() -> Iterator[Array]:
            done = 0
            for orders in self.batches(size, strata, most):
                yield statistics(orders)
                done += len(orders)
                advance(done, self.count)

        with running("permutations"):
            return self.shares_reached(observed, found(), slack)

    def shares_reached(self, observed: Array, found: Iterable[Array], slack: float = TIED) -> Array:
        """Return the p-values (v) of observed statistics (v), from those found for the permutations (b x v each)."""
        reached, defined = np.zeros(len(observed)), np.zeros(len(observed))
        for some in found:
            reached += (some >= observed - slack).sum(axis=0)
            defined += (~np.isnan(some)).sum(axis=0)
        return np.where(np.isnan(observed) | (self.count < 1), np.nan, (reached + 1) / (defined + 1))


def permutations_of(matrix: Array) -> Permutations:
    """Return the permutations in the rows of a matrix (count x n) of the numbers 1 to n, as R's `shuffleSet` has them.

    Raises DataError for a row that is none.
    """
    size = matrix.shape[1]
    wrong = (np.sort(matrix, axis=1) != np.arange(1, size + 1)).any(axis=1)
    if wrong.any():
        raise DataError("PERMUTATIONS", f"this is no permutation of the numbers 1 to {size:,}",
                        where="--permutations", row=int(np.flatnonzero(wrong)[0]),
                        hint="each row has every number from 1 to the number of rows once, as R's shuffleSet writes it")
    return Permutations(len(matrix), given=matrix.astype(np.int64) - 1)
