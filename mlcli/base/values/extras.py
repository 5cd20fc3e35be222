"""The extras of the distribution: the modules of each, and the error where one is not installed."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mlcli.errors import DependencyMissing

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "dask": ("distributed", "cryptography"), "plot": ("matplotlib", "adjustText"), "h5": ("h5py",), "images": ("PIL",),
    "neural": ("jax", "optax"), "sklearn": ("sklearn",),
    "genes": ("skmisc",)}


def missing_module(extra: str) -> str | None:
    """Return the first module of an extra that is not installed, or None."""
    return next((module for module in EXTRAS[extra] if find_spec(module) is None), None)


def require(extra: str, what: str, where: str = "") -> None:
    """Raise DependencyMissing where an extra that `what` needs is not installed."""
    if module := missing_module(extra):
        raise missing_error(extra, what, module=module, where=where)


def load_extra(extra: str, what: str, module: str = "") -> Any:
    """Import and return a module of an extra, by default its first; raises DependencyMissing."""
    try:
        first = import_module(EXTRAS[extra][0])
        return import_module(module) if module else first
    except ImportError as error:
        raise missing_error(extra, what, module=error.name or EXTRAS[extra][0]) from None


def missing_error(extra: str, what: str, *, module: str, where: str = "") -> DependencyMissing:
    """Return the error for an extra that is not installed."""
    return DependencyMissing("EXTRA", f"{what} needs {module}, which is not installed", where=where,
                             hint=f"pip install 'manifold-cli[{extra}]'")
