"""How blocks travel to processes of other machines: as a short message that names what is large by its content.

A message is a pickle. A large array in it is replaced by its key, the hash of its content, and travels apart from it:
once for each machine, not once for each block. A `lasting` value, such as a kernel for all of its passes, is made once
in each process and cached there by the hash of its message. A value with a `recipe`, such as an eliminated graph, can
be sent as its inputs if machines share no folder.
"""

import hashlib
import io
import pickle
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import blas_libraries
from mlcli.base.types import AnyArray
from mlcli.errors import StorageError
from mlcli.storage.keys import Keys

LARGE = 2**15  # bytes from which an array travels by its key
KEPT = 4  # lasting values, and as many sources, that a process keeps
Arrays = Mapping[str, AnyArray]  # by key


@frozen
class Message:
    """A value without its large arrays."""

    pickled: bytes
    lasting: Arrays  # in lasting values, the same through many sources
    passing: Arrays  # of this source alone


class Packing:
    """Makes messages; what is lasting is looked through once. `whole`: arrays can be read from shared storage."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self._known: dict[int, tuple[weakref.ref[Any], bytes, dict[str, AnyArray]]] = {}

    def message(self, value: Any) -> Message:
        """The message that a value travels as."""
        lasting: dict[str, AnyArray] = {}
        passing: dict[str, AnyArray] = {}
        return Message(self.packed(value, lasting, passing), lasting, passing)

    def packed(self, value: Any, lasting: dict[str, AnyArray], passing: dict[str, AnyArray]) -> bytes:
        """The pickle of a value, and its arrays by key."""
        file = io.BytesIO()
        _Pickler(file, self, value, lasting, passing).dump(value)
        return file.getvalue()

    def packed_lasting(self, value: Any, lasting: dict[str, AnyArray]) -> bytes:
        """Return the pickle of a lasting value, packed once, and add its arrays to `lasting`."""
        known = self._known.get(id(value))
        if known is None:
            own: dict[str, AnyArray] = {}
            packed, name = self.packed(value, own, own), id(value)
            known = self._known[name] = (weakref.ref(value, lambda _: self._known.pop(name, None)), packed, own)
        lasting.update(known[2])
        return known[1]


class _Pickler(pickle.Pickler):
    """Names large arrays and lasting values instead of writing them."""

    def __init__(self, file: io.BytesIO, packing: Packing, top: Any, lasting: dict[str, AnyArray],
                 passing: dict[str, AnyArray]) -> None:
        super().__init__(file, protocol=5)
        self._packing, self._top, self._lasting, self._passing = packing, top, lasting, passing

    def persistent_id(self, value: Any) -> tuple[str, Any] | None:
        if isinstance(value, np.ndarray) and value.nbytes >= LARGE and not value.dtype.hasobject:
            key = Keys().of(value)
            self._passing[key] = value
            return "array", key
        if value is not self._top and getattr(value, "lasting", None) is True and not isinstance(value, type):
            return "lasting", self._packing.packed_lasting(value, self._lasting)
        return None

    def reducer_override(self, value: Any) -> Any:
        recipe = None if self._packing.whole or isinstance(value, type) else getattr(value, "recipe", None)
        return NotImplemented if recipe is None else recipe()


class _Unpickler(pickle.Unpickler):
    """Puts them back."""

    def __init__(self, file: io.BytesIO, array: Callable[[str], AnyArray]) -> None:
        super().__init__(file)
        self._array = array

    def persistent_load(self, name: tuple[str, Any]) -> Any:
        kind, what = name
        return self._array(what) if kind == "array" else _lasting.value(what, self._array)


class ValueCache:
    """Values that this process keeps by the hash of their message, those that were used last."""

    def __init__(self, most: int = KEPT) -> None:
        self._values: OrderedDict[str, Any] = OrderedDict()
        self._most, self._lock = most, threading.Lock()

    def value(self, pickled: bytes, array: Callable[[str], AnyArray]) -> Any:
        """The value of a message; threads that want the same wait for the one that makes it."""
        key = hashlib.sha256(pickled).hexdigest()
        with self._lock:
            if key not in self._values:
                self._values[key] = _Unpickler(io.BytesIO(pickled), array).load()
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return self._values[key]


_lasting, _sources = ValueCache(), ValueCache()
_blas = threading.Lock()


def opened(pickled: bytes, array: Callable[[str], AnyArray]) -> Any:
    """The source of a message in this process, which asks for the arrays that it does not hold already."""
    return _sources.value(pickled, array)


def one_thread_each() -> None:
    """Lets linear algebra run on one thread in this process from now on: its threads run blocks of their own.

    A limit for each block would not do: the block that ends first would lift it for the others.
    """
    with _blas:
        libraries = blas_libraries()
        if any(library["num_threads"] != 1 for library in libraries.info()):
            libraries.limit(limits=1)


def write_array(folder: Path, key: str, array: AnyArray) -> None:
    """Writes an array to shared storage, in one step."""
    aside = folder / f".{key}.npy"
    with aside.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    aside.rename(folder / f"{key}.npy")


def read_array(folder: Path, key: str) -> AnyArray:
    """An array from shared storage; raises StorageError where it is not what was written there."""
    path = folder / f"{key}.npy"
    try:
        array: AnyArray = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise StorageError("CLUSTER-FOLDER", f"a worker cannot read what was written for it: {error}"[:300],
                           where=str(path), hint="name a folder that all machines share, or none") from None
    if Keys().of(array) != key:
        raise StorageError("CLUSTER-FOLDER", "a worker reads other data than were written for it",
                           where=str(path), hint="check the storage that all machines share")
    return array
