"""Models on disk: a JSON header and plain arrays, no pickle anywhere.

`model.json` holds the tree of frozen values with a tag for each type, and names the arrays in
`model.npz` by their place in it. Only the tags that classes declared exist; a file cannot name code.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from mlcli.base.options import Options
from mlcli.base.stored import BY_KIND, BY_TAG
from mlcli.base.types import AnyArray
from mlcli.data.npy import read_header, read_values, require_size
from mlcli.data.npz import FAULTS
from mlcli.data.row_numbers import RowNumbers
from mlcli.errors import DataError, UnsafeFile
from mlcli.rundir.names import ARRAYS, MODEL
from mlcli.rundir.parts import Unfit, require_finite, require_fit, require_types
from mlcli.rundir.reading import is_intact, raw_json

FORMAT = 1
LARGEST_HEADER = 2**20  # bytes

def save(folder: Path, model: dict[str, Any]) -> None:
    """Writes model.json and model.npz for a mapping of names to values of archivable types."""
    arrays: dict[str, AnyArray] = {}
    tree = {name: _pack(value, name, arrays) for name, value in model.items()}
    stored = _npz(arrays)
    header = {"format": FORMAT, "arrays": {"file": ARRAYS, "bytes": len(stored), "sha256": _sha256(stored)},
              "model": tree}
    (folder / ARRAYS).write_bytes(stored)
    (folder / MODEL).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")


def load(folder: Path, *, finite: bool = True) -> dict[str, Any]:
    """Reads what `save` wrote; raises UnsafeFile for anything else, and with `finite` for numbers that are not."""
    path = folder / MODEL
    header = _header(path)
    arrays = _arrays(folder / ARRAYS, header["arrays"])
    try:
        model = {name: _unpack(value, name, arrays) for name, value in header["model"].items()}
        if "preparation" in model:
            require_fit(model)
        if finite:
            require_finite(model)
    except Unfit as error:
        raise _unsafe(str(error), path) from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _unsafe("its parts do not fit together", path) from error
    return model


def _pack(value: Any, place: str, arrays: dict[str, AnyArray]) -> Any:
    """A value as JSON; arrays and lists of text go to `arrays` under their place in the tree."""
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"array": place}
    if isinstance(value, RowNumbers):
        value = tuple(value)
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        encoded = [item.encode("utf-8", "surrogateescape") for item in value]
        arrays[f"{place}.text"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        arrays[f"{place}.ends"] = np.cumsum([len(item) for item in encoded], dtype=np.int64)
        return {"texts": place}
    if isinstance(value, Options):
        return {"type": BY_KIND[type(value)].tag, "options": value.model_dump()}
    if is_dataclass(value):
        parts = {f.name: _pack(getattr(value, f.name), f"{place}.{f.name}", arrays) for f in fields(value)}
        return {"type": BY_KIND[type(value)].tag, "fields": parts}
    if isinstance(value, dict):
        return {"mapping": {key: _pack(item, f"{place}.{key}", arrays) for key, item in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{place}: {type(value).__name__} cannot be archived")


def _unpack(value: Any, place: str, arrays: dict[str, AnyArray]) -> Any:
    """A value of the tree; raises Unfit with its path, and KeyError, TypeError, ValueError or AttributeError."""
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return _stored(value["array"], place, arrays)
    if "texts" in value:
        text, ends = (_stored(f"{value['texts']}.{part}", place, arrays) for part in ("text", "ends"))
        if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
            raise Unfit(f"{place} is no list of texts")
        whole, places = text.tobytes(), ends.tolist()
        return tuple(whole[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise([0, *places]))
    if "mapping" in value:
        return {key: _unpack(item, f"{place}.{key}", arrays) for key, item in value["mapping"].items()}
    if value.get("type") not in BY_TAG:
        raise Unfit(f"{place} is of a type that no model has")
    kind = BY_TAG[value["type"]].kind
    if "options" in value:
        return _made(kind, value["options"], place)
    values = {name: _unpack(part, f"{place}.{name}", arrays) for name, part in value["fields"].items()}
    found = _made(kind, values, place)
    require_types(found, place)
    return found


def _stored(name: Any, place: str, arrays: dict[str, AnyArray]) -> AnyArray:
    """An array that the tree names."""
    if not isinstance(name, str) or name not in arrays:
        raise Unfit(f"{place} names an array that is not there")
    return arrays[name]


def _made(kind: type[Any], values: dict[str, Any], place: str) -> Any:
    """A part of a kind."""
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise Unfit(f"{place} lacks a value, or has one that does not fit") from error


def _npz(arrays: dict[str, AnyArray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise _unsafe("it is missing", path)
    if path.stat().st_size > LARGEST_HEADER:
        raise _unsafe("its header is too large", path)
    header = raw_json(path)
    known = header.get("format") if isinstance(header, dict) else None
    if known != FORMAT:
        raise _unsafe(f"its format is {str(known)[:40]} and this version reads {FORMAT}", path)
    for key in ("arrays", "model"):
        if not isinstance(header.get(key), dict):
            raise _unsafe(f"{key} is missing", path)
    return dict(header)


def _arrays(path: Path, known: dict[str, Any]) -> dict[str, AnyArray]:
    """The arrays, stored as `save` stores them: not compressed, so that they take no more than the file."""
    try:
        if not is_intact(path, known):
            raise _unsafe("its hash is not the one in the header", path)
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > known["bytes"] or any(
                    entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise _unsafe("its arrays are compressed", path)
            return {entry.filename.removesuffix(".npy"): _array(archive, entry, path) for entry in entries}
    except (DataError, OSError, *FAULTS) as error:
        raise _unsafe("its arrays cannot be read", path) from error


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> AnyArray:
    """One of the arrays; raises DataError and UnsafeFile."""
    with archive.open(entry) as stream:
        header = read_header(cast(BinaryIO, stream), str(path))
        require_size(header, entry.file_size, str(path))
        return read_values(cast(BinaryIO, stream), header, str(path))


def _unsafe(why: str, path: Path) -> UnsafeFile:
    return UnsafeFile("MODEL", f"the model cannot be used: {why}", where=str(path),
                      hint="make the run again with this version of mlcli")


def _sha256(stored: bytes) -> str:
    return hashlib.sha256(stored).hexdigest()
