"""Files on object stores and clusters (s3://, gs://, hdfs://), read at a position through pyarrow's file systems.

Credentials, region and endpoint come from the environment and the stores' own files, never from a path,
which is stored with runs.
"""

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any

from mlcli.base.values.naming import shown
from mlcli.data.files.arrow import pyarrow
from mlcli.data.options.wording import place
from mlcli.errors import ConfigError, DependencyMissing, InputMissing

REMEDIES = {  # by scheme
    "s3": "check the network, the endpoint (AWS_ENDPOINT_URL) and the region (AWS_REGION)",
    "gs": "check the network and the credentials (GOOGLE_APPLICATION_CREDENTIALS); gs:// is untested here",
    "hdfs": "it needs Java and Hadoop's libraries (JAVA_HOME, HADOOP_HOME, CLASSPATH); hdfs:// is untested here"}
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
CONNECT, REQUEST, ATTEMPTS = 5.0, 20.0, 3  # seconds to connect and without a byte; number of attempts
IMAGES = "images are read from this machine alone: copy their folder here, and give that"
NO_BUCKET = "NO_SUCH_BUCKET"
DENIED = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN_ID", "HTTP 403",
          "HTTP status 403", "HTTP 401", "Permission denied", "PERMISSION_DENIED", "UNAUTHENTICATED")


def is_remote(path: str) -> bool:
    """Whether a path names a file outside of this machine's file systems."""
    scheme, mark, _ = path.partition("://")
    return bool(mark) and scheme in REMEDIES


def state_of(path: str) -> tuple[int, int, int]:
    """Return size in bytes and time of the last change of a remote file, in the form of `digest.state`."""
    system, key = file_system_of(path)
    with store_errors(path):
        found = system.get_file_info(key)
    if not found.is_file:
        raise _no_file(path, prefix=found.type.name == "Directory")
    return int(found.size), int(found.mtime_ns or 0), 0


def _no_file(path: str, *, prefix: bool) -> InputMissing:
    """Return the error for a path that names no object."""
    what, hint = "there is no such object", "check the path"
    if prefix:
        what, hint = "it is a prefix of objects", f"end it with a slash for the table of all files there; {IMAGES}"
    if prefix and path.endswith("/"):
        what, hint = "there are no Parquet, CSV or TSV files under it", IMAGES
    return InputMissing("INPUT-MISSING", f"cannot be read: {what}", where=place(path), hint=hint)


def parts_under(path: str) -> list[str]:
    """Return the paths of the files directly under a remote directory (its path ends with a slash), in order."""
    from pyarrow import fs

    system, key = file_system_of(path)
    with store_errors(path):
        found = system.get_file_info(fs.FileSelector(key.rstrip("/"), recursive=False))
    return sorted(path + file.base_name for file in found if file.is_file)


class RemoteFile(io.RawIOBase):
    """A remote file with a position of its own; it can also be read at any other position."""

    def __init__(self, path: str) -> None:
        self._path, self._position, self._size = path, 0, state_of(path)[0]
        system, key = file_system_of(path)
        with store_errors(path):
            self._file = system.open_input_file(key)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.read_at(self._position, memoryview(buffer))
        self._position += count
        return count

    def read_at(self, position: int, buffer: memoryview) -> int:
        """Read bytes at a position into a buffer, up to its length or the end; return their number."""
        with store_errors(self._path):
            content = self._file.read_at(max(min(len(buffer), self._size - position), 0), position)
        buffer.cast("B")[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        position = (0, self._position, self._size)[whence] + offset
        if position < 0:
            raise OSError(errno.EINVAL, "the position is before the start")
        self._position = position
        return position

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self._size


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Translate errors of a store or its library into errors of mlcli."""
    try:
        yield
    except FileNotFoundError:
        raise InputMissing("INPUT-MISSING", "cannot be read: there is no such object", where=place(path),
                           hint="check the path") from None
    except (OSError, pyarrow().ArrowException) as error:
        reason = shown(" ".join(str(error).split()), 200)
        if NO_BUCKET in reason:
            raise InputMissing("INPUT-MISSING", "cannot be read: there is no such bucket", where=place(path),
                               hint="check the path") from None
        if isinstance(error, PermissionError) or any(mark in reason for mark in DENIED):
            raise InputMissing("REMOTE-DENIED", f"the store denies access: {reason}", where=place(path),
                               hint="check the credentials, which the store's own variables and files give, as "
                               "AWS_ACCESS_KEY_ID or AWS_PROFILE") from None
        raise DependencyMissing("REMOTE", f"the store cannot be used: {reason}", where=place(path),
                                hint=REMEDIES[path.partition("://")[0]]) from None


def file_system_of(path: str) -> tuple[Any, str]:
    """Return the file system of a path and the file's name in it; raises ConfigError if the path contains a secret."""
    scheme, _, rest = path.partition("://")
    host = rest.partition("/")[0]
    if "@" in host:
        raise ConfigError("REMOTE-SECRET", "the path holds credentials, which would be saved with the run",
                          where="input.path",
                          hint="give them by the store's own variables or files, as AWS_PROFILE")
    with store_errors(path):
        return _system(scheme, host if scheme == "hdfs" else ""), (
            "/" + rest.partition("/")[2] if scheme == "hdfs" else rest)


@cache
def _system(scheme: str, host: str) -> Any:
    """Return a file system of pyarrow with a time limit for connections and requests."""
    pyarrow()
    from pyarrow import fs

    if scheme == "s3":
        endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "")
        protocol, _, server = endpoint.rpartition("://")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        return fs.S3FileSystem(endpoint_override=server.rstrip("/") or None, scheme=protocol or "https", region=region,
                               connect_timeout=CONNECT, request_timeout=REQUEST,
                               retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS))
    if scheme == "gs":
        return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=REQUEST))
    return fs.HadoopFileSystem.from_uri(f"hdfs://{host}")
