"""The formats of input files. Each is one file, `data/formats/NAME.py`, which reads it, and one entry of `FORMATS`."""

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from mlcli.base.frozen import frozen

IDX = re.compile(rb"\0\0[\x08\x09\x0b-\x0e][\x01-\x04]")  # a type of numbers, and how many sizes follow


@frozen
class Format:
    """A format as options, messages and the choice of a reader need it; nothing of its reader is imported for it."""

    name: str  # as input.format has it
    title: str  # in messages
    endings: tuple[str, ...] = ()  # of names of such files, in small letters
    starts: tuple[bytes, ...] = ()  # the first bytes, where all such files have some of these
    form: re.Pattern[bytes] | None = None  # of the first bytes, where their beginning alone could be a text's
    content: str = ""  # what its first bytes are called in messages, where that is not the title
    text: bool = False  # which can be decoded from any encoding, and read from standard input
    packed: bool = False  # whether files that are no text are read where gzip, bz2 or zstd has compressed them
    named: bool = True  # whether its columns can have names
    pairs: bool = False  # whether it holds one number for every two points, and never features
    labels: bool = True  # whether it can hold labels of rows
    folder: bool = False  # whether it is a folder, which is one table
    parts: bool = False  # whether a folder of such files is one table
    key: str = ""  # what `key` chooses in a file that may hold several tables
    blocks: tuple[str, ...] = ()  # the kinds of input that are read in blocks of rows


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
    Format("hdf5", "HDF5", (".h5ad", ".h5", ".hdf5", ".hdf"), (b"\x89HDF\r\n\x1a\n", b"MATLAB 7.3 MAT-file"),
           key="a data set of HDF5, as layers/counts or obsm/X_pca"),
    Format("images", "images", (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".pgm", ".ppm",
                                ".pnm"), labels=False, folder=True),
)}
FILES = tuple(format for format in FORMATS.values() if not format.folder)  # those of which a single file is a table
TEXTS = frozenset(format.name for format in FILES if format.text)
KEYS = "; ".join(format.key for format in FILES if format.key)


def in_blocks(kind: str) -> str:
    """The formats of which input of a kind is read in blocks, in words."""
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
