"""A text for Arrow's CSV reader, which reads ahead in threads of its own.

Such a thread may outlive the reading, and if it meets a Python object while the interpreter ends, it aborts
the process. Its input is therefore a file or memory of Arrow's own, never a Python file.
"""

import codecs
from pathlib import Path
from typing import Any

from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import pyarrow
from mlcli.data.files.digest import changed_error
from mlcli.data.files.streams import compression
from mlcli.data.text.records import Text


def arrow_text(text: Text, skip: int, compute: Compute) -> Any:
    """Return the text as UTF-8 from byte `skip` on, as a native file of Arrow."""
    utf8 = codecs.lookup(text.input.encoding).name in ("utf-8", "ascii")  # checked by the survey
    name = f"/dev/fd/{text.opened.descriptor}"  # the open file, even if its path now leads to another
    if utf8 and not compression(text.path) and Path(name).exists():
        return _file(text, skip, name)
    return _memory(text, skip, compute)


def _file(text: Text, skip: int, name: str) -> Any:
    """Return the open file itself, past a byte order mark."""
    with text.opened.stream() as stream:
        marked = stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    file = pyarrow().OSFile(name)
    file.seek(skip + (len(codecs.BOM_UTF8) if marked else 0))
    return file


def _memory(text: Text, skip: int, compute: Compute) -> Any:
    """Return a copy of the decompressed, decoded or piped text."""
    size = text.survey.size - skip
    compute.require(float(size), f"a text of {text.survey.size:,} bytes in memory")
    buffer = pyarrow().allocate_buffer(size)
    with text.stream(skip) as stream, memoryview(buffer) as room:
        done = 0
        while done < size:
            count = stream.readinto(room[done:])  # type: ignore[attr-defined]
            if not count:
                raise changed_error(text.path)
            done += count
    return pyarrow().BufferReader(buffer)
