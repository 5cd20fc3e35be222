"""The program's own standard streams: every byte is written, whatever takes them, or an error says that it was not."""

import fcntl
import io
import os
import select
import sys
from typing import Any, TextIO

from mlcli.errors import MlcliError, OutputRefused, StorageError

STDOUT, STDERR = 1, 2


class Whole(io.RawIOBase):
    """Writes all bytes to a file descriptor; once that failed, and was reported, nothing more is written."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor
        self.failed = False

    def fileno(self) -> int:
        """The file descriptor."""
        return self.descriptor

    def isatty(self) -> bool:
        """Whether a terminal takes the bytes."""
        return os.isatty(self.descriptor)

    def writable(self) -> bool:
        """Bytes can be written."""
        return True

    def write(self, data: Any) -> int:
        """Writes everything; raises BrokenPipeError where the reader has gone, OutputRefused and StorageError."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and not self.failed:
                rest = rest[self.some(rest):]
        except BaseException as error:
            self.failed = True
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise output_error(error) from error
            raise
        return size

    def some(self, data: memoryview) -> int:
        """Writes what the file, pipe or terminal takes at once; waits where that is nothing."""
        try:
            return os.write(self.descriptor, data)
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(self.descriptor, select.POLLOUT)
            waiting.poll()
            return 0


class SilentWriter(Whole):
    """A stream like `Whole`, for standard error, whose own failures cannot be reported."""

    def write(self, data: Any) -> int:
        """Writes what can be written."""
        try:
            return super().write(data)
        except Exception:
            return len(memoryview(data).cast("B"))
        except BaseException:  # a signal, which is still to be reported
            self.failed = False
            raise


def own() -> None:
    """Puts such streams in the place of Python's, which lose bytes where a write takes a part of them."""
    occupy()
    sys.stdout = text_stream(io.BufferedWriter(Whole(STDOUT)), sys.stdout)
    sys.stderr = text_stream(SilentWriter(STDERR), sys.stderr)  # without a buffer, which would repeat what was cut off


def text_stream(binary: Any, before: TextIO | None) -> io.TextIOWrapper:
    """A stream for text with the encoding that Python chose, line by line where somebody may be reading along."""
    return io.TextIOWrapper(binary, before.encoding if before else "utf-8", "backslashreplace", "\n",
                            line_buffering=binary.isatty() or isinstance(binary, SilentWriter))


def occupy() -> None:
    """Opens what was closed, for reading only: else the next file opened would be taken for a standard stream."""
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= STDERR:
        pass
    os.close(descriptor)


def require_standard_output() -> None:
    """Raises OutputRefused where standard output is closed, before anything is made that ends with writing to it."""
    if fcntl.fcntl(STDOUT, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise refused()


def refused() -> OutputRefused:
    """The error for a standard output that is closed, or open for reading only."""
    return OutputRefused("STDOUT", "standard output is closed", hint="open it, or give a file or directory with -o")


def output_error(error: OSError) -> MlcliError:
    """Convert an error of standard output."""
    try:
        require_standard_output()
    except OutputRefused as closed:
        return closed
    return StorageError("STORAGE", f"writing failed: {error.strerror or error}", where="standard output",
                        hint="check the space where it goes")
