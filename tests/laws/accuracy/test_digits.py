"""Eigenvalues far below the first keep the digits that the data has, or a warning says that they do not."""

from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.core.kernels import factor_solver, factored
from mlcli.pipeline import run as pipeline
from tests.faults.certificate.support import certificate, configured
from tests.support import Notes, fit
from tests.wording import Wording

UNITS = np.array([1e-6, 1e6, 1.0, 1e3])


def of_units(rows: int = 60, offset: float = 1e8) -> Array:
    """Columns of very different units, far from zero."""
    return np.random.default_rng(0).standard_normal((rows, 4)) * UNITS + offset


def exact_variances(points: Array) -> list[Decimal]:
    """Eigenvalues of the covariance (divisor n) of these very doubles: exact sums, then Jacobi rotations in 60 digits.
    """
    columns = [[Fraction(value) for value in column] for column in points.T.tolist()]
    centered = [[value - sum(column) / len(column) for value in column] for column in columns]
    with localcontext() as context:
        context.prec = 60
        matrix = [[_decimal(sum(a * b for a, b in zip(left, right, strict=True)) / len(left)) for right in centered]
                  for left in centered]
        for _ in range(12):
            _sweep(matrix)
        return sorted((matrix[i][i] for i in range(len(matrix))), reverse=True)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _sweep(matrix: list[list[Decimal]]) -> None:
    size = range(len(matrix))
    for p, q in ((p, q) for p in size for q in size if p < q and matrix[p][q]):
        turn = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q])
        tangent = (1 if turn >= 0 else -1) / (abs(turn) + (turn * turn + 1).sqrt())
        cosine = 1 / (tangent * tangent + 1).sqrt()
        sine = tangent * cosine
        for row in matrix:
            row[p], row[q] = cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]
        for k in size:
            above, below = matrix[p][k], matrix[q][k]
            matrix[p][k], matrix[q][k] = cosine * above - sine * below, sine * above + cosine * below


def worst(found: Array, exact: list[Decimal]) -> float:
    """The largest relative error."""
    return max(abs(float((Decimal(value) - true) / true)) for value, true in zip(found.tolist(), exact, strict=True))


@pytest.mark.parametrize("route", ["auto", "svd"])
@pytest.mark.parametrize("kind", ["units", "mixed", "turned"])
def test_every_eigenvalue_has_the_digits_that_the_data_has(route: str, kind: str) -> None:
    points = of_units()
    if kind == "mixed":  # the small columns hold some of the large ones
        points[:, 2] += 1e-6 * points[:, 1]
    if kind == "turned":
        points = (points - 1e8) @ np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    shown = 3 if kind == "turned" else 4  # the smallest is what rounding of the largest coordinates left
    found = fit("pca", points, route=route, eigensolve={"components": 2}).spectrum.eigenvalues[:shown]
    assert worst(found, exact_variances(points)[:shown]) <= 1e-10


@pytest.mark.parametrize("threads", [1, 2])
def test_a_factor_made_in_many_blocks_loses_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factored, "PART", 24)
    monkeypatch.setattr(factored, "PARTS", 3)
    points = of_units(100)
    with limit_threads(threads):
        model = fit("pca", points, eigensolve={"components": 4})
    assert worst(model.spectrum.eigenvalues, exact_variances(points)) <= 1e-12
    with limit_threads(3 - threads):
        assert np.array_equal(fit("pca", points, eigensolve={"components": 4}).embedding, model.embedding)


def test_all_axes_of_the_smaller_side_keep_their_digits() -> None:
    wide = np.hstack([of_units(4), of_units(4) / 2])  # four rows: three axes
    found = fit("pca", wide, eigensolve={"components": 3}).spectrum.eigenvalues[:3]
    assert worst(found, exact_variances(wide)[:3]) <= 1e-10


@pytest.mark.parametrize("route", ["covariance", "dual"])
def test_a_route_that_loses_digits_says_so(route: str, tmp_path: Path, wording: Wording) -> None:
    run = pipeline.run(configured(tmp_path, {"name": "pca", "route": route, "eigensolve": {"components": 1}},
                                  of_units(300)))
    warning = next(warning for warning in run["warnings"] if warning["code"] == "W-DIGITS")
    assert warning["eigenvalues"] == 2
    assert wording(warning["message"]) == []
    check = next(check for check in certificate(tmp_path)["checks"] if check["name"] == "eigenvalues")
    assert check["verdict"] == "warn"
    assert "fewer than six digits" in check["how"]


def test_the_chosen_route_passes_without_a_word(tmp_path: Path) -> None:
    run = pipeline.run(configured(tmp_path, {"name": "pca", "eigensolve": {"components": 4}}, of_units(300)))
    assert run["warnings"] == []
    assert run["certificate"] == "pass"


def test_axes_of_a_kernel_matrix_that_drown_in_rounding_are_told() -> None:
    points = of_units(60, offset=0.0)
    for method, options in (("mds", {}), ("kpca", {"kernel": {"name": "linear"}})):
        for components, told in ((2, False), (3, True)):
            with Notes() as notes:
                fit(method, points, eigensolve={"components": components}, **options)
            assert ("W-DIGITS" in notes.codes) == told


@pytest.mark.parametrize("kind", ["doubled column", "constant column", "more columns than rows"])
def test_directions_that_are_not_there_have_no_eigenvalue(kind: str) -> None:
    generator = np.random.default_rng(4)
    points: Any = generator.standard_normal((40, 4))
    if kind == "doubled column":
        points[:, 3] = 3 * points[:, 1]
    elif kind == "constant column":
        points[:, 3] = 1.1
    else:
        points = generator.standard_normal((4, 40))
    with Notes() as notes:
        spectrum = fit("pca", points, eigensolve={"components": "all"}).spectrum
    assert spectrum.vectors.shape[1] == 3
    assert abs(spectrum.values[3]) <= 1e-14 * spectrum.values[0]
    assert "W-DIGITS" not in notes.codes


@pytest.mark.parametrize("rows", [340, 1200])
def test_a_prediction_knows_which_tables_are_decomposed_again(rows: int) -> None:
    """Few rows beside the columns leave small eigenvalues, which variances of columns do not show."""
    generator = np.random.default_rng(0)
    points = 2 * generator.standard_normal((rows, 5)) @ generator.standard_normal((5, 300))
    points += generator.standard_normal(points.shape) / 2
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    assert factor_solver.loses_digits(points) == (sizes[-1] < factor_solver.NARROW * sizes[0]) == (rows == 340)
