"""The input: a regular file, hashed and checked for changes while it is read, its identity, or standard input."""

import difflib
import errno
import hashlib
import io
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from functools import cache
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, BinaryIO, TypeVar, cast

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import shown
from mlcli.data.files.remote import RemoteFile, is_remote, state_of
from mlcli.data.files.shared_handle import CHUNK, SharedFile, map_file
from mlcli.data.options.wording import place
from mlcli.errors import InputMissing, MlcliError, StorageError, UsageError
from mlcli.process.file_hash import hash_of, lower_priority, state


class Digest:
    """The hash of a file, which may still be computed (`process/file_hash.py`)."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path, self._hash = path, hash_of(descriptor)

    @property
    def content(self) -> bytes | None:
        """All bytes of a small file, which its hash has read; None for any other."""
        return self._hash.content

    def result(self) -> str:
        """Wait for the hash and return it; raises StorageError if the file changed or cannot be read."""
        text = self._hash.result()
        if (error := self._hash.error) is not None:
            raise StorageError("READ", f"reading failed: {error.strerror or error}", where=place(self._path),
                               hint="check the disk or the network file system, and try again")
        require_same(self._path, self._hash.same)
        return text

    def hold(self) -> None:
        """Let `result` compare the state of the file each time: the file itself is still in use."""
        self._hash.hold()

    def stop(self) -> None:
        """Abandon the hash."""
        self._hash.stop()


def require_same(path: str, same: bool) -> None:
    """Raise StorageError if a file changed while it was read."""
    if not same:
        raise changed_error(path)


def changed_error(path: str) -> StorageError:
    """Return the error for a file that changed while it was read."""
    return StorageError("CHANGED", "the file changed while it was read", where=place(path),
                        hint="wait until it is written, or work on a copy")


ZARR = (".zgroup", ".zarray", "zarr.json")  # files of a store of arrays
MANY = 2000  # files in a folder whose names are compared with one that is not there
SPOOLED = 16 << 20  # most bytes of standard input in memory
MAPPED = 1 << 26  # bytes from which on a file is not copied: zeroed pages for a copy take as long as reading it
SETTLED = 10.0  # seconds after a change from which a further change shows in the file's times


@frozen
class Opened:
    """An open input; it gives any number of independent streams."""

    path: str
    size: int  # bytes
    digest: Callable[[], str]  # waits for the sha256
    content: bytes | None = None  # the bytes of standard input
    held: bytes | None = None  # the bytes of a small file, which are read once
    descriptor: int = -1
    hold: Callable[[], None] | None = None  # to be called where the file stays in use; None where it may be written
    proposes: bool = False  # whether errors about columns of text propose how to use these, as far as their cells tell
    lists: bool = False  # whether a list of pairs is read as a table, its names as labels, where a matrix is expected
    surveys: dict[str, Any] = field(default_factory=dict)  # of its text, by the encoding that is asked for

    @property
    def state(self) -> tuple[int, int, int]:
        """The size in bytes, and times of the last changes."""
        return state_of(self.path) if is_remote(self.path) else state(self.descriptor)

    @property
    def sha256(self) -> str:
        """The sha256 of all bytes; waits until it is computed."""
        return self.digest()

    def mapped(self, size: int) -> memoryview | None:
        """Return the first bytes where the system's cache has them, without a copy; None where they are to be read.

        Small files are read, and those that nobody compares with their state at the end of the run. Raises OSError.
        """
        if self.hold is None or size < MAPPED or not context().maps:
            return None
        pages = map_file(self.descriptor, size)
        if pages is not None:
            self.hold()
        return pages

    def stream(self) -> BinaryIO:
        """Return a stream of the bytes from the start, independent of every other stream."""
        if self.content is not None:
            return io.BytesIO(self.content)
        return bounded_reader(RemoteFile(self.path) if is_remote(self.path) else SharedFile(self.descriptor))

    def once_through(self) -> BinaryIO:
        """Return a stream of the bytes for readers that need no file: those of a small one are in memory."""
        return self.stream() if self.held is None else io.BytesIO(self.held)


class BoundedReader(io.BufferedReader):
    """A buffered file that allocates no more bytes than the file has, whatever a damaged header requests."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > CHUNK:
            size = min(size, cast(SharedFile, self.raw).size())
        return super().read(size)


def bounded_reader(raw: SharedFile | RemoteFile) -> BinaryIO:
    """Return a buffered reader of a file, in chunks."""
    return cast(BinaryIO, BoundedReader(cast(io.RawIOBase, raw), CHUNK))


