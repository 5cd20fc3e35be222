"""The terms of a model as columns, and orthonormal bases of what each adds to the ones before it."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.stages.relation.formula import Term

ALIASED = 1e-7  # share of a column's length, outside of the span of earlier ones, up to which it is dependent (R's qr)
Variables = Mapping[str, "Array | Factor"]


@frozen
class Factor:
    """A factor: the code of each row from 0, and its levels."""

    codes: Indices  # n
    levels: tuple[str, ...]

    @property
    def indicators(self) -> Array:
        """A column of ones and zeros for each level (n x levels)."""
        return np.asarray(self.codes[:, None] == np.arange(len(self.levels)), dtype=np.float64)


def columns_of(term: Term, variables: Variables) -> Array:
    """Return the columns (n x q) of a term: numbers as they are, indicators of levels, products for an interaction.

    What they span beyond their margins is what R's contrasts span.
    """
    parts = [value.indicators if isinstance(value, Factor) else value[:, None]
             for value in (variables[name] for name in term)]
    return np.column_stack([np.prod(chosen, axis=0) for chosen in product(*(part.T for part in parts))])


def sequential_bases(terms: Sequence[Term], variables: Variables) -> list[Array]:
    """Return for each term an orthonormal basis (n x q) of what it adds to the mean and the terms before it."""
    basis = np.zeros((0, 0))
    bases = []
    for term in terms:
        columns = columns_of(term, variables)
        basis = basis if len(basis) else np.zeros((len(columns), 0))
        start = basis.shape[1]
        for column in (columns - columns.mean(axis=0)).T:
            basis = _extended(basis, column)
        bases.append(basis[:, start:])
    return bases


def _extended(basis: Array, column: Array) -> Array:
    """Return the basis (n x q) with one more direction, where a centered column (n) has one outside of its span."""
    length = float(np.linalg.norm(column))
    if not length or basis.shape[1] >= len(column) - 1:
        return basis
    rest = column / length
    for _ in range(2):  # once more for the rounding of the first
        rest = rest - basis @ (basis.T @ rest)
    left = float(np.linalg.norm(rest))
    if left <= ALIASED:
        return basis
    rest = rest / left
    rest -= rest.mean()
    return np.column_stack([basis, rest / np.linalg.norm(rest)])
