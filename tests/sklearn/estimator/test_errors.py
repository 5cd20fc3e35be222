"""Errors of estimators are those of mlcli, and of the kinds that scikit-learn raises."""

import pickle

import pytest

from mlcli.errors import (
    ConfigError,
    DataError,
    DependencyMissing,
    GeometryError,
    MlcliError,
    NumericalError,
    RefusedByPlan,
)

pytest.importorskip("sklearn")

from sklearn.exceptions import NotFittedError

from mlcli.sklearn.estimator import check_error, for_sklearn


@pytest.mark.parametrize("kind", [DataError, ConfigError, GeometryError, NumericalError])
def test_an_error_of_values_is_a_value_error_with_all_its_parts(kind: type[MlcliError]) -> None:
    error = kind("CODE", "something", where="here", hint="do this", row=3, name="d")
    found = for_sklearn(error)
    assert isinstance(found, kind) and isinstance(found, ValueError)
    assert (str(found), found.fields(), found.row) == (str(error), error.fields(), 3)
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found) and again.fields() == found.fields()


def test_what_is_no_fault_of_values_stays_as_it_is() -> None:
    for kind in (RefusedByPlan, DependencyMissing):
        error = kind("CODE", "something")
        assert for_sklearn(error) is error


def test_errors_of_checks_keep_their_words_and_kinds() -> None:
    assert isinstance(for_sklearn(ConfigError("NOT-FITTED", "not yet")), NotFittedError)
    for kind in (ValueError, TypeError):
        error = check_error(kind("in these words"))
        assert isinstance(error, kind) and isinstance(error, DataError) and str(error) == "in these words"