@contextmanager
def open_input(path: str, compute: Compute) -> Iterator[Opened]:
    """Open the input, and check afterwards that it did not change.

    Raises InputMissing, UsageError, and StorageError if it changed or reading failed.
    """
    if path == "-":
        with standard_input(compute) as piped:
            yield piped
        return
    if is_remote(path):
        before = state_of(path)
        yield Opened(path, before[0], cache(lambda: remote_hash(path, before)))
        require_same(path, before == state_of(path))
        return
    descriptor = open_regular(path)
    try:
        yield from _unchanged(path, descriptor)
    except OSError as error:
        raise StorageError("READ", f"reading failed: {error.strerror or error}", where=place(path),
                           hint="check the disk or the network file system, and try again") from None
    finally:
        os.close(descriptor)


def _unchanged(path: str, descriptor: int) -> Iterator[Opened]:
    """Yield one `Opened`, with its state compared before and after; raises StorageError."""
    before = state(descriptor)
    fresh = time.time() - before[1] / 1e9 < SETTLED
    digest = Digest(path, descriptor)
    if fresh:
        digest.result()
    try:
        yield Opened(path, before[0], digest.result, held=digest.content, descriptor=descriptor,
                     hold=None if fresh else digest.hold)
    except BaseException as error:
        digest.stop()
        if isinstance(error, MlcliError):
            require_same(path, before == state(descriptor))
        raise
    require_same(path, before == state(descriptor))
    if fresh:
        require_same(path, digest.result() == Digest(path, descriptor).result())


def remote_hash(path: str, known: tuple[int, int, int]) -> str:
    """Return the sha256 of a remote file; raises StorageError if its state is not `known`."""
    hashed = hashlib.sha256()
    with bounded_reader(RemoteFile(path)) as stream:
        while chunk := stream.read(CHUNK):
            hashed.update(chunk)
    require_same(path, known == state_of(path))
    return hashed.hexdigest()


