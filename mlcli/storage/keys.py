"""Keys: hashes that distinguish values, by their content or by the stage that computed them."""

import hashlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.values.options import Options
from mlcli.storage.archive import LARGE, stored_parts


class Keys:
    """Keys of stages and of their inputs.

    The result of a stage has the stage's key, so its content is not hashed; a large constant array is
    hashed once.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Any], str]] = {}  # by id, while the value exists

    def assign(self, value: Any, key: str) -> None:
        """Assign to a value the key of the stage that computed it."""
        name = id(value)
        try:
            self._made[name] = weakref.ref(value, lambda _: self._made.pop(name, None)), key
        except TypeError:
            return  # a number or a tuple: hashing its content is as fast

    def of(self, value: Any) -> str:
        """Return the key of a value; raises TypeError for one that is not plain data, such as a function."""
        known = self._made.get(id(value))
        if known is not None:
            return known[1]
        hashed = hashlib.sha256()
        for part in self._content(value):
            hashed.update(len(part).to_bytes(8, "little"))
            hashed.update(part)
        key = hashed.hexdigest()
        if isinstance(value, np.ndarray) and not value.flags.writeable and value.nbytes >= LARGE:
            self.assign(value, key)
        return key

    def _content(self, value: Any) -> Iterator[Any]:
        """Yield the bytes to hash: the kind of the value, then its content, with parts by their keys."""
        if isinstance(value, np.ndarray):
            yield from (value.dtype.str.encode(), repr(value.shape).encode())
            yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        elif (rows := rows_of(value)) is not None:
            yield from (b"rows", self.of(rows.key()).encode())
        elif value is None or isinstance(value, bool | int | float | str | np.generic):
            yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogateescape")
        elif isinstance(value, Sequence):
            yield b"sequence"
            yield from (self.of(item).encode() for item in value)
        else:
            yield type(value).__qualname__.encode()
            for name, part in self._parts(value).items():
                yield from (str(name).encode(), self.of(part).encode())

    def _parts(self, value: Any) -> Mapping[str, Any]:
        """Return the parts of a value by name.

        For options also the names of those chosen, as data may change defaults.
        """
        if isinstance(value, Mapping):
            return value
        if isinstance(value, Options):
            keyed = {name: part for name, part in value if name not in value.unkeyed}
            return {"": sorted(value.model_fields_set & keyed.keys()), **keyed}
        if getattr(value, "format", None) == "csr":  # a sparse matrix of SciPy
            return {"shape": value.shape, "starts": value.indptr, "indices": value.indices, "values": value.data}
        return stored_parts(value)
