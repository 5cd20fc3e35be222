"""The sha256 of a file, computed by a thread in parallel, and the proof that the file stayed the same."""

import hashlib
import os
import sys
from threading import Event, Thread, get_native_id

from mlcli.data.files.shared_handle import CHUNK, Positioned
from mlcli.data.options.wording import place
from mlcli.errors import StorageError

COURTESY = 5  # what is added to the thread's niceness: the hash is computed while others wait, and not before them


class Digest:
    """A hash being computed; a program that ends does not wait for it."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path, self._before, self._file = path, state(descriptor), Positioned(descriptor)
        self._same, self._text, self._stopped = True, "", Event()
        self._error: OSError | None = None
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def result(self) -> str:
        """The hash, once it is there; raises StorageError where the file changed or cannot be read."""
        self._thread.join()
        if self._error is not None:
            reason = self._error.strerror or self._error
            raise StorageError("READ", f"reading failed: {reason}", where=place(self._path),
                               hint="check the disk or the network file system, and try again")
        require_same(self._path, self._same)
        return self._text

    def stop(self) -> None:
        """Abandons the hash."""
        self._stopped.set()

    def _work(self) -> None:
        give_way()
        hashed, chunk = hashlib.sha256(), memoryview(bytearray(CHUNK))
        with self._file as file:
            try:
                while not self._stopped.is_set() and (count := file.readinto(chunk)):
                    hashed.update(chunk[:count])
                self._same = self._before == state(file.fileno())
            except OSError as error:
                self._error = error
        self._text = hashed.hexdigest()


def give_way() -> None:
    """Lets every other thread of the program go first, where a thread has a priority of its own."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + COURTESY)
        except OSError:
            return


def state(descriptor: int) -> tuple[int, int, int]:
    """Size in bytes, and times of the last change of content and of anything, in nanoseconds."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def require_same(path: str, same: bool) -> None:
    """Refuses a file that changed under the reader."""
    if not same:
        raise changed(path)


def changed(path: str) -> StorageError:
    """The error for a file that did not stay the same."""
    return StorageError("CHANGED", "the file changed while it was read", where=place(path),
                        hint="wait until it is written, or work on a copy")
