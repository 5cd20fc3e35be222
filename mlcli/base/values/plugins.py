"""Names that installed packages add to the tables of methods, metrics, formats and findings, by entry points.

The metadata of all packages are looked at for a name that a table does not have, and for whatever lists all names: to
import what reads them takes longer than to embed a small table.
"""

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Literal, TypeVar, get_args

from mlcli.base.frozen import frozen
from mlcli.errors import ConfigError, DependencyMissing, MlcliError

T = TypeVar("T")
Table = Literal["methods", "metrics", "formats", "findings"]
TABLES: tuple[Table, ...] = get_args(Table)
NAME = re.compile("[a-z][a-z0-9]*([-_][a-z0-9]+)*")
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")  # names and versions of packages
UNKNOWN = "of an unknown name"
NOUNS: Mapping[Table, str] = {"methods": "method", "metrics": "metric", "formats": "format", "findings": "finding"}


@frozen
class Plugin:
    """A name that an installed package adds to a table."""

    table: Table
    name: str
    where: str  # MODULE:OBJECT
    package: str
    version: str

    @property
    def owner(self) -> str:
        """The package and its version."""
        return f"{self.package} {self.version}".strip()

    def load(self, defect: Callable[[Any], str]) -> Any:
        """Return the object, imported; raises DependencyMissing with the package where it cannot be used.

        `defect` says what is wrong with an object; empty for one that can be used.
        """
        if not NAME.fullmatch(self.name):
            raise self.broken("names are lower-case letters and digits, with hyphens or underscores between")
        with self.blamed():
            found = object_at(self.where)
            wrong = defect(found)
        if wrong:
            raise self.broken(wrong)
        return found

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Raise DependencyMissing with the package for whatever its code raises in a `with` block."""
        try:
            yield
        except (Exception, SystemExit) as error:
            raise self.broken(in_words(error)) from error

    def broken(self, why: str, where: str = "", hint: str = "") -> DependencyMissing:
        """Return the error for a package that cannot be used."""
        return DependencyMissing("PLUGIN", f"{NOUNS[self.table]} {self.name!r} of package {self.owner} cannot be used: "
                                 f"{why}", where=where or self.where, hint=hint or "update the package, or remove it: "
                                 f"pip uninstall {self.package}")

    def facts(self) -> dict[str, str]:
        """Return what a run keeps of it."""
        return {"table": self.table, "name": self.name, "package": self.package, "version": self.version}


def in_words(error: BaseException) -> str:
    """Return the type of an error and its message."""
    return f"{type(error).__name__}: {str(error)[:200]}".rstrip(": ")


def culprit(error: BaseException) -> Plugin | None:
    """Return what an installed package adds of whose code an error came, None where it came of no such code."""
    modules, trace = list[str](), error.__traceback__
    while trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__", "")))
        trace = trace.tb_next
    return next((packages()[root(name)] for name in reversed(modules) if root(name) in packages()), None)


def object_at(where: str) -> Any:
    """Return the object that MODULE:OBJECT names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


@cache
def installed(table: Table) -> Mapping[str, tuple[Plugin, ...]]:
    """Return the names that installed packages add to a table, each with the packages that add it."""
    from importlib.metadata import entry_points

    found: dict[str, tuple[Plugin, ...]] = {}
    for entry in entry_points(group=f"mlcli.{table}"):
        package, version = _owner(entry.dist)
        found[entry.name] = (*found.get(entry.name, ()), Plugin(
            table, name=entry.name, where=entry.value, package=package, version=version))
    return found


def _owner(distribution: Any) -> tuple[str, str]:
    """Return the name and the version of a package; UNKNOWN for one without metadata, or with damaged ones."""
    try:
        return str(distribution.name or UNKNOWN), str(distribution.version or "")
    except (KeyError, AttributeError, OSError, ValueError):
        return UNKNOWN, ""


def plugin(table: Table, name: str) -> Plugin | None:
    """Return what an installed package adds to a table under a name, None where none does.

    Raises ConfigError where two packages do.
    """
    found = installed(table).get(name, ())
    if len(found) > 1:
        raise ConfigError("PLUGIN-TWICE", f"{NOUNS[table]} {name!r} is in {len(found)} packages: "
                          f"{', '.join(one.owner for one in found)}",
                          hint=f"keep one of them: pip uninstall {found[-1].package}")
    return found[0] if found else None


def usable(table: Table, taken: Container[str], load: Callable[[str], Any],
           ) -> tuple[Sequence[str], Sequence[MlcliError]]:
    """Return the names of installed packages that `load` loads for a table, and the errors of the others.

    A name that is `taken` by the program itself is one of the others.
    """
    names, errors = list[str](), list[MlcliError]()
    for name, found in installed(table).items():
        try:
            if name in taken:
                raise found[0].broken(f"mlcli has a {NOUNS[table]} of this name, and uses its own",
                                      hint="the package needs another name for it: that of the entry point, and of "
                                      "what it names")
            load(name)
            names.append(name)
        except (ConfigError, DependencyMissing) as error:
            errors.append(error)
    return names, errors


class OpenTable(Mapping[str, T]):
    """The program's names (`own`), then those that installed packages add to a table and that can be used.

    A package cannot add a name of the program, or one that is `reserved`. Without a table only the program's are known.
    """

    def __init__(self, own: Mapping[str, Any], table: Table | None, reserved: Collection[str] = ()) -> None:
        self.own, self.table, self.reserved = dict(own), table, reserved

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.own or self.plugin(name) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.own, *self.added[0]))

    def __len__(self) -> int:
        return len(self.own) + len(self.added[0])

    def plugin(self, name: str) -> Plugin | None:
        """Return what an installed package adds under a name; None for the program's own, and for unknown names.

        Raises ConfigError where two packages add it.
        """
        return None if self.table is None or name in self.own or name in self.reserved else plugin(self.table, name)

    @property
    def unusable(self) -> Sequence[MlcliError]:
        """The errors of what installed packages add and the table does not list."""
        return self.added[1]

    @cached_property
    def added(self) -> tuple[Sequence[str], Sequence[MlcliError]]:
        """The names that installed packages add, and the errors of those that cannot be used."""
        return ((), ()) if self.table is None else usable(self.table, {*self.own, *self.reserved}, self.__getitem__)


@cache
def packages() -> Mapping[str, Plugin]:
    """Return the packages that add to any table, by the names that they are imported by."""
    return {root(found[0].where): found[0] for table in reversed(TABLES) for found in installed(table).values()}


def root(module: str) -> str:
    """Return the name by which the package of a module is imported."""
    return re.split("[.:]", module, maxsplit=1)[0]


def missing(what: str, package: object, version: object, where: str) -> DependencyMissing:
    """Return the error for a package that a run was made with, and that is not installed here.

    Name and version come from a file of the run: those that no package has are not repeated.
    """
    plain = PLAIN.fullmatch(str(package)) and PLAIN.fullmatch(str(version))
    owner = f"the package {package} {version}" if plain else "a package of an unknown name"
    return DependencyMissing("PLUGIN-MISSING", f"{what} needs {owner}, which is not installed", where=where,
                             hint=f"install it if you know it: pip install '{package}=={version}'" if plain else
                             "ask who made the run")


def require_installed(kept: Iterable[Mapping[str, object]], where: str) -> None:
    """Raise DependencyMissing for the first name of a package, as a run keeps it, that no installed package adds."""
    for facts in kept:
        table, name = facts.get("table"), str(facts.get("name"))[:80]
        if table in TABLES and plugin(table, name) is None:
            raise missing(f"{NOUNS[table]} {name!r} of the run", facts.get("package"), facts.get("version"), where)
