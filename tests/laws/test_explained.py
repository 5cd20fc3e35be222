"""Every method has a page of its steps, whose numbers are those of its run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import CrossLabeled, Features, TwoViews
from mlcli.config.build import build
from mlcli.config.layers import Layer, assignment
from mlcli.explain.formulas import TABLE
from mlcli.explain.page import page
from mlcli.explain.run import ROWS, explain
from mlcli.explain.steps import Explanation, Matrix
from mlcli.methods import METHODS
from mlcli.pipeline import run as pipeline
from mlcli.pipeline.session import Session
from tests.laws.contract.test_stages import configured

SHORT: dict[str, dict[str, Any]] = {  # options that make long iterations short
    "tsne": {"descent": {"early_steps": 5, "steps": 15}}, "umap": {"epochs": 15}, "nmds": {"starts": 1},
    "lgssm": {"iterate": {"limit": 5}},
    **{name: {"minimize": {"limit": 5}} for name in ("gplvm", "mvgplvm", "gpdm", "gpssm")}}
FILE = np.random.default_rng(0).standard_normal((2 * ROWS, 4))


def explained(folder: Path, method: str, **options: Any) -> tuple[Explanation, Array]:
    """A method's steps on a sample of a file, and the coordinates that a run of the same rows and options has.

    Rows of two views, of all pairs of two labels and of a sequence are chosen by no option: their file has no others.
    """
    kind = METHODS[method]
    whole = kind.ordered or (Features not in kind.accepts and any(
        issubclass(accepted, TwoViews | CrossLabeled) for accepted in kind.accepts))
    config = configured(folder, method, {}, FILE[:ROWS] if whole else FILE)
    layer = Layer({"input": config.input.model_dump(exclude_unset=True),
                   "method": {"name": method, **SHORT.get(method, {}), **options}})
    besides: list[Any] = []

    def again(values: Any) -> str:
        besides.append(values)
        return "mlcli embed"

    found = explain(layer, again)
    for path, value in (besides[-1] if besides else {}).items():
        layer = assignment(path, value, "explain").over(layer)
    with Session.open(build(layer)) as session:
        return found, pipeline.compute(session).embedding.values


def arrays(found: Explanation, key: str) -> dict[str, Matrix]:
    """The arrays of a step, by their symbols."""
    (step,) = [step for step in found.steps if step.key == key]
    return {array.symbol: array for array in step.arrays}


@pytest.mark.parametrize("method", [*METHODS])
def test_every_method_has_its_steps(tmp_path: Path, method: str) -> None:
    """From the rows over what is computed of them to the coordinates, which are those of a run to the last digit."""
    found, coordinates = explained(tmp_path, method)
    assert found.title.endswith(".")  # a whole sentence
    first, *between, last = found.steps
    assert (first.key, last.key) == ("rows", "coordinates")
    assert len(first.arrays[0].rows) == len(found.ids) == ROWS
    assert any(min(array.values.shape) > 1 for step in between for array in step.arrays)  # the central matrix
    assert np.array_equal(last.arrays[0].values, coordinates)
    for step in found.steps:
        assert step.name and step.sentence and step.arrays
        assert all(array.values.shape == (len(array.rows), len(array.columns)) for array in step.arrays)
    assert page(found).count("<section>") == len(found.steps)


@pytest.mark.medium
def test_a_trained_network_shows_its_weights(tmp_path: Path) -> None:
    """Of a single linear layer, which then gives the coordinates but for signs and the center."""
    pytest.importorskip("jax")
    found, coordinates = explained(tmp_path, "autoencoder", training="always", learning={"epochs": 3})
    weights = arrays(found, "network")["W1"].values
    points = found.steps[0].arrays[0].values
    places = (points - points.mean(axis=0)) @ weights / np.sqrt(points.var(axis=0).mean())
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    assert np.allclose(np.linalg.norm(coordinates[:, None] - coordinates, axis=2), apart, rtol=1e-9)


@pytest.mark.parametrize("method", ["mds", "isomap", "kpca", "diffusion"])
def test_the_kernel_is_its_eigenvectors_and_eigenvalues(tmp_path: Path, method: str) -> None:
    found, _ = explained(tmp_path, method)
    kernel = arrays(found, "kernel:Dense")["K"].values
    spectrum = arrays(found, "spectrum")
    values, vectors = spectrum["λ"].values[0], spectrum["V"].values
    size = np.abs(kernel).max()
    assert np.allclose(vectors * values @ vectors.T, kernel, rtol=0, atol=1e-13 * size)
    if method != "diffusion":
        before = arrays(found, "uncentered")["A"].values
        assert np.abs(kernel.sum(axis=0)).max() < 1e-12 * size > np.abs(kernel.sum(axis=1)).max()
        centering = np.eye(ROWS) - 1 / ROWS
        assert np.allclose(centering @ before @ centering, kernel, rtol=0, atol=1e-13 * size)


def test_paths_are_no_shorter_than_straight_lines_and_follow_the_graph(tmp_path: Path) -> None:
    found, _ = explained(tmp_path, "isomap")
    points, paths = found.steps[0].arrays[0].values, arrays(found, "paths")["D"].values
    straight = np.linalg.norm(points[:, None] - points, axis=2)
    edges = arrays(found, "graph")["G"].values
    assert np.all(paths >= straight - 1e-12)
    assert np.array_equal(edges, edges.T, equal_nan=True)
    assert np.allclose(edges[~np.isnan(edges)], straight[~np.isnan(edges)], rtol=1e-14)
    assert np.array_equal(arrays(found, "uncentered")["A"].values, -paths**2 / 2)


@pytest.mark.parametrize("method", ["lle", "npe"])
def test_weights_of_neighbors_sum_to_one_and_make_the_cost(tmp_path: Path, method: str) -> None:
    found, _ = explained(tmp_path, method)
    weights = np.nan_to_num(arrays(found, "LocalChain.root" if method == "lle" else "LinearComposition.of_graph")[
        "W"].values)
    rest = np.eye(ROWS) - weights
    cost = arrays(found, "kernel:Inverse" if method == "lle" else "kernel:LinearInverse")["M"].values
    assert np.allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.allclose(rest.T @ rest, cost, rtol=0, atol=1e-12)


def test_affinities_of_a_row_and_of_all_pairs_sum_to_one(tmp_path: Path) -> None:
    found, coordinates = explained(tmp_path, "tsne")
    rows = np.nan_to_num(arrays(found, "conditional affinities")["p"].values)
    pairs = np.nan_to_num(arrays(found, "TSNEComposition.affinities")["P"].values)
    assert np.allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12) and pairs.sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(pairs, (rows + rows.T) / (2 * ROWS), rtol=1e-12)
    steps = arrays(found, "iteration")
    assert [*steps["objective"].columns] == [name.removeprefix("Y after ") for name in steps if name != "objective"]
    last = steps["Y after step 20"].values  # turned to principal axes at the end
    assert np.allclose(np.linalg.norm(last[:, None] - last, axis=2),
                       np.linalg.norm(coordinates[:, None] - coordinates, axis=2), rtol=1e-9)


def test_directions_of_columns_are_eigenvectors_of_their_products(tmp_path: Path) -> None:
    found, coordinates = explained(tmp_path, "pca")
    kernel, spectrum = arrays(found, "kernel:Factored"), arrays(found, "spectrum")
    centered, products, directions = kernel["X̃"].values, kernel["C"].values, spectrum["u"].values
    assert np.allclose(centered.T @ centered, products, rtol=1e-13)
    assert np.allclose(products @ directions, directions * spectrum["λ"].values[0, :2], rtol=0, atol=1e-12)
    assert np.allclose(centered @ directions, coordinates, rtol=0, atol=1e-12)
    deviations = np.sqrt(spectrum["λ"].values[0, :2] / ROWS)  # by the divisor n
    assert np.allclose(arrays(found, "loadings")["L"].values, directions * deviations, rtol=0, atol=1e-12)


def test_of_many_columns_products_of_rows_are_solved_and_a_page_shows_some(tmp_path: Path) -> None:
    wide = np.random.default_rng(1).standard_normal((ROWS, 60))
    config = configured(tmp_path, "pca", {}, wide)
    found = explain(Layer({"input": config.input.model_dump(exclude_unset=True), "method": {"name": "pca"}}),
                    lambda values: "")
    kernel, spectrum = arrays(found, "kernel:Dual")["K"].values, arrays(found, "spectrum")
    assert np.allclose(spectrum["V"].values * spectrum["λ"].values[0] @ spectrum["V"].values.T, kernel, atol=1e-11)
    assert "12 x 60, the first 40 columns" in page(found)


@pytest.mark.parametrize("method", ["lda", "lpp", "npe", "lltsa", "random"])
def test_coefficients_of_columns_give_the_coordinates(tmp_path: Path, method: str) -> None:
    """Up to the mean that is taken away, which differences do not have."""
    found, coordinates = explained(tmp_path, method)
    points, weights = found.steps[0].arrays[0].values, arrays(found, "loadings")["L"].values
    assert np.allclose((points - points[0]) @ weights, coordinates - coordinates[0], rtol=0, atol=1e-10)
    if method == "npe":  # and solve the eigenproblem
        cost, values = arrays(found, "kernel:LinearInverse")["M"].values, arrays(found, "spectrum")["λ"].values[0, :2]
        centered = points - points.mean(axis=0)
        assert np.allclose(centered.T @ cost @ centered @ weights, centered.T @ centered @ weights / values, atol=1e-9)


@pytest.mark.parametrize(("method", "symbol"), [("lle", "M"), ("laplacian", "L"), ("ltsa", "M")])
def test_vectors_of_a_cost_are_its_eigenvectors(tmp_path: Path, method: str, symbol: str) -> None:
    found, _ = explained(tmp_path, method)
    cost, spectrum = arrays(found, "kernel:Inverse")[symbol].values, arrays(found, "spectrum")
    vectors = spectrum["V"].values[:, :2]
    assert np.allclose(cost @ vectors, vectors / spectrum["λ"].values[0, :2], rtol=0, atol=1e-9)


def test_factors_canonical_pairs_and_inertias_make_their_matrices(tmp_path: Path) -> None:
    for name in ("fa", "cca", "ca"):
        (tmp_path / name).mkdir()
    factors, _ = explained(tmp_path / "fa", "fa")
    estimate = arrays(factors, "Iterate.__call__")
    communalities = np.sum(estimate["Λ"].values ** 2, axis=1)
    assert np.allclose(communalities + estimate["ψ"].values[:, 0], 1, atol=1e-4)  # of an iteration that has an end
    views, _ = explained(tmp_path / "cca", "cca")
    pairs = arrays(views, "canonical")
    assert np.allclose(pairs["A"].values * pairs["ρ"].values[:, 0] @ pairs["B"].values.T,
                       arrays(views, "products of views")["C"].values, rtol=0, atol=1e-12)
    amounts, _ = explained(tmp_path / "ca", "ca")
    points, residuals = amounts.steps[0].arrays[0].values, arrays(amounts, "residuals")["S"].values
    shares = points / points.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    assert np.allclose(residuals, (shares - expected) / np.sqrt(expected), rtol=0, atol=1e-14)
    assert np.sum(residuals**2) == pytest.approx(arrays(amounts, "principal_inertias")["λ"].values.sum())


def test_a_stage_without_words_is_shown_under_its_docstring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of a method of another package: its array, in the unit of the computation, which is a power of two."""
    monkeypatch.delitem(TABLE, "PairwiseChain.squared")  # type: ignore[arg-type]
    config = configured(tmp_path, "mds", {}, np.ldexp(FILE[:ROWS], -300))
    found = explain(Layer({"input": config.input.model_dump(exclude_unset=True), "method": {"name": "mds"}}),
                    lambda values: "")
    (step,) = [step for step in found.steps if step.key == "PairwiseChain.squared"]
    assert step.name == "Squared" and step.sentence.startswith("D² (n x n)") and not step.formula
    unit = int(step.sentence.rpartition("2^")[2].removesuffix("."))
    points = np.ldexp(found.steps[0].arrays[0].values, -unit)
    assert unit < -100
    assert np.allclose(step.arrays[0].values, np.sum((points[:, None] - points) ** 2, axis=2), rtol=1e-12, atol=0)


def test_numbers_carry_the_unit_of_the_data(tmp_path: Path) -> None:
    """Of data that is so small that the computation has another unit, which is a power of two."""
    for name in ("near", "far"):
        (tmp_path / name).mkdir()
    near, _ = explained(tmp_path / "near", "isomap")
    config = configured(tmp_path / "far", "isomap", {}, np.ldexp(FILE, -200))
    far = explain(Layer({"input": config.input.model_dump(exclude_unset=True), "method": {"name": "isomap"}}),
                  lambda values: "")
    for key, symbol, power in (("search_neighbors", "d", 1), ("graph", "G", 1), ("paths", "D", 1),
                               ("uncentered", "A", 2), ("kernel:Dense", "K", 2), ("spectrum", "λ", 2),
                               ("spectrum", "V", 0)):
        expected = np.ldexp(arrays(near, key)[symbol].values, -200 * power)
        assert np.array_equal(arrays(far, key)[symbol].values, expected, equal_nan=True), key
