"""Stubs of modules that no run needs, and that take as long to load as a small fit.

The modules hold the metadata of packages, and NumPy's documentation and types for annotations. Only the program does
without them: a program that imports `mlcli` keeps them all. A version of a library that lacks such a module loads as
it is.

They stay although the modules are private: without them `mlcli embed iris.csv` takes 30 ms of processor time more (5 %;
11 % of its instructions), and neither library can be asked to leave these modules out. PYDANTIC_DISABLE_PLUGINS alone
does not help, as pydantic imports `importlib.metadata` before it looks at it.
"""

import importlib
import os
import sys
from types import ModuleType
from typing import Any

TYPES = "numpy._typing"
UNVERSIONED: dict[str, Any] = {"VERSION_TEXT": "", "VERSION_STATUS": "", "version": "", "VERSION": (),
                               "version_tuple": ()}
EMPTY: dict[str, dict[str, Any]] = {
    "pymetis.version": UNVERSIONED,  # nobody asks for it
    "numpy._core._add_newdocs": {}, "numpy._core._add_newdocs_scalars": {}}  # docstrings of functions in C
PLUGINS = "PYDANTIC_DISABLE_PLUGINS"  # the variable by which a user asks for plugins of pydantic's, or for none


def install_stubs() -> None:
    """Put stubs in the place of modules that no run needs; NumPy and pydantic must not be loaded yet."""
    for name, content in EMPTY.items():
        put(name, ModuleType(name), content)
    if os.environ.setdefault(PLUGINS, "__all__") == "__all__":  # none, which a user may have wished otherwise
        put("pydantic.plugin._loader", ModuleType("pydantic.plugin._loader"), {"get_plugins": tuple})
    put(TYPES, NumpyTypes(TYPES), {})


def put(name: str, module: ModuleType, content: dict[str, Any]) -> None:
    """Put a module with this content in the place of one that is not loaded yet."""
    vars(module).update(content)
    sys.modules.setdefault(name, module)


class NumpyTypes(ModuleType):
    """NumPy's types for annotations, loaded once anything but NumPy itself asks for them.

    While it is loaded, NumPy annotates a few results of its linear algebra with one of them: a list serves as well.
    """

    def __getattr__(self, name: str) -> Any:
        if is_loading("numpy"):
            if name == "NDArray":
                return list
            if name.startswith("__"):  # a path of submodules, for which the import system looks
                raise AttributeError(name)
        if sys.modules.get(TYPES) is self:
            del sys.modules[TYPES]
        real = importlib.import_module(TYPES)
        vars(self).update(vars(real))
        return getattr(real, name)


def is_loading(name: str) -> bool:
    """Return whether a module is being loaded."""
    return bool(getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False))
