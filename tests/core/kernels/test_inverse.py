"""M⁺ of a sparse cost: what it keeps in memory."""

import weakref
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels import inverse
from mlcli.core.kernels.inverse import Inverse
from mlcli.core.sparse_factors import CompressedRows

SIZE = 700


def path() -> CompressedRows:
    """The incidence of a path: a row (1, -1) for each edge."""
    ends = np.stack([np.arange(SIZE - 1), np.arange(1, SIZE)], axis=1)
    return CompressedRows(2 * np.arange(SIZE), ends.ravel(), np.tile([1.0, -1.0], SIZE - 1), SIZE)


def test_the_factors_are_freed_when_the_eigenproblem_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    factors: list[weakref.ref[Any]] = []

    def watched(*given: Any, **named: Any) -> Any:
        made = factorization(*given, **named)
        factors.append(weakref.ref(made))
        return made

    factorization = inverse.factorization
    monkeypatch.setattr(inverse, "factorization", watched)
    kernel = Inverse(path())
    solved = kernel.solve(Eigensolve(components=2, solver="krylov"), Compute(seed=0))
    assert not solved.complete  # so that there was a factorization
    assert [ref() for ref in factors] == [None]
    lengths = 4 * np.sin(np.arange(1, 3) * np.pi / (2 * SIZE)) ** 2
    assert solved.values[:2] == pytest.approx(1 / lengths, rel=1e-8)


def test_filters_find_what_a_factorization_does() -> None:
    solved = [Inverse(path(), filtered=filtered).solve(Eigensolve(components=2, solver=solver), Compute(seed=0))
              for filtered, solver in ((False, "krylov"), (True, "filter"))]
    factored, filtered = (each.take(2)[0] for each in solved)
    assert solved[1].values[:2] == pytest.approx(solved[0].values[:2], rel=1e-8)
    assert np.abs(np.sum(factored * filtered, axis=0)) == pytest.approx(1, abs=1e-9)
    assert solved[1].tolerance <= 1e-8
