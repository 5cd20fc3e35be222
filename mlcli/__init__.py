"""Manifold learning at the command line; and what of it is public in Python, loaded when it is first used."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["embed", "open_run"]


def __getattr__(name: str) -> Any:
    """A public function; raises AttributeError for anything else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.api"), name)


def __dir__() -> list[str]:
    """What is public, and what Python says of every module: the names that are completed."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
