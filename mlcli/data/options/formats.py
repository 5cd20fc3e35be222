"""Formats of input files. Each has a reader, `data/formats/NAME.py`, and an entry of `FORMATS`."""

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from mlcli.base.frozen import frozen

HDF5 = "hdf5"  # the format of AnnData's files,
ANNDATA = ".h5ad"  # and their ending
IDX = re.compile(rb"\0\0[\x08\x09\x0b-\x0e][\x01-\x04]")  # a type of numbers, and the number of sizes


@frozen
class Format:
    """A format as options and messages describe it; its reader is not imported."""

    name: str  # the value of input.format
    title: str  # in messages
    endings: tuple[str, ...] = ()  # suffixes of such files, in small letters
    starts: tuple[bytes, ...] = ()  # alternatives of the first bytes
    form: re.Pattern[bytes] | None = None  # pattern of the start, if `starts` could also begin a text
    content: str = ""  # the content's name in messages, if it is not the title
    text: bool = False  # decoded from any encoding, and read from standard input
    packed: bool = False  # whether binary files compressed by gzip, bz2 or zstd are read
    named: bool = True  # whether its columns can have names
    pairs: bool = False  # whether it holds one number for every two points, and never features
    labels: bool = True  # whether it can hold labels of rows
    folder: bool = False  # whether it is a folder that is one table
    parts: bool = False  # whether a folder of such files is one table
    key: str = ""  # what `key` chooses in a file that may hold several tables
    blocks: tuple[str, ...] = ()  # kinds of input that can be read in blocks of rows


FORMATS = {format.name: format for format in (
    Format("csv", "CSV", (".csv",), text=True, parts=True, blocks=("features",)),
    Format("tsv", "TSV", (".tsv", ".tab"), text=True, parts=True, blocks=("features",)),
    Format("parquet", "Parquet", (".parquet", ".pq"), (b"PAR1",), parts=True, blocks=("features",)),
    Format("arrow", "Arrow IPC", (".arrow", ".feather", ".ipc"), (b"ARROW1",), content="Arrow", blocks=("features",)),
    Format("npy", "NPY", (".npy",), (b"\x93NUMPY",), named=False, blocks=("features", "dissimilarities")),
    Format("npz", "NPZ", (".npz",), (b"PK\x03\x04",), content="a zip archive", named=False, key="an array of NPZ"),
    Format("idx", "IDX", (), (b"\0\0",), IDX, content="IDX, the format of MNIST", packed=True, named=False),
    Format("phylip", "PHYLIP", (".phy", ".phylip"), text=True, pairs=True, labels=False),
    Format("mtx", "Matrix Market", (".mtx",), text=True, labels=False),
    Format("mat", "MAT", (".mat",), (b"MATLAB 5.0 MAT", b"MATLAB 7.3 MAT"), named=False, key="a variable of MAT"),
    Format(HDF5, "HDF5", (ANNDATA, ".h5", ".hdf5", ".hdf"), (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3 MAT-file"),
           key="a data set of HDF5, as layers/counts or obsm/X_pca"),
    Format("images", "images", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".pgm", ".ppm",
                                ".pnm"), labels=False, folder=True),
)}
FILES = tuple(format for format in FORMATS.values() if not format.folder)  # formats of single files
TEXTS = frozenset(format.name for format in FILES if format.text)
KEYS = "; ".join(format.key for format in FILES if format.key)


def formats_with_blocks(kind: str) -> str:
    """Return the formats that are read in blocks for an input of `kind`, in words."""
    *others, last = [format.title for format in FILES if kind in format.blocks]
    return f"{', '.join(others)} and {last}" if others else last


if TYPE_CHECKING:
    OfTable: TypeAlias = str
    OfView: TypeAlias = str
    OfLabels: TypeAlias = str
else:  # the values that options may have
    OfTable = Literal["auto", *FORMATS]
    OfView = Literal["auto", *(name for name, format in FORMATS.items() if not format.pairs)]
    OfLabels = Literal["auto", *(format.name for format in FILES if format.labels)]
