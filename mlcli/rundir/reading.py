"""Reads the files of a finished run: each holds what a run writes, or UnsafeFile names file and place."""

import csv
import hashlib
import io
import json
import math
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.source import open_regular
from mlcli.errors import ConfigError, DataError, InputMissing, UnsafeFile
from mlcli.rundir import names
from mlcli.storage.npz import arrays_in

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

LARGEST = 2**28  # bytes of a JSON document


def damaged(path: Path, what: str, place: object = "") -> UnsafeFile:
    """The error for a file that does not hold what a run writes, with the line or the path of keys."""
    return UnsafeFile("RUN-FILES", f"{path.name} does not hold what a run writes: {what}",
                      where=f"{path}:{place}" if place else str(path), hint="make the run again")


@contextmanager
def own_file(path: Path) -> Iterator[None]:
    """Turns what the readers of inputs and libraries raise about a file of a run into UnsafeFile."""
    try:
        yield
    except (DataError, ConfigError, InputMissing) as error:
        place = f" ({error.where})" if error.where not in ("", str(path)) else ""
        raise damaged(path, error.what + place) from error
    except (ValueError, TypeError, LookupError, SyntaxError, EOFError, ArithmeticError, csv.Error, OSError) as error:
        raise damaged(path, f"{type(error).__name__} {str(error)[:80]}".strip()) from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a regular file's bytes; raises InputMissing for other files and OSError."""
    hashed = hashlib.sha256()
    with os.fdopen(open_regular(str(path)), "rb") as file:
        while chunk := file.read(CHUNK):  # None where a file of /proc has nothing to say now
            hashed.update(chunk)
    return hashed.hexdigest()


def is_run(path: str) -> bool:
    """Whether a path leads to the directory of a run, whatever its state."""
    return path != "-" and any(is_there(Path(path) / name) for name in (names.MANIFEST, names.ERROR))


def is_there(path: Path) -> bool:
    """Whether a path leads to something; not where it cannot be looked up, as of a name that is too long."""
    try:
        return path.exists()
    except OSError:
        return False


def is_intact(path: Path, known: Mapping[str, Any]) -> bool:
    """Whether a file has the size and the hash that are known of it; one of another size is not read."""
    try:
        return path.stat().st_size == known.get("bytes") and sha256_of(path) == known.get("sha256")
    except (OSError, ValueError, InputMissing):
        return False


def is_own(folder: Path, name: str, known: Mapping[str, Any]) -> bool:
    """Whether a file in the folder of a run is the one that it wrote; a link that leads elsewhere is not followed."""
    path = folder / name
    try:
        leads_out = path.is_symlink() and path.resolve().parent != folder.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return False
    return not leads_out and is_intact(path, known)


def text_of(path: Path) -> str:
    """The text of a file; raises UnsafeFile."""
    with own_file(path), os.fdopen(open_regular(str(path)), "rb") as file:
        return file.read(_modest(file)).decode("utf-8")  # a larger number would be allocated first


@contextmanager
def text_lines(path: Path) -> Iterator[TextIO]:
    """The text of a file with line ends as they are, which is not held as a whole; raises UnsafeFile."""
    with own_file(path):
        file = os.fdopen(open_regular(str(path)), "rb")
    with file:
        with own_file(path):
            _modest(file)
        yield io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")


def _modest(file: BinaryIO) -> int:
    """The bytes of a file that is not too large; raises ValueError."""
    size = os.fstat(file.fileno()).st_size
    if size > LARGEST:
        raise ValueError(f"more than {LARGEST >> 20} MiB")
    return size


def json_of(path: Path, shape: "type[BaseModel]") -> dict[str, Any]:
    """A JSON document of a shape, its numbers as the shape has them and its keys in their order; raises UnsafeFile."""
    from pydantic import ValidationError

    document = raw_json(path)
    try:
        return dict(_ordered(shape.model_validate(document).model_dump(exclude_unset=True), document))
    except ValidationError as error:
        raise damaged(path, *_first_problem(error, document)) from error


def _ordered(values: Any, document: Any) -> Any:
    """Values with all keys in the order of the document that they were read from."""
    if isinstance(values, dict):
        return {key: _ordered(values[key], part) for key, part in document.items()}
    return [_ordered(*both) for both in zip(values, document, strict=True)] if isinstance(values, list) else values


def raw_json(path: Path) -> Any:
    """A JSON document as it is; raises UnsafeFile for repeated keys and numbers that are not finite."""
    text = text_of(path)
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise damaged(path, "it is nested too deeply") from error
    except ValueError as error:
        raise damaged(path, str(error)[:100]) from error


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a mapping; raises ValueError for a repeated key."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        again = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        raise ValueError(f"the key {again[:80]!r} is there twice")
    return mapping


def _finite(text: str) -> float:
    """A number that JSON knows."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a number of JSON")
    return value


def _first_problem(error: "ValidationError", document: Any) -> tuple[str, str]:
    """Return the first problem in words, and the path of keys to it."""
    from mlcli.config.explain import dotted, keys_of

    details = error.errors(include_url=False, include_context=False)[0]
    place = dotted(keys_of(details, document))
    said = "is missing" if details["type"] == "missing" else details["msg"].replace("Input should", "should", 1)
    return f"{place or 'it'} {said}", place


def arrays_of(path: Path) -> dict[str, AnyArray]:
    """The arrays of an NPZ file that is not compressed, by their names; raises UnsafeFile."""
    with own_file(path), os.fdopen(open_regular(str(path)), "rb") as file:
        return arrays_in(file, os.fstat(file.fileno()).st_size)


def csv_of(path: Path, needed: Sequence[str] = (), *, texts: int = 0) -> dict[str, Sequence[str] | Array]:
    """A small CSV file by its columns: names first, whole rows, and after `texts` columns numbers, NaN for nothing.

    Raises UnsafeFile with the line.
    """
    head, words, values = csv_rows(path, texts=texts, check=lambda head: (
        None if len(set(head)) == len(head) and set(needed) <= set(head) else
        f"its first line should name {', '.join(needed) or 'different columns'}"))
    return dict(zip(head, [*(zip(*words, strict=True) if words else [()] * len(head[:texts])), *values.T], strict=True))


def csv_rows(path: Path, *, texts: int = 0, check: Callable[[list[str]], str | None]) -> tuple[
        list[str], list[list[str]], Array]:
    """The names in a small CSV file, and in its rows the texts of the first columns and the numbers of the others.

    `check` says what is wrong with the names, if anything. Raises UnsafeFile with the line.
    """
    words, numbers = list[list[str]](), array("d")
    with text_lines(path) as file:
        with own_file(path):
            lines = csv.reader(file)
            head = next(lines, [])
        if (wrong := check(head)) is not None:
            raise damaged(path, wrong, 1)
        with own_file(path):
            for line, row in enumerate(lines, 2):
                if len(row) != len(head):
                    raise damaged(path, f"{len(row)} cells, not {len(head)}", line)
                words.append(row[:texts])
                numbers.extend(_numbers(path, row[texts:], line))
    return head, words, np.array(numbers).reshape(len(words), len(head[texts:]))


def _numbers(path: Path, cells: Sequence[str], line: int) -> list[float]:
    """The numbers of a row; raises UnsafeFile for a cell that is none."""
    try:
        return [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        wrong = next(cell for cell in cells if cell and not _is_number(cell))
        raise damaged(path, f"{wrong[:40]!r} is not a number", line) from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
