"""Manifold learning at the command line; its public Python functions are loaded when they are first used."""

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
    """Return the public names and those that every module has, for completion."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
