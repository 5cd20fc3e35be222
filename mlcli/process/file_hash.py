"""The sha256 of a file, of a large one computed by a thread, which may start while the program is still imported.

A hash is computed in one sequence, at 2 GB/s, and the result is needed at the end of a run alone. The imports of a run
occupy one core for as long as a hash of half a gigabyte: a large file that the command line names is hashed meanwhile
(`hash_early`), and whoever opens this file, as it was then, gets the hash that has begun (`hash_of`). Imports nothing
heavy.
"""

import os
import resource
import stat
import sys
from contextlib import suppress
from threading import Event, Thread, get_native_id

SMALL = 2**18  # bytes that are hashed in the time in which a thread starts
CHUNK = 1 << 20  # bytes that are read at once
LARGE, LONG = 1 << 26, 1 << 22  # bytes from which on a file is hashed early, and that are then read at once
SWITCH = 5e-4  # seconds after which a thread that runs Python lets the hash read on
COURTESY = 5  # added to the thread's niceness: the hash uses time that other threads leave
HASHED_EARLY = "embed"  # the command whose file is read as a whole


class FileHash:
    """A hash that a thread computes, unless the file is small; the program does not wait for it at exit.

    The `content` of a small file is kept, so that whoever reads it does not read the file again.
    """

    def __init__(self, descriptor: int, *, early: bool = False) -> None:
        self.before, self.same, self.held = state(descriptor), True, False
        self.error: OSError | None = None
        self.content: bytes | None = None
        self._place, self._descriptor = _place(descriptor), os.dup(descriptor)
        self._text, self._stopped = "", Event()
        small = self.before[0] <= SMALL
        self._thread = None if small else Thread(target=self._work_early if early else self._work_aside, daemon=True)
        if self._thread is None:
            self._work(SMALL, keeps=True)
        else:
            self._thread.start()

    def result(self) -> str:
        """Wait for the hash and return it, of what was read where there was an error or a change."""
        if self._thread is not None:
            self._thread.join()
        if self.held:
            self.same &= self.before == state(self._descriptor)
        return self._text

    def hold(self) -> None:
        """Compare the state of the file also whenever the hash is asked for: the file itself is still in use."""
        self.held = True

    def stop(self) -> None:
        """Abandon the hash."""
        self._stopped.set()

    def is_of(self, descriptor: int) -> bool:
        """Whether it is the hash of this open file, which has not changed since."""
        return self._place == _place(descriptor) and self.before == state(descriptor)

    def _work_aside(self) -> None:
        lower_priority()
        self._work(CHUNK)

    def _work_early(self) -> None:
        """Hash the file while modules are imported, which hold the interpreter."""
        lower_priority()
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        try:
            self._work(LONG)
        finally:
            sys.setswitchinterval(before)

    def _work(self, size: int, *, keeps: bool = False) -> None:
        """Hash the file, read by `size` bytes at a time, and keep its content if it is small."""
        import hashlib

        hashed, chunk, position, kept = hashlib.sha256(), memoryview(bytearray(size)), 0, list[bytes]()
        try:
            while not self._stopped.is_set() and (count := os.preadv(self._descriptor, [chunk], position)):
                hashed.update(chunk[:count])
                position += count
                if keeps:
                    kept.append(bytes(chunk[:count]))
            self.content = b"".join(kept) if keeps else None
            self.same = self.before == state(self._descriptor)
        except OSError as error:
            self.error = error
        self._text = hashed.hexdigest()

    def __del__(self) -> None:
        os.close(self._descriptor)


_early: list[FileHash] = []  # the one that has begun, until its file is opened
os.register_at_fork(after_in_child=_early.clear)  # a child has none of its parent's threads


def hash_early(arguments: list[str]) -> None:
    """Begin to hash the first large regular file that the arguments of an `embed` name."""
    if arguments[:1] != [HASHED_EARLY] or resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return  # a thread takes addresses, which such a limit counts
    for path in arguments[1:]:
        with suppress(OSError, ValueError):  # whoever opens the file reports it
            found = os.stat(path)  # noqa: PTH116 (no import)
            if stat.S_ISREG(found.st_mode) and found.st_size >= LARGE:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
                _early.append(FileHash(descriptor, early=True))
                os.close(descriptor)
                return


def hash_of(descriptor: int) -> FileHash:
    """Return the hash of an open file: the one that has begun early if it is of this file, else a new one."""
    while _early:
        begun = _early.pop()
        if begun.is_of(descriptor):
            return begun
        begun.stop()
    return FileHash(descriptor)


def lower_priority() -> None:
    """Lower the priority of this thread, on systems where threads have one of their own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + COURTESY)


def state(descriptor: int) -> tuple[int, int, int]:
    """Return size in bytes, and times of the last change of content and of metadata, in nanoseconds."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _place(descriptor: int) -> tuple[int, int]:
    """Return the device and the number of an open file."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
