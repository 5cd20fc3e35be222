"""Missing cells of several tables: the equations of their fixed point, new rows, and what is refused."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.errors import ConfigError
from mlcli.methods import METHODS, Model
from mlcli.methods.tables.blocks import Completion
from tests.support import Notes, checks_of, features, fit
from tests.wording import Wording

RANDOM = np.random.default_rng(5)
SCORES = RANDOM.standard_normal((30, 2))
WHOLE = np.column_stack([SCORES @ RANDOM.standard_normal((2, 5)) + 0.3 * RANDOM.standard_normal((30, 5)),
                         np.digitize(SCORES[:, 0], [-0.5, 0.5])])
HOLES = np.where(RANDOM.random(WHOLE.shape) < 0.12, np.nan, WHOLE)
GROUPS = ["first=x1:x3", "second=x4,x5", "third=x6"]
TIGHT = {"tolerance": 1e-13}


def several(method: str, points: Array = HOLES, **options: Any) -> Model:
    return fit(method, points, **{"components": 2, "categories": ["x6"], "iterate": TIGHT, **(
        {} if method == "famd" else {"groups": GROUPS}), **options})


def with_data(method: str, data: Features, **options: Any) -> tuple[Any, Any, Model]:
    """A method of two axes, its data with the metric, and the model."""
    own = METHODS[method](**{"axes": {"components": 2}, **options}).resolve(data)
    return own, own.with_metric(data), own.fit(data, Compute())


def by_steps(points: Array, *, norm: bool) -> tuple[Array, Array]:
    """Completed columns, and coordinates, by one step of missMDA after the other (Josse and Husson, 2012).

    Each group of mfa is divided by its first eigenvalue (`norm`); those of famd are not.
    """
    levels = np.stack([np.where(np.isnan(points[:, 5]), np.nan, points[:, 5] == level) for level in range(3)], axis=1)
    cells = np.hstack([points[:, :5], levels])
    gone = np.isnan(cells)
    cells = np.where(gone, np.nanmean(cells, axis=0), cells)
    owners = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    for _ in range(800):
        means = cells.mean(axis=0)
        scales = np.where(owners < 2, cells.std(axis=0), np.sqrt(np.abs(means)))
        rows = (cells - means) / scales
        weights = np.array([np.linalg.norm(rows[:, owners == group], 2) / np.sqrt(len(rows)) if norm else 1.0
                            for group in range(3)])[owners]
        left, sizes, right = np.linalg.svd(rows / weights / np.sqrt(len(rows)), full_matrices=False)
        values, columns, count = sizes**2, 7, 2  # three categories of one question add up to one
        freedom = (len(rows) - 1 - count) * (columns - count)
        noise = min(len(rows) * columns / columns * values[count:].sum() / freedom, values[count])
        fitted = left[:, :count] * ((values[:count] - noise) / sizes[:count]) @ right[:count] * np.sqrt(len(rows))
        cells = np.where(gone, fitted * weights * scales + means, cells)
    return cells, left[:, :count] * sizes[:count] * np.sqrt(len(rows))


@pytest.mark.parametrize("method", ["mfa", "famd"])
def test_cells_are_those_of_the_iteration_step_by_step(method: str) -> None:
    found = several(method)
    cells, coordinates = by_steps(HOLES, norm=method == "mfa")
    metric: Any = found.required_projector.similarity.comparison
    own = metric.cells(metric.unweighted(HOLES))
    own[:, :5] = np.ldexp(own[:, :5], metric.exponents)
    assert np.allclose(own, cells, atol=1e-10)
    signs = np.sign(np.sum(coordinates * found.embedding, axis=0))
    assert np.allclose(found.embedding, coordinates * signs, atol=1e-10)


@pytest.mark.parametrize("method", ["mfa", "famd", "statis"])
def test_new_rows_with_missing_cells_are_placed_as_those_of_the_fit(method: str) -> None:
    found = several(method)
    assert np.array_equal(found.project(HOLES[3:4]), found.embedding[3:4]) or np.allclose(
        found.project(HOLES[3:4]), found.embedding[3:4], atol=1e-13)
    nothing = np.full((1, 6), np.nan)
    assert np.allclose(found.project(nothing), 0.0, atol=1e-12)


@pytest.mark.parametrize("method", ["mfa", "famd", "statis"])
def test_the_certificate_passes_and_without_gaps_nothing_is_completed(method: str) -> None:
    options = {"categories": ["x6"], "iterate": TIGHT, **({} if method == "famd" else {"groups": GROUPS})}
    own, data, model = with_data(method, features(HOLES), **options)
    assert [check.name for check in checks_of(own, data, model) if check.verdict == "fail"] == []
    whole = several(method, WHOLE, iterate={})
    assert whole.required_projector.similarity.comparison.completion is None  # type: ignore[attr-defined]
    assert "noise_variance" in model.fit and "noise_variance" not in whole.fit


@pytest.mark.medium
def test_cells_of_a_supplementary_group_change_no_axis() -> None:
    more = HOLES.copy()
    more[:7, 5] = np.nan
    left, right = (several("mfa", points, supplementary=["third"]) for points in (HOLES, more))
    assert np.allclose(left.embedding, right.embedding, atol=1e-11)
    assert np.allclose(left.embedding, several("mfa", HOLES[:, :5], groups=GROUPS[:2], categories=()).embedding,
                       atol=1e-11)


def test_cells_of_a_plane_without_noise_are_found() -> None:
    plane = SCORES @ RANDOM.standard_normal((2, 8))
    holes = np.where(RANDOM.random(plane.shape) < 0.1, np.nan, plane)
    found = fit("famd", holes, components=2, iterate={"tolerance": 1e-12})
    metric: Any = found.required_projector.similarity.comparison
    cells = np.ldexp(metric.cells(metric.unweighted(holes)), metric.exponents)
    assert np.abs(cells - plane).max() < 1e-6


def test_a_completed_row_solves_its_own_equations() -> None:
    """z = B D V'(f z) in the missing cells, whichever these are; cells that are there stay as they are."""
    directions = np.linalg.qr(RANDOM.standard_normal((6, 2)))[0]
    factors = np.array([1.0, 1, 0.5, 0.5, 0.2, 0.2])
    completion = Completion(directions / factors[:, None], np.array([0.9, 0.4]))
    rows = np.where(RANDOM.random((12, 6)) < 0.4, np.nan, RANDOM.standard_normal((12, 6)))
    found = completion(rows, factors)
    fitted = found * factors @ directions * completion.shares @ completion.loadings.T
    assert np.allclose(np.where(np.isnan(rows), fitted, rows), found, atol=1e-14)


def test_options_and_numbers_of_axes_that_make_no_sense_are_refused(wording: Wording) -> None:
    with wording.raises(ConfigError, "UNUSED"):
        several("mfa", WHOLE)
    with wording.raises(ConfigError, "GAPS") as caught:
        several("mfa", components=7)
    assert caught.value.where == "method.axes.components"
    assert len(several("mfa", components=6, iterate={"limit": 20_000}).embedding.T) == 6


def test_an_iteration_that_is_stopped_says_so() -> None:
    with Notes() as notes:
        data = Features(HOLES, [str(row) for row in range(30)], [f"x{place}" for place in range(1, 7)])
        method, given, model = with_data("mfa", data, groups=GROUPS, categories=["x6"], iterate={"limit": 2})
    assert "W-UNCONVERGED" in notes.codes and model.fit["converged"] is False
    found = {check.name: check.verdict for check in checks_of(method, given, model)}
    assert found["missing cells"] == "skipped" and "fail" not in found.values()
