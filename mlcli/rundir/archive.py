"""Models on disk: a JSON header and plain arrays, no pickle anywhere.

`model.json` holds the tree of frozen values with a tag for each type, and names the arrays in
`model.npz` by their place in it. Only the tags in `TYPES` exist; a file cannot name code.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.options import Options
from mlcli.base.types import AnyArray
from mlcli.data.prepare import Preparation
from mlcli.data.row_numbers import RowNumbers
from mlcli.errors import UnsafeFile
from mlcli.methods.base import Decoder, Projector
from mlcli.rundir.names import ARRAYS, MODEL
from mlcli.stages.corrections import Correction
from mlcli.stages.graph import Graph
from mlcli.stages.kalman import StateSpace
from mlcli.stages.kernel_functions import Gaussian, Linear, Polynomial
from mlcli.stages.kernels import Centering
from mlcli.stages.latent import Latent
from mlcli.stages.neighbors import Neighbors
from mlcli.stages.similarities import (
    Barycenters,
    Columns,
    Completed,
    Distances,
    Geodesics,
    GivenBarycenters,
    GivenDistances,
    KernelValues,
    Monomials,
    Smoother,
)
from mlcli.stages.unfolded import Unfolded

FORMAT = 1
LARGEST_HEADER = 2**20  # bytes

TYPES: dict[str, type[Any]] = {
    "preparation": Preparation, "projector": Projector, "decoder": Decoder, "centering": Centering,
    "columns": Columns, "completed": Completed, "latent": Latent, "kernel-values": KernelValues,
    "distances": Distances, "given-distances": GivenDistances,
    "geodesics": Geodesics, "barycenters": Barycenters,
    "given-barycenters": GivenBarycenters, "correction": Correction, "neighbors": Neighbors,
    "graph": Graph, "linear": Linear, "polynomial": Polynomial, "gaussian": Gaussian,
    "unfolded": Unfolded, "monomials": Monomials, "smoother": Smoother, "state-space": StateSpace,
}
TAGS = {kind: tag for tag, kind in TYPES.items()}


def save(folder: Path, model: dict[str, Any]) -> None:
    """Writes model.json and model.npz for a mapping of names to values of archivable types."""
    arrays: dict[str, AnyArray] = {}
    tree = {name: _pack(value, name, arrays) for name, value in model.items()}
    stored = _npz(arrays)
    header = {"format": FORMAT, "arrays": {"file": ARRAYS, "bytes": len(stored), "sha256": _sha256(stored)},
              "model": tree}
    (folder / ARRAYS).write_bytes(stored)
    (folder / MODEL).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> dict[str, Any]:
    """Reads what `save` wrote; raises UnsafeFile for anything else."""
    header = _header(folder / MODEL)
    arrays = _arrays(folder / ARRAYS, header)
    try:
        return {name: _unpack(value, arrays) for name, value in header["model"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unsafe("its parts do not fit together", folder / MODEL) from error


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
        return {"type": TAGS[type(value)], "options": value.model_dump()}
    if is_dataclass(value):
        parts = {f.name: _pack(getattr(value, f.name), f"{place}.{f.name}", arrays) for f in fields(value)}
        return {"type": TAGS[type(value)], "fields": parts}
    if isinstance(value, dict):
        return {"mapping": {key: _pack(item, f"{place}.{key}", arrays) for key, item in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{place}: {type(value).__name__} cannot be archived")


def _unpack(value: Any, arrays: dict[str, AnyArray]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "texts" in value:
        text, ends = arrays[f"{value['texts']}.text"].tobytes(), arrays[f"{value['texts']}.ends"].tolist()
        return tuple(text[a:b].decode("utf-8", "surrogateescape") for a, b in zip([0, *ends], ends, strict=False))
    if "mapping" in value:
        return {key: _unpack(item, arrays) for key, item in value["mapping"].items()}
    kind = TYPES[value["type"]]
    if "options" in value:
        return kind(**value["options"])
    return kind(**{name: _unpack(part, arrays) for name, part in value["fields"].items()})


def _npz(arrays: dict[str, AnyArray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _header(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_HEADER:
            raise _unsafe("its header is too large", path)
        header = json.loads(path.read_text(encoding="utf-8"))
        known = header["format"] == FORMAT
    except FileNotFoundError as error:
        raise _unsafe("it is missing", path) from error
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _unsafe("it cannot be read as a model header", path) from error
    if not known:
        raise _unsafe(f"its format is {header['format']!r} and this version reads {FORMAT}", path)
    return dict(header)


def _arrays(path: Path, header: dict[str, Any]) -> dict[str, AnyArray]:
    try:
        stored = path.read_bytes()
        if _sha256(stored) != header["arrays"]["sha256"]:
            raise _unsafe("its hash is not the one in the header", path)
        with np.load(io.BytesIO(stored), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise _unsafe("its arrays cannot be read", path) from error


def _unsafe(why: str, path: Path) -> UnsafeFile:
    return UnsafeFile("MODEL", f"the model cannot be used: {why}", where=str(path),
                      hint="make the run again with this version of mlcli")


def _sha256(stored: bytes) -> str:
    return hashlib.sha256(stored).hexdigest()
