"""A table (n x d) written in each format, by the format's name; of a format of pairs, how far apart its rows are."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import feather, parquet
from scipy import sparse
from scipy.io import mmwrite, savemat
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.data.table.sheet import numbered_names


def text(values: Array, separator: str) -> str:
    return "\n".join(separator.join(map(str, row)) for row in [numbered_names("x", values.shape[1]), *values.tolist()])


def columns(values: Array) -> pa.Table:
    return pa.table(dict(zip(numbered_names("x", values.shape[1]), values.T, strict=True)))


def write_into(write: Callable[[BinaryIO], None], path: Path) -> None:
    """Writes a file under a name that need not have the writer's ending."""
    with path.open("wb") as file:
        write(file)


def write_idx(path: Path, values: Array) -> None:
    path.write_bytes(struct.pack(">HBB2I", 0, 0x0E, 2, *values.shape) + values.astype(">f8").tobytes())


def write_phylip(path: Path, values: Array) -> None:
    rows = [f"p{row} {' '.join(map(repr, some))}" for row, some in enumerate(cdist(values, values).tolist())]
    path.write_text("\n".join([str(len(values)), *rows, ""]))


def write_hdf5(path: Path, values: Array) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = values


def write_images(path: Path, values: Array) -> None:
    path.mkdir()
    for row, some in enumerate(values):
        Image.fromarray(some[None].astype(np.uint8)).save(path / f"{row:03}.png")


WRITERS: dict[str, Callable[[Path, Array], object]] = {
    "csv": lambda path, values: path.write_text(text(values, ",")),
    "tsv": lambda path, values: path.write_text(text(values, "\t")),
    "parquet": lambda path, values: parquet.write_table(columns(values), path),
    "arrow": lambda path, values: feather.write_feather(columns(values), path),
    "npy": lambda path, values: write_into(lambda file: np.save(file, values), path),
    "npz": lambda path, values: write_into(lambda file: np.savez(file, x=values), path),
    "mat": lambda path, values: savemat(path, {"x": values}, appendmat=False),
    "idx": write_idx, "phylip": write_phylip, "hdf5": write_hdf5, "images": write_images,
    "mtx": lambda path, values: write_into(lambda file: mmwrite(file, sparse.coo_array(values)), path),
}
