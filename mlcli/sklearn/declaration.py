"""Classes of estimators, made from the declarations of the methods."""

import inspect
import textwrap
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from mlcli.config.other_names import FLAGS_ELSEWHERE
from mlcli.methods import Method
from mlcli.sklearn.estimator import Estimator
from mlcli.sklearn.parameters import START, Parameter, parameters_of

WIDTH = 88
ELSEWHERE = {**FLAGS_ELSEWHERE, "init": START}  # names of scikit-learn's, and the parameter of the same meaning


def declare(method: type[Method]) -> type[Estimator]:
    """Return the estimator of a method, a class with the method's name, parameters and documentation."""
    parameters = parameters_of(method)
    return type(method.__name__, (Estimator,), {
        "__init__": constructor(parameters), "__doc__": documentation(method, parameters),
        "__module__": "mlcli.sklearn", "method": method, "parameters": parameters})


def constructor(parameters: Mapping[str, Parameter]) -> Callable[..., None]:
    """Return an `__init__` with these parameters as keywords, which it stores as they are."""
    signature = inspect.Signature([
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
          for name, parameter in parameters.items())])

    def __init__(self: Any, *args: Any, **values: Any) -> None:
        for name in set(values) - set(parameters):
            near = ELSEWHERE.get(name) or next(iter(get_close_matches(name, parameters, 1)), "")
            raise TypeError(f"got an unexpected keyword argument {name!r}"
                            + (f"; it is {near!r} here" if near in parameters else ""))
        given = signature.bind(self, *args, **values)
        given.apply_defaults()
        for name in parameters:
            setattr(self, name, given.arguments[name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def documentation(method: type[Method], parameters: Mapping[str, Parameter]) -> str:
    """Return the method's own text with its parameters, as scikit-learn lists them."""
    lines = [inspect.cleandoc(method.__doc__ or ""), "", "Parameters", "----------"]
    for name, parameter in parameters.items():
        own = "" if parameter.usual is None else f", which is {parameter.usual!r}, or what the data allows"
        lines += [f"{name} : {parameter.words}, default={parameter.default!r}{own}",
                  textwrap.fill(parameter.sentence, WIDTH, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)
