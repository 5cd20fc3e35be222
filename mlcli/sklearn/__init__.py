"""Estimators of scikit-learn, one for each method: `from mlcli.sklearn import PCA, Isomap`.

An estimator is made from the declaration of its method when it is first imported. It takes features in rows, a second
view as `y` where the method relates two, and a matrix of pairs with `kind`. Left out are methods whose new rows need
labels (`NO_ESTIMATOR`).
"""

from typing import Any

from mlcli.base.values.extras import require
from mlcli.methods import METHODS

require("sklearn", "mlcli.sklearn")

NO_ESTIMATOR = ("bilinear",)  # new rows have coordinates only with their styles, and transform takes rows alone
JOINED = str.maketrans("", "", "-._")  # what names in CamelCase leave out


def __getattr__(name: str) -> Any:
    """An estimator by the name of its class, or `__all__`; raises AttributeError with the nearest name."""
    if name == "__all__":
        return __dir__()
    found = None if name.startswith("_") else method_of(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    called = METHODS[found].__name__
    if called != name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: the estimator of {found} is {called}")
    from mlcli.sklearn.estimator import declare

    globals()[name] = declare(METHODS[found])
    return globals()[name]


def __dir__() -> list[str]:
    """Return the names of all estimators, for completion and the import of all; this imports all methods."""
    return [METHODS[name].__name__ for name in METHODS if name not in NO_ESTIMATOR]


def method_of(name: str) -> str | None:
    """Return the method that a name in CamelCase means, by its own name or another one; None where there is none.

    Methods of installed packages are looked for after the others.
    """
    for methods in (METHODS.own, METHODS):
        written = {other.translate(JOINED): method for method in methods if method not in NO_ESTIMATOR
                   for other in (method, *METHODS.other_names(method))}
        if name.lower() in written:
            return written[name.lower()]
    return None
