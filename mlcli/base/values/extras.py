"""The extras of the distribution: the modules that each brings, and the one error where these are not there."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mlcli.errors import DependencyMissing

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "dask": ("distributed", "cryptography"), "plot": ("matplotlib", "adjustText"), "h5": ("h5py",), "images": ("PIL",),
    "interactive": ("plotly",), "neural": ("jax", "optax")}


def lacking(extra: str) -> str | None:
    """The first module of an extra that is not installed."""
    return next((module for module in EXTRAS[extra] if find_spec(module) is None), None)


def require(extra: str, what: str, where: str = "") -> None:
    """Raises DependencyMissing where an extra is not there that something needs."""
    if module := lacking(extra):
        raise missing(extra, what, module=module, where=where)


def loaded(extra: str, what: str, module: str = "") -> Any:
    """A module of an extra, its first if none is named; raises DependencyMissing."""
    try:
        first = import_module(EXTRAS[extra][0])
        return import_module(module) if module else first
    except ImportError as error:
        raise missing(extra, what, module=error.name or EXTRAS[extra][0]) from None


def missing(extra: str, what: str, *, module: str, where: str = "") -> DependencyMissing:
    """The error of an extra that is not there."""
    return DependencyMissing("EXTRA", f"{what} needs {module}, which is not installed", where=where,
                             hint=f"pip install 'manifold-cli[{extra}]'")
