"""Formats of input files. Each has a reader, `data/formats/NAME.py`, and an entry of `OWN`.

Installed packages add others (`base/values/plugins.py`): these are looked for if `input.format` is the name of none
here, and for a file whose name has an ending of none here.
"""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from mlcli.base.frozen import frozen
from mlcli.base.values.choices import Names
from mlcli.base.values.plugins import OpenTable, object_at

AUTO = "auto"  # the value of input.format that lets name and first bytes of a file decide
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
    reader: str = ""  # of a format of another package: its `Reader`, as MODULE:OBJECT


OWN: Mapping[str, Format] = {format.name: format for format in (
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
FILES = tuple(format for format in OWN.values() if not format.folder)  # formats of single files
BY_ENDING: Mapping[str, Format] = {ending: format for format in FILES for ending in format.endings}
TEXTS = frozenset(format.name for format in FILES if format.text)
KEYS = "; ".join(format.key for format in FILES if format.key)


class Formats(OpenTable[Format]):
    """The formats by name, with those that installed packages add."""

    def __init__(self) -> None:
        super().__init__(OWN, "formats", {AUTO})

    def __getitem__(self, name: str) -> Format:
        added = self.plugin(name)
        return OWN[name] if added is None else added.load(lambda format: format_defect(format, name))

    def with_ending(self, ending: str) -> Format | None:
        """Return the format of files with an ending, in small letters; None if there is none."""
        if ending in BY_ENDING or not ending:
            return BY_ENDING.get(ending)
        return next((self[name] for name in self.added[0] if ending in self[name].endings), None)


def format_defect(format: Any, name: str) -> str:
    """Return what is wrong with the entry of a package for a name; empty if it can be used."""
    if not isinstance(format, Format):
        return f"it is no {Format.__module__}.{Format.__name__}"
    if format.name != name:
        return f"the name in its entry is not {name!r}"
    if format.folder or format.parts:
        return "only formats of single files can be added"
    if taken := next((ending for ending in format.endings if ending in BY_ENDING), ""):
        return f"files that end in {taken} are {BY_ENDING[taken].title}"
    object_at(format.reader)
    return ""


FORMATS = Formats()


def formats_with_blocks(kind: str) -> str:
    """Return the formats that are read in blocks for an input of `kind`, in words."""
    *others, last = [format.title for format in FILES if kind in format.blocks]
    return f"{', '.join(others)} and {last}" if others else last


@frozen
class FormatNames(Names):
    """The names of the formats that are `allowed`, and that of none."""

    allowed: Callable[[Format], bool]

    def names(self) -> list[str]:
        """Return the names; those of installed packages last."""
        return [AUTO, *(name for name, format in FORMATS.items() if self.allowed(format))]

    def fits(self, name: str) -> bool:
        """Whether it is one of the names."""
        return name == AUTO or (name in FORMATS and self.allowed(FORMATS[name]))


if TYPE_CHECKING:
    OfTable: TypeAlias = str
    OfView: TypeAlias = str
    OfLabels: TypeAlias = str
else:  # the values that options may have
    OfTable = Annotated[str, FormatNames(lambda format: True)]
    OfView = Annotated[str, FormatNames(lambda format: not format.pairs)]
    OfLabels = Annotated[str, FormatNames(lambda format: format.labels and not format.folder)]
