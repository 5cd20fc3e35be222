"""PNG read by the standard's own words, and found in pages: for comparison with what was drawn."""

import base64
import re
import struct
import zlib

import numpy as np

from mlcli.base.types import AnyArray

CHANNELS = {4: 2, 6: 4}  # type of color -> numbers of a pixel


def pixels(content: bytes) -> AnyArray:
    """The numbers of an 8-bit image (rows x columns x channels) whose rows are not filtered."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, []
    while place < len(content):
        size, = struct.unpack(">I", content[place : place + 4])
        named, checked = content[place + 4 : place + 8 + size], content[place + 8 + size : place + 12 + size]
        assert struct.unpack(">I", checked) == (zlib.crc32(named),)
        chunks.append((named[:4], named[4:]))
        place += size + 12
    assert [name for name, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    columns, rows, depth, color, *others = struct.unpack(">IIBBBBB", chunks[0][1])
    assert (depth, others) == (8, [0, 0, 0])
    lines = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(rows, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(rows, columns, CHANNELS[color])


def images(page: str) -> list[AnyArray]:
    """The images of a page, in their order."""
    return [pixels(base64.b64decode(text, validate=True))
            for text in re.findall(r'<image [^>]*href="data:image/png;base64,([^"]+)"/>', page)]
