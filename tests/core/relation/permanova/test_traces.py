"""Sums of squares in one pass are traces with orthonormal bases, for every permutation, kind of term and tile."""

from typing import Any

import numpy as np
import pytest

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.core.permutations import Permutations
from mlcli.core.relation import permanova as analysis
from mlcli.core.relation import traces
from mlcli.core.relation.permanova import By, Factor, inner_products, permanova, sequential_bases, terms_of

SIZE = 97
GENERATOR = np.random.default_rng(3)
SQUARED = np.square(np.linalg.norm(np.subtract(*np.broadcast_arrays(
    *(lambda points: (points[:, None], points))(GENERATOR.standard_normal((SIZE, 4))))), axis=2)) ** 0.3
X = GENERATOR.standard_normal(SIZE)
SITE = {"group": Factor(GENERATOR.integers(0, 5, SIZE), tuple("abcde")), "x": X, "year": 1e9 + np.arange(SIZE) % 7,
        "block": Factor(GENERATOR.integers(0, 2, SIZE), ("u", "v")), "z": GENERATOR.standard_normal(SIZE),
        "almost": X + 1e-5 * GENERATOR.standard_normal(SIZE)}
FORMULAS = ["group", "group * block", "x + group:x + block", "year * group + z", "x + almost", "x:z + block:group:z"]


def tile(rows: slice, columns: slice) -> Array:
    return SQUARED[rows, columns].copy()


def ratios(orders: Array, formula: str, by: By) -> Array:
    """Pseudo-F (p x t) of each order of the rows, from traces with the bases of the terms, as their definition has it.
    """
    terms, products = terms_of(formula), inner_products(SQUARED.copy())
    bases = sequential_bases(terms, SITE)
    model = np.column_stack(bases)
    tested = [model] if by == "none" else bases if by == "terms" else [
        sequential_bases([*(other for other in terms if other != term), term], SITE)[-1]
        for term in analysis.droppable(terms)]
    tested = [basis for basis in tested if basis.shape[1]]
    rows = [products[np.ix_(order, order)] for order in orders]
    squares = np.array([[np.trace(basis.T @ some @ basis) / basis.shape[1] for basis in tested] for some in rows])
    rest = np.trace(products) - np.array([np.trace(model.T @ some @ model) for some in rows])
    return squares / rest[:, None] * (SIZE - 1 - model.shape[1])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "ROWS", 30)
    monkeypatch.setattr(traces, "COLUMNS", 41)
    monkeypatch.setattr(analysis, "HELD", 7 * SIZE)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("by", ["terms", "margin", "none"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_sums_are_traces_with_the_bases(formula: str, by: By, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernels and not native.available():
        pytest.skip("needs the native kernels")
    monkeypatch.setattr(native, "available", lambda: kernels)
    strata = SITE["block"].codes if formula == "group" else None  # type: ignore[union-attr]
    drawn = Permutations(19, 4)
    orders = np.vstack([np.arange(SIZE), *drawn.batches(SIZE, strata)])
    expected, found = ratios(orders, formula, by), permanova(tile, terms_of(formula), SITE, by, drawn, strata)[:-2]
    assert [row.ratio for row in found] == pytest.approx(expected[0], rel=1e-10)
    reached = (expected[1:] >= expected[0] - 2.0**-26).sum(axis=0)
    assert [row.p_value for row in found] == pytest.approx((reached + 1) / 20)


@pytest.mark.usefixtures("small")
def test_every_permutation_has_its_own_sums() -> None:
    terms, drawn = terms_of("group + x"), Permutations(9, 1)
    bases = sequential_bases(terms, SITE)
    design = traces.Design.of([analysis.design_term(term, SITE) for term in terms], bases_of(bases))
    (places,) = [some.copy() for some in analysis._places(drawn, SIZE, None)][:1]
    found, whole = design.squares(tile, places)
    products = inner_products(SQUARED.copy())
    assert whole == pytest.approx(np.trace(products), rel=1e-12)
    expected = [[np.trace(basis[order].T @ products @ basis[order]) for basis in bases_of(bases)] for order in places]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def bases_of(bases: list[Array]) -> list[Array]:
    return [np.column_stack(bases), *bases]


def test_nearly_dependent_columns_are_taken_as_a_basis() -> None:
    terms = terms_of("x + almost")
    bases = sequential_bases(terms, SITE)
    design = traces.Design.of([analysis.design_term(term, SITE) for term in terms], bases_of(bases))
    assert np.array_equal(design.numbers, np.column_stack(bases).T)


@pytest.mark.usefixtures("small")
def test_threads_change_no_bit() -> None:
    def table(threads: int) -> list[Any]:
        with limit_threads(threads):
            return permanova(tile, terms_of("group + x"), SITE, "terms", Permutations(19))

    assert table(1) == table(3)
