"""Manifold learning at the command line; and what of it is public in Python, loaded when it is first used."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["embed", "open_run"]


def __getattr__(name: str) -> Any:
    """A public function; raises AttributeError for anything else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.door"), name)
