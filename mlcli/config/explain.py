"""Errors of a configuration in plain words, with the origin of the value, and the sweep where several were given."""

import difflib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mlcli.base.values.options import TAG
from mlcli.base.values.plugins import TABLES, installed, missing
from mlcli.config.describe import LIST, OptionRow, listed, names_of, show, unique
from mlcli.config.layers import Layer, at_path, value_of, with_kind
from mlcli.config.run_config import option_rows
from mlcli.config.yaml_file import Keys
from mlcli.errors import ConfigError, DependencyMissing, RefusedByPlan, option
from mlcli.methods import remedy_for

SWEPT = "a run for each is a sweep: "
BOUNDS = {"greater_than_equal": ("at least", "ge"), "greater_than": ("over", "gt"),
          "less_than_equal": ("at most", "le"), "less_than": ("below", "lt")}
INSTEAD = {"method.eigensolve": "method.axes", "method.axes": "method.eigensolve"}  # how many axes are kept

SIMILARITIES = ("similarities are {input.kind=kernel}, or become dissimilarities by a rule: "
                "{input.similarities=one-minus}")
KINDS = {"similarity": SIMILARITIES, "similarities": SIMILARITIES, "distance": "did you mean 'dissimilarities'?",
         "distances": "did you mean 'dissimilarities'?", "gram": "did you mean 'kernel'?"}  # of input, by other names