def open_regular(path: str) -> int:
    """Return a descriptor of a regular file; raises InputMissing for anything else."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # before opening: a device may act on being opened
            raise _not_regular(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        what = "no such file" if missing else f"cannot be read: {error.strerror or error}"
        raise InputMissing("INPUT-MISSING", what, where=place(path),
                           hint=_name_beside(path) if missing else _remedy(error)) from None
    except ValueError as error:  # a zero byte in the name
        raise InputMissing("INPUT-MISSING", f"cannot be read: {error}", where=place(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_regular(path)
    return descriptor


def _name_beside(path: str) -> str:
    """Return the name of a file beside the one that is not there, which may be meant; empty where none is like it."""
    file = Path(path)
    try:
        names = [entry.name for entry in islice(os.scandir(file.parent), MANY)]
    except (OSError, ValueError):
        return "check the path"
    near = difflib.get_close_matches(file.name, names, n=1, cutoff=0.75)
    return f"did you mean {shown(str(file.with_name(near[0])))}?" if near else "check the path"


def _remedy(error: OSError) -> str:
    """Return what to do about a file that does not open."""
    return "check its permissions" if error.errno in (errno.EACCES, errno.EPERM) else "check the path"


def _not_regular(path: str) -> InputMissing:
    """Return the error for a directory, pipe or device."""
    folder = Path(path)
    if folder.is_dir() and any((folder / name).exists() for name in ZARR):
        return InputMissing("NOT-A-FILE", "is a Zarr store, which is not read", where=place(path),
                            hint="write it as HDF5: anndata.read_zarr(FOLDER).write_h5ad('data.h5ad')")
    if folder.is_dir():
        return InputMissing("NOT-A-FILE", "is a directory without a run, images, Parquet, CSV or Matrix Market files",
                            where=place(path), hint="give one file, or pipe the data in and read it with -")
    return InputMissing("NOT-A-FILE", "is not a regular file", where=place(path),
                        hint="give one file, or pipe the data in and read it with -")


def require_piped() -> None:
    """Raise UsageError if standard input is a terminal or closed."""
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("STDIN-TERMINAL", "standard input is a terminal",
                         hint="pipe the data or the configuration in, or give the name of a file")


@contextmanager
def standard_input(compute: Compute) -> Iterator[Opened]:
    """Read all of standard input: into memory if short, else into a temporary file.

    Raises UsageError at a terminal, and StorageError if there is no space.
    """
    require_piped()
    hashed, size = hashlib.sha256(), 0
    with ExitStack() as stack:  # a SpooledTemporaryFile that a signal stops in its making complains at its end
        held = io.BytesIO()
        file: IO[bytes] = held
        try:
            while chunk := sys.stdin.buffer.read(CHUNK):
                if size <= SPOOLED < size + len(chunk):
                    file = stack.enter_context(TemporaryFile(prefix="mlcli-"))
                    file.write(held.getvalue())
                    held.close()
                file.write(chunk)
                hashed.update(chunk)
                size += len(chunk)
            file.flush()
        except OSError as error:
            raise StorageError("SCRATCH", f"no room for {size >> 20} MiB of standard input: "
                               f"{error.strerror or error}", where=gettempdir(),
                               hint="set TMPDIR to a larger disk") from None
        if size > SPOOLED:
            yield Opened("-", size, hashed.hexdigest, descriptor=file.fileno())
            return
        yield Opened("-", size, hashed.hexdigest, content=held.getvalue())


R = TypeVar("R")
_open = threading.local()  # the last few files that a thread opened
_awaited: set["FileId"] = set()  # files to be hashed once their content is read
_hashes: dict["FileId", Future[str]] = {}  # of files whose content is being read, or was
_queue: SimpleQueue[tuple["FileId", Future[str]]] = SimpleQueue()  # of these, to be hashed one after the other
for _begun in (_awaited, _hashes):
    os.register_at_fork(after_in_child=_begun.clear)  # a child has none of its parent's threads


@frozen
class FileId:
    """The identity of a file: its path, and its size and times when it was first opened."""

    path: str
    state: tuple[int, int, int]  # size, and times of the last changes

    def open_once(self, opener: Callable[[BinaryIO], R]) -> R:
        """Return the result of an opener, cached for each thread; raises StorageError if the file has changed."""
        known = vars(_open).setdefault("files", {})
        name = os.getpid(), self, opener
        if name not in known:
            while len(known) >= 4:
                known.pop(next(iter(known)))
            stream = self._stream()
            known[name] = stream, opener(stream)
        stream, made = known[name]
        now = state_of(self.path) if is_remote(self.path) else state(stream.fileno())
        require_same(self.path, now == self.state)
        return cast(R, made)

    def hash_with_reading(self) -> None:
        """Hash the file when its content is first expected in this process: the disk then reads it once for both."""
        _awaited.add(self)

    def expect(self, start: int, stop: int) -> None:
        """Let the system read bytes that are needed next from the disk meanwhile, where it can."""
        if is_remote(self.path):
            return
        with suppress(KeyError):
            _awaited.remove(self)
            _hashes[self] = Future()
            _queue.put((self, _hashes[self]))
            _start_hashing()
        if sys.platform == "linux":
            descriptor = self.open_once(plain_stream).fileno()
            with suppress(OSError):  # of a file system that takes no advice
                for place in range(start, stop, CHUNK):  # of more bytes at once it would read the first ones alone
                    os.posix_fadvise(descriptor, place, min(CHUNK, stop - place), os.POSIX_FADV_WILLNEED)

    def sha256(self) -> str:
        """Return the hash of all bytes, which may have begun with reading.

        Raises StorageError if the file changed, and InputMissing if it is gone.
        """
        if is_remote(self.path):
            return remote_hash(self.path, self.state)
        begun = _hashes.pop(self, None)
        found = _hash(self) if begun is None else begun.result()
        self._stream().close()  # which compares the state
        return found

    def fill(self, position: int, buffer: memoryview) -> None:
        """Read the bytes from a position on until a buffer of bytes is full; raises StorageError where they end before.
        """
        raw: SharedFile | RemoteFile = cast(Any, self.open_once(plain_stream)).raw
        if raw.read_at(position, buffer) < len(buffer):
            raise StorageError("READ", "reading failed: the file is shorter than it was", where=self.path,
                               hint="wait until it is written, or work on a copy")

    def _stream(self) -> BinaryIO:
        if is_remote(self.path):
            return bounded_reader(RemoteFile(self.path))
        descriptor = open_regular(self.path)
        try:
            require_same(self.path, state(descriptor) == self.state)
            return bounded_reader(SharedFile(descriptor))  # it duplicates the descriptor
        finally:
            os.close(descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileId, (self.path if is_remote(self.path) else str(Path(self.path).absolute()), self.state)

    @property
    def key(self) -> str:
        """The text that distinguishes the file in cache keys."""
        return f"{self.path} {self.state}"


@cache
def _start_hashing() -> None:
    """Start the thread that hashes files, which the program does not wait for at exit."""
    threading.Thread(target=_hash_queued, name="hash", daemon=True).start()


os.register_at_fork(after_in_child=_start_hashing.cache_clear)  # a child starts a thread of its own


def _hash_queued() -> None:
    """Hash the files of the queue, with time that other threads leave."""
    lower_priority()
    while True:
        id, begun = _queue.get()
        try:
            begun.set_result(_hash(id))
        except Exception as error:
            begun.set_exception(error)


def _hash(id: FileId) -> str:
    """Return the hash of the bytes of a file."""
    with os.fdopen(open_regular(id.path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plain_stream(stream: BinaryIO) -> BinaryIO:
    """Return the stream itself: the opener of bytes."""
    return stream
