"""Keys: hashes that distinguish values, by their content or by the stage that made them."""

import hashlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import Stage
from mlcli.base.values.options import Options
from mlcli.storage.archive import LARGE, parts_of


class Keys:
    """Keys of stages and of their inputs.

    What a stage made has the stage's key, so that it is not looked through; a large constant array is only once.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Any], str]] = {}  # by id, as long as the value lives

    def of_stage(self, stage: Stage, inputs: Mapping[str, Any]) -> str:
        """The key of a stage: of its name, its version, and its inputs by name; raises TypeError as `of` does."""
        return self.of((stage.name, stage.version, dict(inputs)))

    def made(self, value: Any, key: str) -> None:
        """Lets a value have the key of the stage that made it."""
        name = id(value)
        try:
            self._made[name] = weakref.ref(value, lambda _: self._made.pop(name, None)), key
        except TypeError:
            return  # a number or a tuple, which content distinguishes as quickly

    def of(self, value: Any) -> str:
        """The key of a value; raises TypeError for one that is not plain data, such as a function."""
        known = self._made.get(id(value))
        if known is not None:
            return known[1]
        hashed = hashlib.sha256()
        for part in self._content(value):
            hashed.update(len(part).to_bytes(8, "little"))
            hashed.update(part)
        key = hashed.hexdigest()
        if isinstance(value, np.ndarray) and not value.flags.writeable and value.nbytes >= LARGE:
            self.made(value, key)
        return key

    def _content(self, value: Any) -> Iterator[Any]:
        """What is hashed: the kind of the value, then its content, its parts by their keys."""
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
        """The parts of a value by their names; of options also which of them were chosen, as defaults may give way."""
        if isinstance(value, Mapping):
            return value
        if isinstance(value, Options):
            keyed = {name: part for name, part in value if name not in value.unkeyed}
            return {"": sorted(value.model_fields_set & keyed.keys()), **keyed}
        if getattr(value, "format", None) == "csr":  # a sparse matrix of SciPy
            return {"shape": value.shape, "starts": value.indptr, "indices": value.indices, "values": value.data}
        return parts_of(value)
