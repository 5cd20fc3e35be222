"""Stubs of the estimators, mlcli/sklearn/__init__.pyi: made from their parameters for editors and type checkers."""

import re
import textwrap

from mlcli.config.describe import LIST
from mlcli.methods import METHODS, Method
from mlcli.sklearn import NO_ESTIMATOR
from mlcli.sklearn.parameters import Parameter, parameters_of

HEAD = '''# Made by `python docs/generate.py` from the declarations of the methods.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from mlcli.sklearn.estimator import Estimator

NO_ESTIMATOR: tuple[str, ...]

def method_of(name: str) -> str | None: ...
'''
PLAIN = {"a whole number": "int", "a number": "float", "a text": "str", "true or false": "bool",
         "an array": "ArrayLike"}


def stubs() -> str:
    """The stub of every estimator."""
    return HEAD + "".join(stub(kind) for name, kind in METHODS.items() if name not in NO_ESTIMATOR)


def stub(method: type[Method]) -> str:
    """The class of a method with its parameters."""
    parts = [f"{name}: {type_of(parameter)} = {parameter.default!r}".replace(" ", "\0")  # stays on one line
             for name, parameter in parameters_of(method).items()]
    text = textwrap.fill(f"def __init__(self, *, {', '.join(parts)})\0->\0None:\0...", 119, initial_indent="    ",
                         subsequent_indent=" " * 17, break_long_words=False, break_on_hyphens=False)
    return f"\nclass {method.__name__}(Estimator):\n{text}\n".replace("\0", " ")


def type_of(parameter: Parameter) -> str:
    """The Python type of a parameter, from its type in words."""
    words = re.sub(r"\([^)]*\)", "", parameter.words)
    kinds = [kind for said, kind in PLAIN.items() if re.search(rf"\b{said}\b", words)]
    names = re.findall(r"'[^']*'", words) or ([] if kinds else re.findall(r"\d+", words))
    kinds = [*([f"Literal[{', '.join(names)}]"] if names else []), *kinds]
    if words.startswith(LIST):
        kinds = [f"Sequence[{' | '.join(kinds)}]"]
    elif LIST in words:
        kinds = [*kinds, f"Sequence[{kinds[-1]}]"]
    if parameter.path.endswith(".name"):
        kinds = ["str", "Mapping[str, Any]"]  # names ignore case, and some have others
    if "a section" in words:
        kinds = ["Mapping[str, Any]"]
    return " | ".join([*kinds, *(["None"] if parameter.default is None else [])])
