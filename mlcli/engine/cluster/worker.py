"""The work of a cluster's worker: compare versions with the client's, and run blocks."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import mlcli
from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import blas_libraries
from mlcli.base.types import AnyArray
from mlcli.engine.cluster.serialize import one_thread_each, opened, read_array
from mlcli.engine.executor import Block
from mlcli.errors import ConfigError, DependencyMissing, InputMissing, MlcliError, StorageError

SETTINGS = "settings"  # beside the versions, where results are portable
PACKAGES = ("numpy", "scipy", "pyarrow", "dask", "distributed")
ALIKE = "start scheduler and workers in the environment of this command, as from one container image"
OWN_READING = "workers read its blocks themselves: put it on storage that all machines share, under the same path, " \
              "where workers may read it; or leave {compute.cluster} out"
OWN_STORE = "workers read its blocks themselves: start them with the store's variables that this command has, as " \
            "AWS_ENDPOINT_URL and AWS_PROFILE; or leave {compute.cluster} out"
Versions = Mapping[str, str]


@frozen
class Task:
    """The message that all blocks of a source share, and the places of its arrays."""

    pickled: bytes
    keys: Sequence[str]  # of the arrays that come with the task
    folder: str | None  # where the others are
    versions: Versions  # the client's


@cache
def versions(*, portable: bool = False) -> Versions:
    """Return the versions that must be equal on all machines; for portable results with what else these depend on."""
    found = {"mlcli": mlcli.__version__, "python": platform.python_version(),
             **{name: _installed(name) for name in PACKAGES}}
    return {**found, SETTINGS: settings()} if portable else found


def settings() -> str:
    """Describe the C library and what linear algebra and NumPy use, or why they make no portable results."""
    import scipy.linalg  # noqa: F401 (brings its own library)

    from mlcli.engine.portable import decisive

    try:
        facts = decisive()
    except ConfigError as error:
        return f"({error.found})"
    return ", ".join((*facts["blas"], facts["c_library"]))


def kinds() -> Sequence[str]:
    """Return the kernels that this machine uses, on which rounding depends."""
    import scipy.linalg  # noqa: F401 (brings its own library)

    libraries = {f"{info['internal_api']} {info.get('architecture')}" for info in blas_libraries().info()
                 if info["user_api"] == "blas"}
    return [f"native {native.describe()}", *sorted(libraries)]


def differences(here: Versions, there: Versions) -> str:
    """Describe the versions that differ; empty if none does."""
    return ", ".join(f"{name} {there.get(name, 'none')} instead of {here[name]}" for name in here
                     if here[name] != there.get(name))


def examine_worker(*, portable: bool) -> tuple[Versions, Sequence[str]]:
    """Return versions and kernels, which the client compares when it connects."""
    return versions(portable=portable), kinds()


def refuse_unlike(here: Versions, there: Versions, where: str) -> None:
    """Raises DependencyMissing where a worker has other versions than the client."""
    if unlike := differences(here, there):
        raise DependencyMissing("CLUSTER-VERSIONS", f"a worker has {unlike}", where=where,
                                hint=ALIKE)


def work(task: Task, number: int, *arrays: AnyArray) -> Any:
    """Compute a block in a thread of a worker; raises DependencyMissing for other versions than the client's."""
    refuse_unlike(task.versions, versions(portable=SETTINGS in task.versions), platform.node())
    one_thread_each()
    given = dict(zip(task.keys, arrays, strict=True))

    def array(key: str) -> AnyArray:
        return given[key] if key in given or task.folder is None else read_array(Path(task.folder), key)

    with reading_here():
        return Block(opened(task.pickled, array), number).run()


@contextmanager
def reading_here() -> Iterator[None]:
    """Explain, in errors of an unreachable or changed input, that workers read it themselves."""
    here = platform.node()
    try:
        yield
    except InputMissing as error:
        raise InputMissing("CLUSTER-INPUT", f"a worker on {here} cannot read the input: {error.found}",
                           where=error.where, hint=_own(error)) from None
    except DependencyMissing as error:
        if error.code != "E-REMOTE":  # what this worker lacks
            raise error.changed(where=f"a worker on {here}") from None
        raise DependencyMissing("CLUSTER-INPUT", f"a worker on {here} cannot read the input: {error.found}",
                                where=error.where, hint=_own(error)) from None
    except StorageError as error:
        if error.code not in ("E-CHANGED", "E-READ"):
            raise
        what = "finds another size or other times" if error.code == "E-CHANGED" else error.found
        raise StorageError("CLUSTER-INPUT", f"a worker on {here} cannot read the input: {what}",
                           where=error.where, hint=_own(error)) from None


def _own(error: MlcliError) -> str:
    """Return the hint how workers can read an input."""
    return OWN_STORE if "://" in error.where else OWN_READING


def hold(array: AnyArray) -> AnyArray:
    """An array as the result of a task, which the scheduler has done again where a worker is lost that held it."""
    return array


def add(client: Versions, total: Callable[[Sequence[Any]], Any], *results: Any) -> Any:
    """Return the sum of results of blocks; raises DependencyMissing for other versions than the client's."""
    refuse_unlike(client, versions(portable=SETTINGS in client), platform.node())
    return total(results)


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
