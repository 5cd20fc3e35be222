"""Names that options have in other programs, and other names that a configuration may use."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from mlcli.base.values.options import TAG, Options, Power, Synonyms
from mlcli.config.describe import alternative, is_section, show
from mlcli.config.explain import sweep_of
from mlcli.config.layers import Layer
from mlcli.config.run_config import option_rows
from mlcli.config.yaml_file import Keys
from mlcli.errors import ConfigError

# names of scikit-learn's, and the flag or keyword of the same meaning
FLAGS_ELSEWHERE = {"n_components": "components", "n_neighbors": "neighbors", "random_state": "seed",
                   "n_jobs": "threads"}


def paths_for(flag: str) -> Mapping[str, str]:
    """Return the config paths of a name, as method.correction for --correction or `correction`, each with its value.

    The value is VALUE, or the formula of an option that other programs give another name, as sigma of a kernel.
    Sections have no value of their own, and are left out.
    """
    name = flag.partition("=")[0].lstrip("-").replace("-", "_")
    rows = option_rows()
    sections = {row.path.rpartition(".")[0] for row in rows}
    options = [row for row in rows if row.path.count(".") and row.path not in sections]
    named = {row.path: "VALUE" for row in options if row.path.rpartition(".")[2] == name}
    formulas: dict[str, str] = {}
    for row in sorted(options, key=lambda row: row.path.count(".")):
        if name in row.synonyms:
            formulas.setdefault(row.path, row.synonyms[name])
    return named or formulas


def convert_synonyms(options: type[Options], layer: Layer) -> tuple[Layer, list[str]]:
    """Return a layer with converted names, and a sentence for each; sections have their names already.

    Raises ConfigError where one layer gives an option under two names, and for what is no value of a name.
    """
    values, said = _converted(options, layer.values, (), layer)
    return replace(layer, values=values), said


def _converted(options: type[Options], values: Any, at: Keys, layer: Layer) -> tuple[Any, list[str]]:
    """Return the values at a path with converted names, and a sentence for each."""
    if not isinstance(values, dict):
        return values, []
    known, said = dict(values), list[str]()
    for name, info in options.model_fields.items():
        for formulas in (item.formulas for item in info.metadata if isinstance(item, Synonyms)):
            powers = {other: power for other, power in formulas.items()
                      if isinstance(power, Power) and other in known and other not in options.model_fields}
            if powers:
                said += _convert(known, (*at, name), powers, layer)
        if is_section(info) and isinstance(known.get(name), dict):
            kind = alternative(info, str(known[name].get(TAG)))
            if kind is not None:
                known[name], further = _converted(kind, known[name], (*at, name), layer)
                said += further
    return known, said


def _convert(known: dict[str, Any], keys: Keys, powers: dict[str, Power], layer: Layer) -> list[str]:
    """Replace values under other names by that of an option, and return a sentence; the uppermost layer is followed."""
    *above, name = map(str, keys)
    given = [name, *powers] if name in known else list(powers)
    ranks = {other: layer.rank((*above, other)) for other in given}
    top = [other for other in given if ranks[other] == max(ranks.values())]
    if len(top) > 1:
        first, second = (".".join((*above, other)) for other in reversed(top[:2]))
        raise ConfigError("CONFIG", f"{first} and {second} are the same option",
                          where=layer.origin((*above, top[1])) or first, hint="leave one of the two out")
    values = {other: known.pop(other) for other in given}
    (other,) = top
    if other == name:
        known[name] = values[name]
        return []
    known[name] = _value(powers[other], values[other], keys, other, layer)
    path = ".".join((*above, other))
    return [f"{path} {values[other]:g} is {'.'.join((*above, name))} {known[name]:.6g}: "
            f"{name} = {powers[other].formula}"]


def _value(power: Power, value: Any, keys: Keys, other: str, layer: Layer) -> float:
    """Return the value of the option at a path from the one under another name.

    Raises ConfigError if that is no number over 0, or the option is not.
    """
    given = (*keys[:-1], other)
    path, where = ".".join(map(str, given)), layer.origin(given)
    hint = f"it is {'.'.join(map(str, keys))} = {power.formula} here"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError("CONFIG", f"{path} must be a number over 0, not {show(value)}", where=where,
                          hint=(sweep_of(given, value, layer) if layer.written(given) else "") or hint)
    if not value > 0:
        raise ConfigError("CONFIG", f"{path} must be over 0, not {show(value)}", where=where, hint=hint)
    found = power.of(float(value)) if value < float("inf") else 0.0
    if not (isfinite(found) and found > 0):
        raise ConfigError("CONFIG", f"{path} must be over 0, and {power.formula} over 0 and finite, not {show(value)}",
                          where=where, hint=hint)
    return found
