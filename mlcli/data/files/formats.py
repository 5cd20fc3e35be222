"""Which format a file has: as given, by its name, or by its first bytes."""

from pathlib import PurePath
from shlex import quote

from mlcli.data.files.signatures import START, YAML, Signature, signature_of
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import COMPRESSED, compression, other_content
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.errors import ConfigError, DataError

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
            ".feather": "arrow", ".ipc": "arrow", ".npy": "npy", ".npz": "npz", ".phy": "phylip", ".phylip": "phylip",
            ".mtx": "mtx", ".h5ad": "hdf5", ".h5": "hdf5", ".hdf5": "hdf5", ".hdf": "hdf5"}
ENDINGS = {*SUFFIXES, *COMPRESSED, ".txt", ".dist", ".lsmat"}  # that a name of data may have
NAMES = {"npy": "NPY", "npz": "NPZ", "idx": "IDX", "hdf5": "HDF5"}  # in messages, where they are no plain words
KEYED = ("npz", "hdf5")  # which may hold several tables
TEXTS = ("csv", "tsv", "phylip", "mtx")
PACKED = (*TEXTS, "idx")  # which are read from compressed files


def format_of(opened: Opened, input: Input) -> str:
    """The format to read; raises ConfigError for combinations that do not exist."""
    format = input.format if input.format != "auto" else _guessed(opened)
    if format == "images":
        _refuse("images are read from a folder", "input.path", "give the folder that holds them")
    if format not in TEXTS and input.path == "-":
        _refuse(f"{format} cannot be read from standard input", "input.format", "write it to a file first")
    if format not in PACKED and compression(input.path):
        _refuse(f"{format} is not read from a compressed file", "input.path", "decompress it first")
    if format == "phylip" and not input.square:
        raise ConfigError("FORMAT", "a PHYLIP file holds dissimilarities", where="input.kind", kind="dissimilarities",
                          hint="give --kind dissimilarities")
    if format not in PACKED:
        _require_content(opened, format)
    if input.key is not None and (format not in KEYED or (input.kind == "graph" and format != "hdf5")):
        _refuse(f"key has no use with format {format}", "input.key", "leave it out")
    return format


def _guessed(opened: Opened) -> str:
    """The format by the name, without the suffix of a compression, else by the first bytes, else CSV."""
    if opened.path == "-":
        return "csv"
    suffixes = [suffix.lower() for suffix in PurePath(opened.path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    if suffixes and suffixes[-1] in YAML:
        raise DataError("NOT-READ", "YAML describes runs and holds no data", where=place(opened.path),
                        hint=f"the run that it describes is made by mlcli run {quote(opened.path)}")
    signature = _signature(opened)
    return signature.format if signature is not None and signature.format else "csv"


def _signature(opened: Opened) -> Signature | None:
    """What the first bytes identify."""
    with opened.stream() as stream:
        return signature_of(stream.read(START))


def _require_content(opened: Opened, format: str) -> None:
    """Refuses a file whose first bytes are plainly those of another format; raises DataError."""
    signature = _signature(opened)
    if signature is not None and signature.format != format:
        raise other_content(signature, opened.path, NAMES.get(format, format.capitalize()))


def separator_of(input: Input, format: str) -> str:
    """The character between cells."""
    if input.separator != "auto":
        return input.separator
    return "\t" if format == "tsv" else ","


def _refuse(what: str, where: str, hint: str) -> None:
    """Raises the error of a format that does not fit."""
    raise ConfigError("FORMAT", what, where=where, hint=hint)
