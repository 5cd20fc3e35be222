"""Errors of estimators: those of mlcli that are also the exceptions that scikit-learn and its users expect."""

from collections.abc import Mapping

from sklearn.exceptions import NotFittedError

from mlcli.errors import PARTS, ConfigError, DataError, GeometryError, MlcliError, NumericalError


class InvalidData(DataError, ValueError):
    """The input's content is wrong."""


class InvalidType(DataError, TypeError):
    """The input holds something other than numbers."""


class InvalidOption(ConfigError, ValueError):
    """A parameter has a wrong value."""


class InvalidGeometry(GeometryError, ValueError):
    """The data has no such geometry."""


class FailedComputation(NumericalError, ValueError):
    """A computation failed or did not converge."""


class NotFitted(ConfigError, NotFittedError):  # type: ignore[misc]  # untyped
    """The estimator has no model yet."""


UNFITTED = "E-NOT-FITTED"
KINDS: Mapping[type[MlcliError], type[MlcliError]] = {
    DataError: InvalidData, ConfigError: InvalidOption, GeometryError: InvalidGeometry,
    NumericalError: FailedComputation}


def for_sklearn(error: MlcliError) -> MlcliError:
    """Return an error as one that is also a ValueError or NotFittedError; others, as of memory, as they are."""
    kind = NotFitted if error.code == UNFITTED else KINDS.get(type(error))
    return error if kind is None else kind(error.code.removeprefix("E-"), error.found,
                                           **{name: getattr(error, name) for name in PARTS})


def check_error(error: Exception, where: str = "") -> MlcliError:
    """Return an error of scikit-learn's own checks of arrays, in its words, with the array's place."""
    return (InvalidType if isinstance(error, TypeError) else InvalidData)("ARRAY", str(error), where=where)