def explain(error: ValidationError, layer: Layer) -> ConfigError | DependencyMissing:
    """Return the error for the first problem, with its origin, and the paths of the others.

    For a name that the file has of a package, according to its first lines, it is DependencyMissing where the package
    is not there.
    """
    problems: dict[Keys, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        problems.setdefault(keys_of(details, layer.values), []).append(details)
    (keys, problem), *others = [item for item in problems.items() if not is_above(item[0], problems)]
    if (lacking := missing_package(keys, problem[0], layer)) is not None:
        return lacking
    known = option_rows()
    if keys == ("onto", "run") and problem[0]["type"] == "missing":
        return without_run(layer)
    what, hint = wording(keys, problem, known, layer)
    given = problem[0]["input"]
    lists = any(row.path == dotted(keys) and row.words.startswith(LIST) for row in known)
    if isinstance(given, str) and lists:
        in_python = not layer.written(keys)
        hint = (hint if ":" in layer.origin(keys) else "give a list" if in_python else
                f"give --set {dotted(keys)}=[{given[:40]}]")
    elif not lists and problem[0]["type"] != "extra_forbidden":
        several = sweep_of(keys, given, layer)
        hint = (several if layer.written(keys) else several and "make a call for each of the values") or hint
    more = ", ".join(dotted(path) for path, _ in others[:5]) + (", ..." if len(others) > 5 else "")
    rest = f"and {len(others)} more: {more}" if others else ""
    return ConfigError("CONFIG", what, where=layer.origin(keys), hint="; ".join(part for part in (hint, rest) if part))


def without_run(layer: Layer) -> ConfigError:
    """Return the error of options of rows that are added to a map, where no run is named."""
    given = [("onto", name) for name in at_path(layer.values, ("onto",)) or ()]
    names = ", ".join(map(dotted, given)) or "onto"
    return ConfigError("UNUSED", f"{names} {'have' if len(given) > 1 else 'has'} no effect: no run is named whose map "
                       "the rows are added to", where=layer.origin(given[0] if given else ("onto",)),
                       hint="give {onto.run=RUN}, or leave it out")


def missing_package(keys: Keys, details: ErrorDetails, layer: Layer) -> DependencyMissing | None:
    """Return the error for an unknown name in a file that needs a package which adds no names here; None for others."""
    kind, name = details["type"], details["input"]
    if kind.startswith("union_tag"):
        noun, name = str(keys[-2]), name.get(TAG) if isinstance(name, dict) else name
    elif keys == ("input", "format"):
        noun = "format"
    elif kind == "extra_forbidden" and keys[:-1] == ("report",):
        noun, name = "finding", keys[-1]
    else:
        return None
    if layer.rank(keys) > 0 or not isinstance(name, str):
        return None
    there = {one.package for table in TABLES for found in installed(table).values() for one in found}
    for owner in layer.needs:
        if not any(owner == package or owner.startswith(f"{package} ") for package in there):
            package, _, version = owner.partition(" ")
            return missing(f"{noun} {show(name)} is unknown here, and the file", package, version, layer.origin(keys))
    return None


@contextmanager
def locate_errors(layer: Layer) -> Iterator[None]:
    """Add to a ConfigError raised in the block the layer that set its option, and to a refusal by a limit.

    A limit that no flag has set is named in the remedy as it was written, too.
    """
    layer = with_kind(layer)
    try:
        yield
    except RefusedByPlan as error:
        keys = tuple(error.where.split("."))
        if not layer.place_of(error.where) or layer.by_flag(keys) or not layer.written(keys):
            raise
        hint = error.hint.replace(option(error.where), error.where)
        raise error.changed(where=f"{layer.origin(keys)}: {error.where}", hint=hint) from error
    except ConfigError as error:
        origin = layer.place_of(error.where)
        if not origin:
            raise
        raise error.changed(where=f"{origin}: {error.where}") from error


def is_above(keys: Keys, problems: Iterable[Keys]) -> bool:
    """Whether a problem is caused by one inside it: a list with a wrong item is also reported as too short."""
    return any(len(other) > len(keys) and other[:len(keys)] == keys for other in problems)


def keys_of(details: ErrorDetails, values: Any) -> Keys:
    """Return the config path of an error: its location without the names of a union's branches."""
    keys: list[str | int] = []
    for position, part in enumerate(details["loc"], start=1):
        inside = isinstance(values, dict) and part in values
        if inside or (isinstance(values, list) and isinstance(part, int) and part < len(values)):
            values = values[part]
            keys.append(part)
        elif details["type"] == "missing" and position == len(details["loc"]):
            keys.append(part)
    return (*keys, TAG) if details["type"].startswith("union_tag") else tuple(keys)


def wording(keys: Keys, details: Sequence[ErrorDetails], known: Sequence[OptionRow], layer: Layer) -> tuple[str, str]:
    """Return the problem at a path in words, and a remedy."""
    path, first = dotted(keys), details[0]
    kind, value = first["type"], first["input"]
    if kind == "missing":
        return f"{path} is missing", next((f"give {row.type}" for row in known if row.path == path), "")
    if kind == "extra_forbidden":
        return unknown_key(keys, known, layer)
    if kind.startswith("union_tag"):
        return wrong_choice(path, value, [row for row in known if row.path == path], layer)
    if kind == "value_error":
        return f"{path}: {first.get('ctx', {}).get('error', first['msg'])}", ""
    if kind == "string_too_short":
        return f"{path} is empty", "leave it out"
    if kind in BOUNDS and len(details) == 1:
        word, bound = BOUNDS[kind]
        return f"{path} must be {word} {first['ctx'][bound]:g}, not {show(value)}", ""
    named = dotted([key for key in keys if isinstance(key, str)])
    row = next((row for row in known if row.path == named and applies(row, layer.values)), None)
    if row is None:
        return f"{path}: {first['msg'].lower()}", ""
    expected = row.words.removeprefix(LIST) if isinstance(keys[-1], int) else row.words
    return f"{path} must be {expected}, not {show(value)}", remedy(
        path, value, expected, [row for row in known if applies(row, layer.values)])


def remedy(path: str, value: Any, expected: str, known: Sequence[OptionRow]) -> str:
    """Return a remedy for a value of the wrong type; empty if there is none."""
    if isinstance(value, str) and any(row.path == f"{path}.{TAG}" for row in known):
        return f"write {path}: {{{TAG}: {value[:40]}}}"
    if isinstance(value, str) and expected.startswith(LIST):
        return f"write {path}: [{value[:40]}]"
    if isinstance(value, str) and path == "input.kind" and value.lower() in KINDS:
        return KINDS[value.lower()]
    if isinstance(value, str):
        return suggestion(value, expected.split("'")[1::2])
    if isinstance(value, float) and value.is_integer() and "a whole number" in expected:
        return f"whole numbers are written without a point or an exponent: {show(int(value))}"
    quotable = "a text" in expected and isinstance(value, (int, float))
    return f"write it in quotes: '{show(value)}'" if quotable else ""


def wrong_choice(path: str, value: Any, known: Sequence[OptionRow], layer: Layer) -> tuple[str, str]:
    """Return problem and remedy of a section with a name that is unknown, or known to other methods only."""
    chosen, section = value.get(TAG) if isinstance(value, dict) else value, path.split(".")[-2]
    names = names_of(row for row in known if applies(row, layer.values))
    if chosen in names_of(known) and chosen not in names:
        method = chosen_in(layer.values, "method")
        return f"{path}: {method} has no {section} {show(chosen)}", f"choose {listed([*map(show, names)], 'or')}"
    nearest = remedy_for if path == f"method.{TAG}" else partial(suggestion, known=names)
    near = nearest(chosen) if isinstance(chosen, str) else ""
    return f"{path}: unknown {section} {show(chosen)}", near or f"there are {listed(names, 'and')}"


def unknown_key(keys: Keys, known: Sequence[OptionRow], layer: Layer) -> tuple[str, str]:
    """Return problem and remedy of an unknown key: misspelt, of another alternative, or of another section."""
    path, key = dotted(keys), str(keys[-1])
    translation = synonym(keys, known, layer)
    elsewhere = [row for row in known if row.path == path]
    if elsewhere:
        what, hint = of_another(path, key, elsewhere, layer)
        return what, translation or hint or instead(path, known, layer)
    parent = dotted(keys[:-1])
    siblings = [row.path.rpartition(".")[2] for row in known
                if row.path.rpartition(".")[0] == parent and applies(row, layer.values)]
    places = [row for row in known if row.path.rpartition(".")[2] == key]
    fitting = [row for row in places if applies(row, layer.values)] if parent else []  # those of the chosen method
    same = [row for row in fitting or places if row.path.partition(".")[0] == str(keys[0])]
    homes = unique(row.path for row in same or fitting or places)
    moved = f"did you mean {listed(homes, 'or')}?" if homes else ""
    hints = (translation, suggestion(key, siblings), moved, f"the keys here are {', '.join(siblings)}")
    return f"unknown key {path!r}", next(filter(None, hints))


def synonym(keys: Keys, known: Sequence[OptionRow], layer: Layer) -> str:
    """Return the option beside an unknown key that has this name in other programs, with the conversion; else empty."""
    parent, key = dotted(keys[:-1]), str(keys[-1])
    row = next((row for row in known if row.path.rpartition(".")[0] == parent and key in row.synonyms
                and applies(row, layer.values)), None)
    return "" if row is None else f"it is {row.path} = {row.synonyms[key]} here ({row.sentence.partition(' (')[0]})"


def of_another(path: str, key: str, elsewhere: Sequence[OptionRow], layer: Layer) -> tuple[str, str]:
    """Return problem and remedy of an option that the chosen alternative lacks and another one has."""
    sections = {section for row in elsewhere for section in row.only
                if chosen_in(layer.values, section) != row.only[section]}
    section = max(sections, key=len)
    owners = unique(row.only[section] for row in elsewhere)
    chosen, tag_origin = chosen_in(layer.values, section), layer.origin((*section.split("."), TAG))
    here = layer.origin(tuple(path.split(".")))
    run = at_path(layer.values, ("onto", "run"))
    if section == "method" and not tag_origin and isinstance(run, str):
        own = method_of(run)
        return (f"{path}: options of the method are those of the run that the rows are added to"
                f"{f', which was made by {own}' if own else ''}", "leave it out")
    changed = ":" in here and source(tag_origin) != source(here)  # by a layer above the file
    hint = f"{section}.{TAG} is {chosen!r} by {tag_origin}" if changed and tag_origin else ""
    have = "has" if len(owners) == 1 else "have"
    return f"{path}: {chosen} has no option {key!r}; {listed(owners, 'and')} {have} it", hint


def method_of(run: str) -> str:
    """Return the method of a finished run, by its run.json; empty where it cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((Path(run) / "run.json").read_text(encoding="utf-8"))["method"])
    return ""


def instead(path: str, known: Sequence[OptionRow], layer: Layer) -> str:
    """Return the option to use with the chosen method in place of an unknown one; empty if there is none."""
    if path == "method.neighbors" and layer.origin(tuple(path.split("."))) == "-k":
        return "the number of axes is -p"
    place = INSTEAD.get(path, "")
    return f"write {place}" if any(row.path == place and applies(row, layer.values) for row in known) else ""


def source(origin: str) -> str:
    """Return the file, flag or variable of an origin, without line and column."""
    return origin.rsplit(":", 2)[0]


def applies(row: OptionRow, values: Mapping[str, Any]) -> bool:
    """Whether an option exists under the chosen alternatives."""
    return all(chosen_in(values, section) == name for section, name in row.only.items())


def chosen_in(values: Any, section: str) -> Any:
    """Return the name of the alternative chosen in a section."""
    return at_path(values, (*section.split("."), TAG))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the nearest known word, as a question; empty if none is near."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def dotted(keys: Sequence[str | int]) -> str:
    """Return a path of keys as one name, each key cut to 80 characters: report.formats[0]."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key[:80]}" for key in keys)
    return text.removeprefix(".")


