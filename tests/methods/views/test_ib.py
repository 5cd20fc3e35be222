"""The information bottleneck of counts: what it refuses, new rows, and the lies that its certificate sees."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.config.build import build
from mlcli.config.layers import Layer
from mlcli.errors import ConfigError, DataError
from mlcli.findings.quality.judgement import information
from mlcli.methods import METHODS, Model
from mlcli.methods.views.ib import Annealing, Clusters, JointDistribution, settle
from tests.support import Notes, checks_of, features, fit
from tests.wording import Wording

HAIR = np.array([[68.0, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])


def fitted(**options: Any) -> tuple[Any, Any, Model]:
    """The method, the data and the model."""
    data = features(HAIR)
    method: Any = METHODS["ib"](**options).resolve(data)
    return method, data, method.fit(data, Compute())


def failed(method: Any, data: Any, model: Model, *, embedding: Any = None, loadings: Any = None,
           **figures: Any) -> set[str]:
    """The checks that fail for a model with other coordinates, loadings and figures."""
    assert model.loadings is not None
    changed = replace(model, embedding=model.embedding if embedding is None else embedding,
                      loadings=model.loadings if loadings is None else replace(model.loadings, values=loadings),
                      fit={**model.fit, **figures})
    return {check.name for check in checks_of(method, data, changed) if check.verdict == "fail"}


def test_an_honest_fit_passes() -> None:
    method, data, model = fitted(beta=20.0)
    assert not failed(method, data, model) and model.fit["converged"]


def test_every_lie_is_seen() -> None:
    method, data, model = fitted(beta=20.0)
    chances, columns = model.embedding, model.loadings.values
    for name in ("kept_information", "relevant_information", "total_information", "entropy"):
        assert "information" in failed(method, data, model, **{name: model.fit[name] * (1 + 1e-4)})
    assert "beta" in failed(method, data, model, beta=21.0)
    assert "clusters" in failed(method, data, model, clusters=1)
    assert "sums" in failed(method, data, model, embedding=chances * (1 + 1e-9))
    assert {"order", "clusters of rows"} <= failed(method, data, model, shares=model.fit["shares"][::-1])
    softer = 0.99 * chances + 0.005
    assert {"fixed point", "information"} <= failed(method, data, model, embedding=softer)
    assert "clusters of rows" in failed(method, data, model, loadings=0.99 * columns + 0.0025)
    assert "signs" in failed(method, data, model, embedding=chances - [[1e-3 + chances[:, 0].min(), 0]])


@pytest.mark.parametrize(("row", "said"), [([1, -2, 3, 4], "column 'x2': ib takes counts"), ([0, 0, 0, 0], "zeros")])
def test_cells_below_zero_and_rows_of_zeros_are_refused(row: list[float], said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        fit("ib", features(np.vstack([HAIR, [row]])))
    assert caught.value.row == 4
    with pytest.raises(DataError, match="column 2: ib takes" if "-" in str(row) else "zeros"):
        fit("ib", features(HAIR)).project(np.array([row], dtype=float))


def test_columns_that_are_zero_in_the_fit_do_not_count() -> None:
    wider = np.insert(HAIR, 2, 0.0, axis=1)
    one, other = fit("ib", features(HAIR)), fit("ib", features(wider))
    assert np.allclose(one.embedding, other.embedding, atol=1e-9)
    new = np.insert(HAIR[:2], 2, 1000.0, axis=1)
    assert np.allclose(other.project(new), one.embedding[:2], atol=1e-9)
    with pytest.raises(DataError, match="in the columns that have numbers in the fit"):
        other.project(np.array([[0.0, 0, 5, 0, 0]]))


def test_rows_of_one_profile_are_one_cluster() -> None:
    with Notes() as notes:
        model = fit("ib", features(np.outer([1.0, 2, 5], [3, 1, 4])))
    assert model.embedding.tolist() == [[1, 0]] * 3 and model.fit["relevant_information"] == pytest.approx(0, abs=1e-12)
    assert model.fit["first_beta"] is None and "W-RANK" in notes.codes
    assert {name: column.tolist() for name, column in model.information.items()} == {
        "beta": [1], "clusters": [1], "kept": [0], "relevant": [0], "entropy": [0]}
    judged = information({"fit": model.fit})
    assert judged is not None and (judged.value, "%" in judged.sentence) == ("none", False)


def test_clusters_beyond_those_that_differ_are_empty() -> None:
    with Notes() as notes:
        model = fit("ib", features(np.vstack([HAIR[:2], 3 * HAIR[:2]])), components=4, beta=1e4)
    assert model.fit["clusters"] == 2 and not model.embedding[:, 2:].any() and "W-RANK" in notes.codes


def test_a_large_beta_makes_clusters_hard() -> None:
    for beta in (1e6, 1e12):
        method, data, model = fitted(beta=beta, axes={"components": 3}, annealing={"steps": 5})
        assert set(model.embedding.ravel().tolist()) <= {0.0, 1.0} and model.fit["clusters"] == 3
        assert model.fit["kept_information"] == pytest.approx(model.fit["entropy"], abs=1e-12)
        assert not failed(method, data, model)


@pytest.mark.parametrize("limit", range(1, 8))
def test_the_equations_are_applied_no_more_often_than_the_limit(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, applied, assign = JointDistribution.of(HAIR), [], Clusters.assign
    monkeypatch.setattr(Clusters, "assign", lambda *given: applied.append(1) or assign(*given))
    start = np.random.default_rng(0).dirichlet([1, 1], len(HAIR))
    assert not settle(table, start, 8.0, Annealing(limit=limit, tolerance=1e-15))[1]
    assert len(applied) == limit


@pytest.mark.parametrize("count", [1, "auto"])
def test_one_cluster_tells_nothing_and_no_rule_chooses_their_number(count: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Layer({"input": {"path": "a.csv"}, "method": {"name": "ib", "axes": {"components": count}}}))
    assert (caught.value.code, caught.value.exit_code) == ("E-CONFIG", 78) and "at least 2" in str(caught.value)


def test_more_clusters_than_rows_are_refused_as_clusters(wording: Wording) -> None:
    with wording.raises(ConfigError, "COMPONENTS"):
        fitted(axes={"components": 9})


def test_without_steps_enough_the_fit_says_so() -> None:
    with Notes() as notes:
        method, data, model = fitted(beta=5.0, annealing={"limit": 1, "steps": 2})
    assert not model.fit["converged"] and "W-UNCONVERGED" in notes.codes
    verdicts = {check.name: check.verdict for check in checks_of(method, data, model)}
    assert verdicts["fixed point"] == "skipped" and "fail" not in verdicts.values()
