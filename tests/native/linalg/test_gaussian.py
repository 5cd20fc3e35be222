"""Products with tiles of a Gaussian kernel, against NumPy's at every instruction set."""

import numpy as np
import pytest

from mlcli.core.kernels.functions import Gaussian
from mlcli.native.linalg import gaussian_tile
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)
ROUNDING = {"float64": 2e-15, "float32": 1e-6}


@pytest.mark.parametrize("kind", ROUNDING)
@pytest.mark.parametrize(("rows", "columns", "axes", "width"), [
    (1, 1, 1, 1), (3, 70, 2, 5), (33, 15, 50, 16), (64, 64, 3, 17), (130, 97, 7, 40), (17, 5, 0, 3)])
def test_products_are_those_of_the_matrix(rows: int, columns: int, axes: int, width: int, kind: str) -> None:
    generator = np.random.default_rng(rows)
    left, right = Gaussian(rate=0.3).factors(generator.standard_normal((rows, axes)))[0].astype(kind), \
        Gaussian(rate=0.3).factors(generator.standard_normal((columns, axes)))[1].astype(kind)
    of_rows, of_columns = (generator.standard_normal((size, width)).astype(kind) for size in (rows, columns))
    to_rows, to_columns = np.ones((rows, width)), np.ones((columns, width))
    squares = gaussian_tile(left, right, of_columns=of_columns, of_rows=of_rows, to_rows=to_rows,
                            to_columns=to_columns)
    matrix = np.exp(np.minimum(left.astype(float) @ right.T.astype(float), 0))
    scale = 4 * ROUNDING[kind] * max(rows, columns)
    assert np.abs(to_rows - 1 - matrix @ of_columns).max() <= scale
    assert np.abs(to_columns - 1 - matrix.T @ of_rows).max() <= scale
    assert squares == pytest.approx((matrix**2).sum(), rel=scale)


@pytest.mark.parametrize("kind", ROUNDING)
def test_values_are_the_exponential_to_its_last_digits(kind: str) -> None:
    """Also where it is next to nothing, and one where rounding leaves a distance below zero."""
    powers = np.append(np.linspace(-80 if kind == "float32" else -700, 0, 4001), [1e-9, 5.0])[:, None].astype(kind)
    values = np.zeros((len(powers), 1))
    gaussian_tile(powers, np.ones((1, 1), kind), of_columns=np.ones((1, 1), kind), of_rows=None, to_rows=values,
                  to_columns=values[:1])
    expected = np.exp(np.minimum(powers.astype(float), 0))
    assert np.abs(values / expected - 1).max() <= (2.5e-7 if kind == "float32" else 1e-15)


@pytest.mark.parametrize("kind", ROUNDING)
def test_values_beyond_the_range_are_nothing_and_no_number_stays_none(kind: str) -> None:
    powers = np.array([[-1e30], [-np.inf], [np.nan]], kind)
    values = np.zeros((3, 1))
    gaussian_tile(powers, np.ones((1, 1), kind), of_columns=np.ones((1, 1), kind), of_rows=None, to_rows=values,
                  to_columns=values[:1])
    assert np.all(values[:2] < 1e-37)
    assert np.isnan(values[2, 0])


def test_a_tile_on_the_diagonal_is_multiplied_once() -> None:
    points = np.random.default_rng(1).standard_normal((40, 3))
    left, right = Gaussian(rate=0.3).factors(points)
    vectors, rows, columns = np.ones((40, 2)), np.zeros((40, 2)), np.zeros((40, 2))
    gaussian_tile(left, right, of_columns=vectors, of_rows=None, to_rows=rows, to_columns=columns)
    assert np.allclose(rows, Gaussian(rate=0.3)(points, points) @ vectors, rtol=1e-13)
    assert not columns.any()


def test_shapes_that_do_not_fit_are_refused() -> None:
    left, right, rows, columns = np.ones((3, 2)), np.ones((5, 2)), np.ones((3, 4)), np.ones((5, 4))

    def multiply(left: np.ndarray = left, of_columns: np.ndarray = columns, of_rows: np.ndarray = rows) -> None:
        gaussian_tile(left, right, of_columns=of_columns, of_rows=of_rows, to_rows=np.zeros((3, 4)),
                      to_columns=np.zeros((5, 4)))

    for wrong, why in (({"left": np.ones((3, 3))}, "equally wide"), ({"of_columns": rows}, "for every column"),
                       ({"of_rows": columns}, "for every row")):
        with pytest.raises(ValueError, match=why):
            multiply(**wrong)
