"""Damage to NPY and NPZ files: other types and shapes, numbers that are none, members that grow."""

import io
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.faults.fuzz.documents import Damage

CHANGES: dict[str, Callable[[Any], Any]] = {
    "single precision": lambda a: a.astype(np.float32), "integers": lambda a: np.nan_to_num(a).astype(np.int64),
    "bytes": lambda a: a.astype(np.uint8), "truth": lambda a: a.astype(bool), "complex": lambda a: a.astype(complex),
    "text": lambda a: a.astype(str), "doubles": lambda a: a.astype(float), "big endian": lambda a: a.astype(">f8"),
    "objects": lambda a: a.astype(object), "dates": lambda a: np.zeros(a.shape, "M8[s]"),
    "records": lambda a: np.zeros(a.shape, [("a", "f8")]),
    "flat": np.ravel, "another axis": lambda a: a[..., None], "turned": np.transpose, "nothing": lambda a: a[:0],
    "one less": lambda a: a[:-1], "one more": lambda a: np.concatenate([a, a[:1]]),
    "a single number": lambda a: a.sum(),
    "a column less": lambda a: a[..., :-1], "Fortran": np.asfortranarray,
    "not a number": lambda a: _first(a.astype(float), np.nan), "infinite": lambda a: _first(a.astype(float), np.inf),
    "huge": lambda a: _first(a.astype(float), 1e308), "tiny": lambda a: _first(a.astype(float), 5e-324),
    "zeros": np.zeros_like, "below zero": lambda a: _first(a, -5), "far": lambda a: _first(a, 10**9),
    "turned round": lambda a: a[::-1], "all huge": lambda a: np.full(a.shape, 1e300),
    "vast": lambda a: np.broadcast_to(a.ravel()[:1] if a.size else 0.0, (40_000_000,)),
}


def of_npy(content: bytes) -> list[Damage]:
    """Every damage to an NPY file."""
    array = np.load(io.BytesIO(content))
    return [*((name, partial(_npy, change, array)) for name, change in CHANGES.items()), *of_bytes(content)]


def of_npz(content: bytes) -> list[Damage]:
    """Every damage to an NPZ file."""
    arrays = dict(np.load(io.BytesIO(content)))
    found = [(f"{name}: {told}", partial(_npz, arrays, name, change))
             for name in arrays for told, change in CHANGES.items()]
    found += [(f"{name}: left out", partial(_npz, arrays, name, None)) for name in arrays]
    return [*found, ("no arrays", partial(_zipped, {})), ("all compressed", partial(_zipped, arrays, zipfile.ZIP_LZMA)),
            ("other members", partial(_members, content)), *of_bytes(content)]


def of_bytes(content: bytes) -> list[Damage]:
    """Damage to a file as such: cut, and with bytes turned over in many places."""
    cuts = [("cut to " + str(size), partial(content.__getitem__, slice(0, size)))
            for size in (0, 1, 7, 60, len(content) // 3, len(content) - 30, len(content) - 1)]
    step = max(1, len(content) // 40)
    return cuts + [(f"byte {place} turned", partial(_turned, content, place))
                   for place in (*range(0, len(content), step), *range(0, min(140, len(content)), 5))]


def _first(array: Any, value: Any) -> Any:
    changed = array.copy()
    changed.reshape(-1)[:1] = value
    return changed


def _npy(change: Callable[[Any], Any], array: Any) -> bytes:
    stream = io.BytesIO()
    with np.errstate(all="ignore"):
        np.save(stream, change(array))
    return stream.getvalue()


def _npz(arrays: dict[str, Any], name: str, change: Callable[[Any], Any] | None) -> bytes:
    with np.errstate(all="ignore"):
        rest = {key: array for key, array in arrays.items() if key != name}
        changed = rest if change is None else {**rest, name: change(arrays[name])}
    vast = change is CHANGES["vast"]
    return _zipped(changed, zipfile.ZIP_DEFLATED if vast else zipfile.ZIP_STORED)


def _zipped(arrays: dict[str, Any], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array))
    return stream.getvalue()


def _members(content: bytes) -> bytes:
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("../evil.npy", b"x")
    return stream.getvalue()


def _turned(content: bytes, place: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 0x5A
    return bytes(changed)
