"""Classes of estimators are made when they are used, and named like the methods."""

import inspect
import pickle

import numpy as np
import pytest

from mlcli.base.values import extras
from mlcli.errors import DependencyMissing
from mlcli.methods import METHODS
from tests.processes import python

pytest.importorskip("sklearn")

import mlcli.sklearn
from tests.wording import Wording


def test_every_method_but_those_that_need_labels_of_new_rows_has_an_estimator() -> None:
    named = {METHODS[name].__name__: name for name in METHODS if name not in mlcli.sklearn.NO_ESTIMATOR}
    assert mlcli.sklearn.__all__ == list(named) and mlcli.sklearn.NO_ESTIMATOR == ("bilinear",)
    for called, name in named.items():
        kind = getattr(mlcli.sklearn, called)
        assert kind.method is METHODS[name] and pickle.loads(pickle.dumps(kind)) is kind
        assert inspect.signature(kind).parameters.keys() == kind.parameters.keys()
        assert all(f"\n{parameter} : " in kind.__doc__ for parameter in kind.parameters)


@pytest.mark.parametrize(("name", "right"), [
    ("LocallyLinearEmbedding", "LLE"), ("TSne", "TSNE"), ("SpectralEmbedding", "Laplacian"),
    ("Perceptron", "'Perceptron'")])
def test_another_name_of_a_method_leads_to_its_estimator(name: str, right: str) -> None:
    with pytest.raises(AttributeError, match=rf" {right}$"):
        getattr(mlcli.sklearn, name)


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="n_neighbors"):
        mlcli.sklearn.Isomap(n_neighbors=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'init'; .* 'start' "):
        mlcli.sklearn.TSNE(init=np.eye(2))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'init'$"):
        mlcli.sklearn.PCA(init="random")  # type: ignore[call-arg]


def test_scikit_learn_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setitem(extras.EXTRAS, "sklearn", ("not_there",))  # type: ignore[index]
    with wording.raises(DependencyMissing, "EXTRA"):
        extras.require("sklearn", "mlcli.sklearn")


@pytest.mark.medium
def test_one_estimator_loads_one_method() -> None:
    loaded = ("import sys; from mlcli.methods import METHODS; from mlcli.sklearn import LPP; "
              "print([name for name in ('isomap', 'lpp') if ")
    assert python(loaded + "METHODS.own[name].partition(':')[0] in sys.modules])") == "['lpp']\n"
    assert python("import sys, mlcli.api; print('sklearn' in sys.modules)") == "False\n"
