"""Bytes of text: decompressed under a limit, checked, and converted to UTF-8."""

import bz2
import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from mlcli.base.values.compute import parse_bytes
from mlcli.data.files.arrow import arrow_faults, corrupt, pyarrow
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.signatures import START, Signature, signature_of
from mlcli.data.files.source import Opened
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.errors import DataError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
LATIN = "{input.encoding=latin-1}"  # the encoding of most files that are not UTF-8
FREE = 1 << 20  # bytes of content below which any compression ratio is allowed
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def text_stream(opened: Opened, input: Input) -> BinaryIO:
    """Return the input's text as UTF-8 without a byte order mark; reading it raises DataError."""
    return as_file(to_utf8(_content(opened, input), opened.path, input.encoding))


def content_stream(opened: Opened, input: Input) -> BinaryIO:
    """Return the input's bytes, decompressed under the limits of `input`."""
    return as_file(_content(opened, input))


def as_file(chunks: Iterator[bytes]) -> BinaryIO:
    """Return a buffered file over an iterator of bytes."""
    return cast(BinaryIO, io.BufferedReader(Chunks(chunks), CHUNK))


def _content(opened: Opened, input: Input) -> Iterator[bytes]:
    return limit_size(raw_chunks(opened), opened, input) if compression(opened.path) else raw_chunks(opened)


def in_encoding(opened: Opened, input: Input) -> Input:
    """Return the input with encoding UTF-16 if the text begins with its byte order mark."""
    marked = codecs.lookup(input.encoding).name == "utf-8" and next(raw_chunks(opened), b"").startswith(WIDE)
    return input.replace(encoding="utf-16") if marked else input


def compression(path: str) -> str:
    """Return the compression of a file by its name; empty if there is none."""
    return COMPRESSED.get(PurePath(path).suffix.lower(), "") if path != "-" else ""


class Chunks(io.RawIOBase):
    """A readable file over an iterator of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def seekable(input: Input) -> bool:
    """Whether a text can be read from the middle: neither compressed nor decoded from another encoding."""
    return not compression(input.path) and codecs.lookup(input.encoding).name in ("utf-8", "ascii")


def raw_chunks(opened: Opened) -> Iterator[bytes]:
    """Yield the file's content in chunks, decompressed if its name has a suffix of compression."""
    how = compression(opened.path)
    with opened.once_through() as file:
        reader = decompressor(file, how)
        while chunk := next_chunk(reader, opened.path, how):
            yield chunk


def next_chunk(reader: BinaryIO, path: str, how: str) -> bytes:
    """Return the next chunk of decompressed content; raises DataError if the compression is broken."""
    with arrow_faults(path, how):
        try:
            return reader.read(CHUNK)
        except (EOFError, zlib.error) as error:
            raise corrupt(path, how, error) from None


def decompressor(file: BinaryIO, how: str) -> BinaryIO:
    """Return a reader of the content of a compressed file."""
    if how == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if how == "bz2":
        return cast(BinaryIO, bz2.BZ2File(file))
    if how == "zstd":
        arrow = pyarrow()
        return cast(BinaryIO, arrow.CompressedInputStream(arrow.PythonFile(file, mode="r"), "zstd"))
    return file


def limit_size(chunks: Iterator[bytes], opened: Opened, input: Input) -> Iterator[bytes]:
    """Yield chunks until their size exceeds the limits of `input`; then raise DataError."""
    total = 0
    for chunk in chunks:
        total += len(chunk)
        require_within_limits(total, opened.size, "the content", input)
        yield chunk


def require_within_limits(size: int, stored: int, what: str, input: Input) -> None:
    """Raise DataError for content larger than the limits of `input` allow for its stored bytes."""
    if size > max(FREE, input.decompress_ratio * stored):
        raise DataError("DECOMPRESS-RATIO", f"{what} is more than {input.decompress_ratio} times larger than its "
                        "compressed size", where=place(input.path), hint="if it is right, raise input.decompress_ratio")
    if size > parse_bytes(input.decompress_limit):
        raise DataError("DECOMPRESS-LIMIT", f"{what} is larger than {input.decompress_limit}", where=place(input.path),
                        hint="if it is right, raise input.decompress_limit")


def to_utf8(chunks: Iterator[bytes], path: str, encoding: str) -> Iterator[bytes]:
    """Yield text of any encoding as UTF-8; raises DataError for other files, bad bytes and zero characters."""
    name = codecs.lookup(encoding).name
    decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
    read = lines = 0
    for number, chunk in enumerate(chain(chunks, [b""])):  # the empty one marks the end
        if number == 0:
            refuse_other_files(chunk, path, name)
        read += len(chunk)
        try:
            text = decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError as error:
            raise _undecodable(error, path, encoding, read, lines) from None
        if b"\0" in text:
            line = lines + 1 + text[: text.index(b"\0")].count(b"\n")
            raise DataError("NUL", "the text holds a zero byte", where=place(path, line),
                            hint="text was expected; give input.encoding if it is UTF-16")
        lines += text.count(b"\n")
        yield text


def refuse_other_files(start: bytes, path: str, encoding: str) -> None:
    """Raise DataError for content that is plainly not text of this encoding."""
    signature = signature_of(start[:START])
    if signature is not None:
        raise other_content(signature, path, "text")
    if encoding == "utf-8" and start.startswith(WIDE):
        raise DataError("ENCODING", "the text is UTF-16", where=place(path), hint="give {input.encoding=utf-16}")


def other_content(known: Signature, path: str, expected: str) -> DataError:
    """Return the error for content of another kind than expected, or of a kind that is not read."""
    if known.remedy:
        return DataError("NOT-READ", f"the content is {known.name}, which is not read", where=place(path),
                         hint=known.remedy)
    return DataError("NOT-TEXT" if expected == "text" else "OTHER-FORMAT",
                     f"the content is {known.name}, not {expected}", where=place(path), hint=_remedy(known, path))


def _remedy(known: Signature, path: str) -> str:
    """Return what to do about content that is not text."""
    if path != "-":
        return "give input.format, or name the file by its content (.csv.gz, .parquet, .npy)"
    return f"pipe the text in: {known.tool} FILE | mlcli ..." if known.tool else "write it to a file and read that"


def _undecodable(error: UnicodeError, path: str, encoding: str, read: int, lines: int) -> DataError:
    """Return the error for bytes that are not of the encoding, with their place."""
    where, what = place(path), "the text"
    if isinstance(error, UnicodeDecodeError):
        offset = read - len(error.object) + error.start
        where = place(path, lines + 1 + error.object[: error.start].count(b"\n"))
        what = f"byte 0x{error.object[error.start]:02x} at position {offset}"
    return DataError("ENCODING", f"{what} is not {encoding}", where=where,
                     hint=f"give the text's encoding, for example {LATIN}")
