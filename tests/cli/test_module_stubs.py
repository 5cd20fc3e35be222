"""Stubs of modules: NumPy's types are the real ones once they are asked for."""

import importlib.util

import pytest

from mlcli.cli.module_stubs import EMPTY, TYPES
from tests.processes import python


@pytest.mark.parametrize("name", [*EMPTY, TYPES, "pydantic.plugin._loader"])
def test_the_libraries_have_the_modules_of_the_stubs(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


@pytest.mark.parametrize("first", ["NDArray", "ArrayLike"])
def test_types_are_the_real_ones_for_others_than_numpy(first: str) -> None:
    asked = (f"from numpy._typing import {first}; import numpy.typing as types, numpy._typing._nbit; "
             f"print(types.NDArray, types.ArrayLike, {first} is types.{first})")
    spared = ("import sys; from mlcli.cli.module_stubs import NumpyTypes, install_stubs; install_stubs(); "
              f"import numpy; print(type(sys.modules['{TYPES}']) is NumpyTypes); {asked}")
    assert python(spared) == "True\n" + python(asked)


def test_a_program_that_imports_mlcli_keeps_documentation_and_types() -> None:
    code = "import mlcli, numpy, sys; mlcli.embed; print(bool(numpy.add.__doc__), type(sys.modules['numpy._typing']))"
    assert python(code) == "True <class 'module'>\n"
