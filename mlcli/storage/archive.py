"""Values on disk or in a cache: a tree for JSON and plain arrays, no pickle anywhere.

The tree has a tag for the type of each value, and names the arrays in an npz file by their place in it.
Only the types that an archive was constructed with exist; stored data cannot name code.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.types import AnyArray
from mlcli.base.values.options import Options
from mlcli.storage.fields import Unfit, require_types
from mlcli.storage.npz import arrays_in, npz_of

LARGE = 1 << 20  # bytes from which an array shared by several parts is stored once


class Archive:
    """Storage of values of some types, by their tags; they are restored bit for bit.

    With `finite`, numbers outside of arrays must be finite.
    """

    def __init__(self, types: Mapping[str, type[Any]], finite: bool = True) -> None:
        self._types, self._finite = types, finite

    def stored(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[memoryview]]:
        """Return values by name as a tree for JSON and the parts of an npz file.

        Raises TypeError for a type without a tag.
        """
        tree, arrays = self.pack(values)
        return tree, npz_of(arrays)

    def pack(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return values by name as a tree for JSON and the arrays that it names.

        Raises TypeError for a type without a tag.
        """
        arrays: dict[str, AnyArray] = {}
        return {name: self._packed(value, name, arrays) for name, value in values.items()}, arrays

    def restored(self, tree: Mapping[str, Any], stored: BinaryIO, size: int,
                 held: Mapping[str, AnyArray] | None = None) -> dict[str, Any]:
        """Return the values of a tree and of an npz file of `size` bytes; raises Unfit if `stored` did not write them.

        An array that equals one in `held` bit for bit is that array, and is not read into memory again.
        """
        arrays = arrays_in(stored, size, held)
        try:
            return {name: self._unpacked(value, name, arrays) for name, value in tree.items()}
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Unfit("its parts do not fit together") from error

    def _packed(self, value: Any, place: str, arrays: dict[str, AnyArray]) -> Any:
        """Return a value as JSON; arrays and lists of text go to `arrays` under their place in the tree."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, np.ndarray):
            shared = (name for name, known in arrays.items() if known is value and value.nbytes >= LARGE)
            held = next(shared, place)
            arrays[held] = value
            return {"array": held}
        if isinstance(value, list):
            return [self._packed(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            value = tuple(value)
            if not all(isinstance(item, str) for item in value):
                return {"items": [self._packed(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]}
            encoded = [item.encode("utf-8", "surrogateescape") for item in value]
            arrays[f"{place}.text"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
            arrays[f"{place}.ends"] = np.cumsum([len(item) for item in encoded], dtype=np.int64)
            return {"texts": place}
        if isinstance(value, Mapping):
            return {"mapping": {key: self._packed(item, f"{place}.{key}", arrays) for key, item in value.items()}}
        tag = next((tag for tag, kind in self._types.items() if kind is type(value)), None)  # types may be added
        if tag is None:
            raise TypeError(f"{place}: {type(value).__name__} cannot be archived")
        if isinstance(value, Options):
            return {"type": tag, "options": value.model_dump()}
        parts = stored_parts(value)
        return {"type": tag, "fields": {name: self._packed(part, f"{place}.{name}", arrays)
                                        for name, part in parts.items()}}

    def _unpacked(self, value: Any, place: str, arrays: Mapping[str, AnyArray]) -> Any:
        """Return a value of the tree; raises Unfit with its path, KeyError, TypeError or AttributeError."""
        if isinstance(value, list):
            return [self._unpacked(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return _stored(value["array"], place, arrays)
        if "texts" in value:
            return _texts(value["texts"], place, arrays)
        if "float" in value and not self._finite:
            return float(value["float"])
        if "items" in value:
            return tuple(self._unpacked(item, f"{place}.{i}", arrays) for i, item in enumerate(value["items"]))
        if "mapping" in value:
            return {key: self._unpacked(item, f"{place}.{key}", arrays) for key, item in value["mapping"].items()}
        kind = self._types.get(str(value.get("type")))
        if kind is None:
            raise Unfit(f"{place} is of a type that no model has")
        if "options" in value:
            return _construct(kind, value["options"], place)
        made = _construct(kind, {name: self._unpacked(part, f"{place}.{name}", arrays)
                                 for name, part in value["fields"].items()}, place)
        if is_dataclass(made):
            require_types(made, place)
        return made


def stored_parts(value: Any) -> dict[str, Any]:
    """Return the parts that restore a value: its fields, or its `state()`; raises TypeError if it has neither."""
    if is_dataclass(value):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    if not hasattr(value, "state"):
        raise TypeError(f"{type(value).__name__} is not plain data")
    return dict(value.state())


def _stored(name: Any, place: str, arrays: Mapping[str, AnyArray]) -> AnyArray:
    """Return an array that the tree names; raises Unfit if it is absent."""
    if not isinstance(name, str) or name not in arrays:
        raise Unfit(f"{place} names an array that is not there")
    return arrays[name]


def _texts(name: Any, place: str, arrays: Mapping[str, AnyArray]) -> tuple[str, ...]:
    """Return a list of texts that the tree names; raises Unfit if its arrays are not texts."""
    text, ends = (_stored(f"{name}.{part}", place, arrays) for part in ("text", "ends"))
    if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
        raise Unfit(f"{place} is not a list of texts")
    whole, places = text.tobytes(), ends.tolist()
    return tuple(whole[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise([0, *places]))


def _construct(kind: type[Any], values: dict[str, Any], place: str) -> Any:
    """Construct a value of type `kind`; raises Unfit if a value is missing or does not fit."""
    try:
        return kind(**values)
    except (TypeError, ValueError, LookupError) as error:
        raise Unfit(f"{place} lacks a value, or has one that does not fit") from error
