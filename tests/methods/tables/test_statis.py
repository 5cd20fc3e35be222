"""Several matrices of dissimilarities: how they are read, what they weigh, and what is refused."""

import numpy as np
import pytest

import mlcli
from mlcli.base.types import Array
from mlcli.base.values.inputs import TwoViews
from mlcli.certify.tables import weights_error
from mlcli.core.chain.tables import TableProducts
from mlcli.errors import ConfigError, DataError
from mlcli.methods import METHODS
from mlcli.methods.tables.statis import STATIS, products_of
from tests.support import checks_of, dissimilarities, distances, features, fit, matrices
from tests.wording import Wording

POINTS = np.random.default_rng(3).standard_normal((6, 2))
MATRIX = distances(POINTS)


def test_a_matrix_that_tells_no_points_apart_is_refused(wording: Wording) -> None:
    with wording.raises(DataError, "CONSTANT-GROUP"):
        fit("statis", matrices([MATRIX, np.zeros((6, 6))]))


def test_a_supplementary_matrix_changes_no_axis_and_is_described_like_the_others() -> None:
    others = [MATRIX, distances(POINTS**3), distances(np.exp(POINTS))]
    data = matrices([*others, distances(POINTS[::-1])])
    model, alone = fit("statis", data, supplementary=["table 4"]), fit("statis", matrices(others))
    assert np.allclose(model.embedding, alone.embedding, atol=1e-13)
    assert np.allclose(model.groups.weights, [*alone.groups.weights, 0], atol=1e-14)
    assert np.allclose(model.groups.coordinates[:3], alone.groups.coordinates, atol=1e-13)
    assert model.groups.coordinates[3].any()
    verdicts = [{check.verdict for check in checks_of(STATIS(supplementary=names), data, model)}
                for names in (("table 4",), ())]
    assert "fail" not in verdicts[0] and "fail" in verdicts[1]


@pytest.mark.parametrize("names", [["table 3"], ["table 1", "table 2"]])
def test_supplementary_names_of_no_matrix_or_of_all_are_refused(names: list[str], wording: Wording) -> None:
    with wording.raises(ConfigError, "GROUPS"):
        fit("statis", matrices([MATRIX, distances(POINTS**3)]), supplementary=names)


def opposed(count: int) -> list[Array]:
    """Dissimilarities of two groups, `count` times, and others that are large where these are small."""
    places = np.sign(np.arange(10) - 4.5) + 0.02 * np.random.default_rng(0).standard_normal((count, 10))
    alike = [np.abs(np.subtract.outer(row, row)) for row in places]
    last = np.sqrt(4.5 - alike[0] ** 2)
    np.fill_diagonal(last, 0.0)
    return [*alike, last]


@pytest.mark.parametrize("count", [1, 2])
def test_tables_of_a_negative_rv_coefficient_have_no_compromise(count: int, wording: Wording) -> None:
    kernels = [products_of(one) for one in opposed(count)]
    assert np.sum(kernels[0] * kernels[-1]) < 0
    with wording.raises(DataError, "OPPOSED-TABLES"):
        fit("statis", matrices(opposed(count)))


def test_weights_are_the_first_eigenvector_where_a_coefficient_is_negative_and_no_weight() -> None:
    coefficients = np.array([[1, 0.9, -0.05], [0.9, 1, 0.3], [-0.05, 0.3, 1]])
    every = np.ones(3, dtype=bool)
    found = STATIS().weigh(TableProducts(coefficients, np.ones(3)), every)[1]
    first = np.linalg.eigh(coefficients)[1][:, -1]
    assert np.allclose(found, first / first.sum(), atol=1e-14) and (found > 0).all()
    assert weights_error(coefficients, found, every, averaged=True)[0] < 1e-14


def test_the_certificate_sees_weights_that_are_another_eigenvector() -> None:
    opposed_tables, both = np.array([[1, -0.5], [-0.5, 1]]), np.ones(2, dtype=bool)
    assert weights_error(opposed_tables, np.array([0.5, 0.5]), both, averaged=True)[0] > 0.9


def test_points_that_the_first_matrix_lacks_are_left_out_of_a_view() -> None:
    whole = matrices([MATRIX, distances(POINTS**3)])
    few = whole.take(np.array([0, 2, 3, 5]))
    part = [matrix[[0, 2, 3, 5]][:, [0, 2, 3, 5]] for matrix in (MATRIX, distances(POINTS**3))]
    assert np.allclose(fit("statis", few).embedding, fit("statis", matrices(part)).embedding, atol=1e-13)


def test_options_of_columns_and_views_of_features_are_refused(wording: Wording) -> None:
    with wording.raises(ConfigError, "UNUSED"):
        fit("statis", matrices([MATRIX, MATRIX]), groups=["first=x1"])
    with wording.raises(ConfigError, "NEEDS"):
        fit("statis", dissimilarities(MATRIX))
    data = features(POINTS)
    for method in ("statis", "mfa", "pca"):
        with wording.raises(ConfigError, "VIEW"):
            fit(method, TwoViews(data.values, data.ids, data.columns, view=data))


def test_inputs_are_several_tables_or_several_matrices() -> None:
    """Unlike those of dbrda, whose second view is a table, and of cca, whose views are not one table."""
    several = "features in one table or in several (`{input.view.path}`)"
    assert METHODS["statis"].inputs() == [several, "dissimilarities in several matrices (`{input.view.path}`)"]
    assert METHODS["mfa"].inputs() == METHODS["famd"].inputs() == [several]
    assert METHODS["dbrda"].inputs()[0].startswith("dissimilarities with a second view")
    assert METHODS["cca"].inputs()[0].startswith("features with a second view")


@pytest.mark.medium
def test_a_second_array_is_converted_as_the_first_one_is() -> None:
    plain = [MATRIX, distances(POINTS**3)]
    expected = mlcli.embed(plain[0], "statis", kind="dissimilarities", view=plain[1]).embedding
    found = mlcli.embed(plain[0] ** 2, "statis", kind="dissimilarities", view=plain[1] ** 2,
                        set={"input.squared": True})
    assert np.allclose(found.embedding, expected, atol=1e-9)