def sweep_of(keys: Keys, given: Any, layer: Layer) -> str:
    """Return the command that runs each of several values, `4,6,8` or `[4, 6, 8]`; empty for one value."""
    if isinstance(given, dict) and keys[-1] == TAG:
        given = given.get(TAG)
    values = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if not isinstance(values, list) or len(values) < 2 or not all(
            isinstance(value, (str, int, float)) and value != "" for value in values):
        return ""
    path = ".".join(map(str, keys))
    section = f"sweep: {{{path}: [{', '.join(map(str, values))}]}}"
    if ":" in layer.origin(keys):  # of a file, line and column
        return f"{SWEPT}{section} in place of {path}"
    others = (f"--set {shlex.quote(f'{name}={assigned_text(value)}')}" for name, value in other_values(layer, keys))
    return f"{SWEPT}{' '.join([f'echo {shlex.quote(section)} | mlcli run -', *others])}"


def other_values(layer: Layer, but: Keys) -> list[tuple[str, Any]]:
    """Return the dotted paths and values that the layer sets besides one path."""
    found = []
    for keys in layer.origins:
        value = at_path(layer.values, keys)
        if keys != but and value is not None and not isinstance(value, dict):
            found.append((".".join(map(str, keys)), value))
    return sorted(found)


def assigned_text(value: Any) -> str:
    """Return a value in a form that `--set` reads."""
    plain = value if isinstance(value, str) else show(value)
    return plain if isinstance(value, str) and value_of(plain, "") == value else json.dumps(value)
