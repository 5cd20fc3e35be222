"""The Gaussian information bottleneck: its axes are those of canonical correlations, and its curve is concave."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.latent.bottleneck import information_curve
from mlcli.errors import DataError, GeometryError
from tests.laws.theorems.views.test_views import FIRST, SECOND, same, views
from tests.support import fit

DATA = views(FIRST, SECOND)


def test_axes_span_those_of_canonical_correlations() -> None:
    """Each axis is a canonical variate times α."""
    for count in (1, 2, 3):
        model, canonical = fit("gib", DATA, components=count), fit("cca", DATA, components=count)
        squares = model.spectrum.values[:count] ** 2
        lengths = np.sqrt((model.fit["beta"] * squares - 1) / (1 - squares))
        assert same(model.embedding, canonical.embedding * lengths)
        assert same(model.project(FIRST[:7] + 1), canonical.project(FIRST[:7] + 1) * lengths)


def test_beta_opens_the_axes_above_their_critical_one() -> None:
    critical = fit("gib", DATA).fit["critical_betas"]
    assert np.all(np.diff(critical) > 0)
    for count, value in enumerate(critical, start=1):
        assert fit("gib", DATA, beta=value * (1 + 1e-9)).embedding.shape[1] == count
    with pytest.raises(GeometryError) as caught:
        fit("gib", DATA, beta=1 + (critical[0] - 1) / 2)
    assert caught.value.code == "E-BETA"
    with pytest.raises(GeometryError) as few:
        fit("gib", DATA, beta=critical[0] * (1 + 1e-9), components=2)
    assert few.value.code == "E-AXES"


def test_no_other_summary_is_better_at_the_same_beta() -> None:
    """I(T; X) - β I(T; Y) of Gaussian data, by covariances, at A and around it."""
    model = fit("gib", DATA, beta=40.0)
    one, other = FIRST - FIRST.mean(axis=0), SECOND - SECOND.mean(axis=0)
    total = one.T @ one / 120
    rest = total - one.T @ other @ np.linalg.solve(other.T @ other, other.T @ one) / 120

    def objective(axes: Array) -> float:
        kept, noise = (0.5 * np.linalg.slogdet(np.eye(axes.shape[1]) + axes.T @ part @ axes)[1]
                       for part in (total, rest))
        return float(kept - 40.0 * (kept - noise))

    axes, generator = model.projector.input_unit.measured(model.axes), np.random.default_rng(2)
    assert objective(axes) == pytest.approx(model.fit["kept_information"] - 40 * model.fit["relevant_information"])
    assert all(objective(axes) < objective(axes + 1e-3 * np.abs(axes).max() * generator.standard_normal(axes.shape))
               for _ in range(50))


def test_the_curve_is_concave_with_slopes_of_one_over_beta() -> None:
    correlations = np.array([0.95, 0.7, 0.2])
    curve = information_curve(correlations, 7.0)
    slopes = np.diff(curve["relevant"]) / np.diff(curve["kept"])
    assert np.all(slopes < 1 / curve["beta"][:-1]) and np.all(slopes > 1 / curve["beta"][1:])
    whole = -0.5 * float(np.log1p(-(correlations**2)).sum())
    assert 0.99 * whole < curve["relevant"][-1] < whole and 7.0 in curve["beta"]
    assert np.all(np.diff(curve["axes"]) >= 0) and curve["axes"][[0, -1]].tolist() == [0, 3]


@pytest.mark.parametrize(("second", "names"), [
    (np.column_stack([SECOND, FIRST[:, 2] * 3 - 1]), r"'x3' .* 'x4' "),
    (np.column_stack([SECOND[:, :2], FIRST[:, 0] - 1e-3 * FIRST[:, 1]]), r"'x1',.* 'x3'")])
def test_copies_are_named(second: Array, names: str) -> None:
    with pytest.raises(DataError, match=names) as caught:
        fit("gib", views(FIRST, second))
    assert caught.value.code == "E-COPIES"
