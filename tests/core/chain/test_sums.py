"""Sums of kernels: what is refused, what is said, and models that are read again."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError, DataError, NumericalError
from mlcli.methods import METHODS, Model
from mlcli.rundir import archive
from tests.support import Notes, features, fit
from tests.wording import Wording

POINTS = np.abs(np.random.default_rng(2).standard_normal((15, 5)))
COUNTS: dict[str, Any] = {"name": "counts", "columns": ["x1:x2"], "metric": "braycurtis", "kernel": {"name": "gower"}}
SCALED: dict[str, Any] = {"name": "scaled", "columns": ["x3", "x4"], "scale": "standard"}


def summed(points: Array, *tables: dict[str, Any], **options: Any) -> Model:
    return fit("chain", points, kernel={"name": "sum", "tables": list(tables), **options})


def test_columns_are_those_of_one_table_each(wording: Wording) -> None:
    with wording.raises(ConfigError, "GROUPS") as caught:
        summed(POINTS, COUNTS, {**SCALED, "columns": ["x2:x3"]})
    assert caught.value.where == "method.kernel.tables" and "'x2'" in str(caught.value)
    with wording.raises(ConfigError, "GROUPS"):
        summed(POINTS, COUNTS, {**SCALED, "name": "counts"})
    with wording.raises(ConfigError, "UNKNOWN-COLUMN"):
        summed(POINTS, COUNTS, {**SCALED, "columns": ["x9"]})


@pytest.mark.parametrize("kernel", ["linear", "gaussian", "gower", "cosine"])
def test_a_table_that_does_not_vary_is_refused_by_name(kernel: str, wording: Wording) -> None:
    points = POINTS.copy()
    points[:, 2:4] = 5.0
    with wording.raises(DataError, "CONSTANT-GROUP") as caught:
        summed(points, COUNTS, {"name": "still", "columns": ["x3:x4"], "kernel": {"name": kernel}})
    assert "'still'" in str(caught.value)


def test_rows_of_one_direction_are_alike_under_the_cosine(wording: Wording) -> None:
    points = POINTS.copy()
    points[:, 3] = 2 * points[:, 2]
    with wording.raises(DataError, "CONSTANT-GROUP"):
        summed(points, COUNTS, {"name": "still", "columns": ["x3:x4"], "kernel": {"name": "cosine"}})


def test_numbers_outside_of_a_tables_domain_are_refused_with_their_row(wording: Wording) -> None:
    points = POINTS.copy()
    points[7, 1] = -1.0
    with wording.raises(DataError, "METRIC") as caught:
        summed(points, COUNTS, SCALED)
    assert caught.value.row == 7 and "'x2'" in str(caught.value)
    similarity = summed(POINTS, COUNTS, SCALED).required_projector.similarity
    with wording.raises(DataError, "METRIC"):
        similarity.check(points, [str(row) for row in range(15)], [f"x{place}" for place in range(1, 6)])
    similarity.check(np.abs(points), [""] * 15, [""] * 5)


def test_columns_of_no_table_are_named() -> None:
    with Notes() as notes:
        found = summed(POINTS, SCALED)
    assert [note.code for note in notes.notes] == ["W-NO-GROUP"]
    changed = POINTS.copy()
    changed[:, 4] = 7.0
    assert np.allclose(found.project(changed), found.embedding, atol=1e-12)


@pytest.mark.parametrize("factors", [(1, 1, 1e200, 1e-200, 1), (1e150, 1e150, 1e-250, 1e10, 1)])
def test_units_of_tables_change_nothing(factors: tuple[float, ...]) -> None:
    linear = {"name": "linear", "columns": ["x5"]}
    expected = summed(POINTS, COUNTS, SCALED, linear).embedding
    assert np.allclose(summed(POINTS * factors, COUNTS, SCALED, linear).embedding, expected, atol=1e-12)
    assert np.allclose(summed(POINTS * [1, 1, 1, 1, 1e-290], COUNTS, SCALED, linear).embedding, expected, atol=1e-12)


def test_a_rate_is_in_the_unit_of_its_table(wording: Wording) -> None:
    gaussian = {"name": "first", "columns": ["x1"], "kernel": {"name": "gaussian", "rate": 0.5}}
    expected = summed(POINTS, gaussian, SCALED).embedding
    smaller = {**gaussian, "kernel": {"name": "gaussian", "rate": 0.5 * 2.0 ** -40}}
    assert np.allclose(summed(POINTS * [2.0 ** 20, 1, 1, 1, 1], smaller, SCALED).embedding, expected, atol=1e-13)
    with wording.raises(NumericalError, "KERNEL-RANGE") as caught:
        summed(POINTS * [1e200, 1, 1, 1, 1], gaussian, SCALED)
    assert caught.value.where == "method.kernel.tables[0].kernel.rate"


def test_a_model_with_several_tables_is_read_again(tmp_path: Path) -> None:
    gower = {"name": "ranges", "columns": ["x5"], "metric": "gower", "kernel": {"name": "gaussian"}}
    model = summed(POINTS, COUNTS, SCALED, gower)
    archive.save(tmp_path, {"projector": model.projector})
    again = archive.load(tmp_path)["projector"]
    assert np.array_equal(again.project(POINTS), model.project(POINTS))


def test_kernels_are_not_centered_where_nothing_is() -> None:
    """Eigenvectors of Σ K / s itself, with norms of kernels that are not centered either."""
    points = features(POINTS)
    found = fit("chain", points, centering="none", components=2, kernel={"name": "sum", "tables": [
        {"name": "all", "columns": ["x1:x5"], "kernel": {"name": "cosine"}}]})
    unit = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(unit @ unit.T)[::-1]
    assert np.allclose(found.spectrum.eigenvalues[:2], values[:2] / values[0] * len(POINTS), atol=1e-12)


@pytest.mark.parametrize("tables", [2, 3])
def test_the_plan_counts_the_kernels_their_sum_and_a_term_of_it(tables: int) -> None:
    """What arrays take at once, as NumPy tells it: quadratic in the points, and the same on every machine."""
    width = 12 // tables
    sections = [{"name": f"t{place}", "columns": [f"x{width * place + 1}:x{width * (place + 1)}"]}
                for place in range(tables)]
    method = METHODS["chain"].model_validate({"name": "chain", "kernel": {"name": "sum", "tables": sections}})
    data = method.in_range(features(np.random.default_rng(0).standard_normal((500, 12))))
    composition: Any = method.composition(data, Compute())
    stages = ("kernel", "centering", "groups", "combine")
    planned = max(step.memory for step in composition.steps() if step.stage in stages)
    tracemalloc.start()
    assert composition.combined.trace > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.85 < planned / peak < 1.15
