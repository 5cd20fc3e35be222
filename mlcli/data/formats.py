"""Which format a file has: as given, by its name, or by its first bytes."""

from pathlib import PurePath
from typing import BinaryIO

from mlcli.data.input import Input
from mlcli.data.signatures import signature_of
from mlcli.data.source import Opened
from mlcli.data.streams import COMPRESSED, compression
from mlcli.errors import ConfigError

SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
            ".feather": "arrow", ".ipc": "arrow", ".npy": "npy", ".npz": "npz", ".phy": "phylip", ".phylip": "phylip",
            ".mtx": "mtx"}
ENDINGS = {*SUFFIXES, *COMPRESSED, ".txt", ".dist", ".lsmat"}  # that a name of data may have
TEXTS = ("csv", "tsv", "phylip", "mtx")


def format_of(opened: Opened, input: Input) -> str:
    """The format to read; raises ConfigError for combinations that do not exist."""
    format = input.format if input.format != "auto" else _guessed(opened)
    if format not in TEXTS and input.path == "-":
        _refuse(f"{format} cannot be read from standard input", "input.format", "write it to a file first")
    if format not in TEXTS and compression(input.path):
        _refuse(f"{format} is not read from a compressed file", "input.path", "decompress it first")
    if format == "phylip" and not input.square:
        _refuse("a PHYLIP file holds dissimilarities", "input.kind", "give --dissimilarities")
    if format == "mtx" and input.kind != "graph":
        _refuse("a Matrix Market file is read as a graph only", "input.kind", "give --graph")
    if input.key is not None and format != "npz":
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
    with opened.stream() as stream:
        return _signed(stream)


def _signed(stream: BinaryIO) -> str:
    """The format that the first bytes identify."""
    signature = signature_of(stream.read(8))
    return signature.format if signature is not None and signature.format else "csv"


def separator_of(input: Input, format: str) -> str:
    """The character between cells."""
    if input.separator != "auto":
        return input.separator
    return "\t" if format == "tsv" else ","


def _refuse(what: str, where: str, hint: str) -> None:
    """Raises the error of a format that does not fit."""
    raise ConfigError("FORMAT", what, where=where, hint=hint)
