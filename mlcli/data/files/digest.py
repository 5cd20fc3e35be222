"""The sha256 of an input, and checks that the file did not change."""

from mlcli.data.options.wording import place
from mlcli.errors import StorageError
from mlcli.process.file_hash import hash_of


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
