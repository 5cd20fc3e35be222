"""Other names of options that a configuration may use: `sigma` of a kernel is converted to its `rate`."""

from typing import Any

from mlcli.base.values.choices import TAG
from mlcli.base.values.options import Options, Power, Synonyms
from mlcli.config.describe import alternative, alternatives, is_section, several
from mlcli.errors import ConfigError


def convert_synonyms(options: type[Options], values: Any, path: str = "") -> tuple[Any, list[str]]:
    """Return nested values with converted names, and a sentence for each; sections have their names already.

    Raises ConfigError where an option is given under two names.
    """
    if not isinstance(values, dict):
        return values, []
    known, said = dict(values), list[str]()
    for name, info in options.model_fields.items():
        for formulas in (item.formulas for item in info.metadata if isinstance(item, Synonyms)):
            for other, power in formulas.items():
                if isinstance(power, Power) and other in known and other not in options.model_fields:
                    said += _convert(known, name, other, power, path)
        if name in known and is_section(info):
            kind = (alternative(info, str(known[name].get(TAG))) if several(info) and isinstance(known[name], dict)
                    else next(iter(alternatives(info)), None))
            if kind is not None:
                known[name], further = convert_synonyms(kind, known[name], f"{path}{name}.")
                said += further
    return known, said


def _convert(known: dict[str, Any], name: str, other: str, power: Power, path: str) -> list[str]:
    """Replace the value under another name by that of an option, and return a sentence; not for what is no number."""
    value = known[other]
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return []
    if name in known:
        raise ConfigError("CONFIG", f"{path}{other} and {path}{name} are the same option", where=f"{path}{other}",
                          hint="leave one of the two out")
    del known[other]
    known[name] = power.of(float(value))
    return [f"{path}{other} {value:g} is {path}{name} {known[name]:.6g}: {name} = {power.formula}"]
