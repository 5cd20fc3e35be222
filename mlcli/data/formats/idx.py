"""IDX, the format of MNIST: an array of numbers after its type and its sizes, often compressed by gzip.

Source: http://yann.lecun.com/exdb/mnist
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.types import AnyArray
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import damage_error
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import content_stream
from mlcli.data.formats.arrays import StoredArray
from mlcli.data.formats.reader import Reader
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted
from mlcli.data.table.sheet import FEWER

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}  # by the third byte
MAGIC = 4  # bytes: two zeros, the type and the number of sizes, each of which takes four


@contextmanager
def array_in(opened: Opened, input: Input, compute: Compute) -> Iterator[StoredArray]:
    """Open the array of a file; raises DataError."""
    with content_stream(opened, input) as stream:
        magic = stream.read(MAGIC)
        if len(magic) < MAGIC or magic[:2] != b"\0\0" or magic[2] not in TYPES or not magic[3]:
            raise damage_error(opened.path, "IDX", "it does not begin with two zeros, a type and a number of sizes")
        sizes = stream.read(4 * magic[3])
        if len(sizes) < 4 * magic[3]:
            raise damage_error(opened.path, "IDX", "it ends within its sizes")
        kind, shape = np.dtype(TYPES[magic[2]]), tuple(np.frombuffer(sizes, ">u4").tolist())
        yield StoredArray(kind, shape, partial(_numbers, stream, kind, shape, opened.path, compute), hint=FEWER)


def _numbers(stream: BinaryIO, kind: np.dtype[Any], shape: tuple[int, ...], path: str, compute: Compute) -> AnyArray:
    """Return the numbers, after a check of their size against memory; raises DataError."""
    numbers = math.prod(shape)
    size = numbers * kind.itemsize
    compute.require_data(2.0 * size + 8.0 * numbers, f"an array of {counted(numbers, 'number')}", FEWER)
    content = bytearray()
    while len(content) <= size and (chunk := stream.read(min(CHUNK, size + 1 - len(content)))):
        content += chunk
    if len(content) != size:
        raise damage_error(path, "IDX", f"it announces {counted(size, 'byte')} of shape {shape}, and has "
                      f"{'more' if len(content) > size else f'{len(content):,}'}")
    return np.frombuffer(content, kind).reshape(shape)


READER = Reader(array=array_in)
