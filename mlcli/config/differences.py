"""Options of a run that differ from their defaults."""

from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticUndefined

from mlcli.base.frozen import frozen
from mlcli.base.values.options import TAG, Options
from mlcli.config.describe import show, tag_of

OWN = ("input.path", "output")  # options without a meaningful default


@frozen
class Difference:
    """An option that is not at its default."""

    path: str
    value: str
    default: str


def differences(options: Options, base: Options | None = None, path: str = "") -> Iterator[Difference]:
    """Yield every option whose value differs from its default, sections before their options.

    A section that another one may replace, such as the method, is compared with its own defaults.
    """
    for name, info in type(options).model_fields.items():
        here, value = f"{path}.{name}" if path else name, getattr(options, name)
        default = info.default if base is None else getattr(base, name)
        if isinstance(value, Options):
            same = type(default) is type(value)
            if not same and default is not PydanticUndefined:
                yield Difference(f"{here}.{TAG}", tag_of(type(value)), _words(default))
            yield from differences(value, default if same else None, here)
        elif value != default and here not in OWN and not (name == TAG and here != TAG):
            yield Difference(here, show(value), _words(default))


def _words(default: Any) -> str:
    """Return a default as text; empty for an option without one."""
    if isinstance(default, Options):
        return tag_of(type(default))
    return "" if default is PydanticUndefined else show(default)
