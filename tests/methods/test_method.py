"""What all methods say of themselves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.spatial.distance import pdist

from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from mlcli.methods.method import footprint
from tests.support import features, fit, furnished
from tests.wording import Wording

CASES: list[tuple[str, dict[str, Any]]] = [
    ("pca", {}), ("ppca", {}), ("fa", {}), ("fa", {"noise": "equal"}), ("lda", {}), ("lda", {"shrinkage": 0.5}),
    ("cca", {}), ("ibfa", {}), ("gib", {}), ("vib", {}), ("sfa", {}), ("lgssm", {}), ("lgssm", {"noise": "equal"}),
    ("ica", {}), ("random", {}),
    ("mds", {}), ("mds", {"metric": "cityblock"}), ("kpca", {}), ("isomap", {})]


@pytest.mark.parametrize(("method", "options"), CASES)
def test_columns_count_by_their_variances_where_another_unit_of_one_moves_the_points(method: str,
                                                                                     options: dict[str, Any]) -> None:
    values = np.random.default_rng(5).standard_normal((40, 5)) @ np.random.default_rng(6).standard_normal((5, 5))
    data = furnished(features(values), METHODS[method].accepts)
    one, other = (pdist(fit(method, replace(data, values=values * unit), components=2, **options).embedding)
                  for unit in (np.ones(5), np.array([1, 1, 64, 1, 1])))
    alike = np.allclose(one, other, rtol=0, atol=1e-5 * one.max())
    assert alike != METHODS[method](**options).weighs_columns


@pytest.mark.parametrize(("method", "options"), [
    ("mds", {"metric": "cosine"}), ("umap", {"metric": "correlation"}), ("mds", {"metric": "braycurtis"}), ("ca", {}),
    ("mca", {}), ("kpca", {"kernel": {"name": "cosine"}}), ("isomap", {"metric": "gower"})])
def test_columns_do_not_count_by_their_variances_in_metrics_of_another_kind(method: str,
                                                                            options: dict[str, Any]) -> None:
    assert not METHODS[method](**options).weighs_columns


@pytest.mark.parametrize("method", ["pca", "mds", "diffusion", "ppca"])
def test_filters_are_refused_where_no_cost_is_sparse(method: str, wording: Wording) -> None:
    data = features(np.random.default_rng(0).standard_normal((60, 4)))
    with wording.raises(ConfigError, "FILTER") as caught:
        METHODS[method](eigensolve={"solver": "filter"}).resolve(data)
    assert caught.value.where == "method.eigensolve.solver"


@pytest.mark.parametrize("options", [{"name": "laplacian"}, {"name": "diffusion", "nearest": 9}, {"name": "lle"}])
def test_filters_find_the_coordinates_of_a_factorization(options: dict[str, Any]) -> None:
    turn = np.linspace(0, 5, 90)
    data = features(np.column_stack([np.cos(turn), np.sin(turn), turn, np.sin(3 * turn)]))
    found = [fit(options["name"], data, components=2, eigensolve={"solver": solver},
                 **{name: value for name, value in options.items() if name != "name"}).embedding
             for solver in ("dense", "filter")]
    assert np.abs(found[0] - found[1]).max() < 1e-7 * np.abs(found[0]).max()


@pytest.mark.parametrize("method", ["umap", "tsne", "pca", "isomap"])
def test_a_fit_holds_the_table_once_where_its_numbers_are_in_reach(method: str) -> None:
    """And its plan says so: whether the numbers are copied to another unit depends on their size."""
    values, chosen = np.random.default_rng(0).random((50, 4)), METHODS[method]()
    for power in (0, 7, 101, -101):
        data = features(np.ldexp(1 + values, power))
        held = chosen.in_range(data).values is data.values
        assert held == data.held_once(chosen.unscaled) == (abs(power + 1) <= chosen.unscaled)
        assert not chosen.in_range(data).held_once(chosen.unscaled) or held
        parts = footprint([Step("fit", "", 0.0, 1e9)], data, chosen, Compute())
        assert parts["the table"] == (1 if held else 2) * values.nbytes


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_axes_is_chosen_by_rules_where_there_are_rules(method: str) -> None:
    values: dict[str, Any] = {METHODS[method].axes_section(): {"components": "auto"}}
    try:
        chosen = METHODS[method](**values).axes_options.components == "auto"
    except ValidationError:
        chosen = False
    assert chosen == bool(METHODS[method].rules)
