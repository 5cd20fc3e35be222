"""Every format that is registered has all its parts, and is read as a table, labels, a view, new rows and in blocks."""

import re
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.rows.source import rows_of
from mlcli.base.values.compute import Compute
from mlcli.data.files.source import open_input
from mlcli.data.formats import npy, parquet
from mlcli.data.formats.reader import Reader
from mlcli.data.options.formats import FILES, FORMATS, Format
from mlcli.data.options.input import Input, LabelFile, View
from mlcli.data.read.labels import read_labels
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.read.table import can_be_cut, read
from mlcli.data.table.sheet import numbered_names
from mlcli.errors import ConfigError
from tests.data.format_samples import WRITERS
from tests.processes import python

POINTS = np.round(np.random.default_rng(2).uniform(1, 99, (9, 3)))  # three columns, as places in space have
COLUMNS = numbered_names("x", 3)
DOCS = (Path(__file__).parents[2] / "docs" / "input.md").read_text(encoding="utf-8")
TABLES = [format for format in FORMATS.values() if not format.pairs]


def lacking(format: Format, reader: Any) -> list[str]:
    """What a format has not that it needs, or has in one place only: the line in `FORMATS`, its file, tests, docs."""
    ways = ("text", "sheet", "array", "sparse", "blocks", "folder")
    said = {"blocks": bool(format.blocks), "parts": format.parts, "folder": format.folder}
    checks = {
        "READER in its file": isinstance(reader, Reader),
        "a way to read a table": any(getattr(reader, way, None) for way in ways),
        "endings or first bytes to be known by": bool(format.endings or format.starts),
        "a title": bool(format.title),
        "its title in docs/input.md": re.search(rf"\b{format.title}\b", DOCS) is not None,
        "a file to test it with (tests/data/format_samples.py)": format.name in WRITERS,
        **{f"{part} in its file and in FORMATS alike": (getattr(reader, part, None) is not None) == there
           for part, there in said.items()}}
    return [part for part, there in checks.items() if not there]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_all_its_parts(name: str) -> None:
    reader = getattr(import_module(f"mlcli.data.formats.{name}"), "READER", None)
    assert lacking(FORMATS[name], reader) == []


@pytest.mark.parametrize(("format", "reader", "said"), [
    (FORMATS["npy"], None, ["READER in its file", "a way to read a table", "blocks in its file and in FORMATS alike"]),
    (FORMATS["npy"], Reader(blocks=npy.blocks_of), []),
    (FORMATS["npz"], Reader(), ["a way to read a table"]),
    (replace(FORMATS["npy"], blocks=()), npy.READER, ["blocks in its file and in FORMATS alike"]),
    (replace(FORMATS["npy"], endings=(), starts=()), npy.READER, ["endings or first bytes to be known by"]),
    (replace(FORMATS["parquet"], parts=False), parquet.READER, ["parts in its file and in FORMATS alike"]),
    (Format("abc", "A B C", (".abc",)), Reader(array=npy.array_in), [
        "its title in docs/input.md", "a file to test it with (tests/data/format_samples.py)"])])
def test_a_part_that_is_missing_is_named(format: Format, reader: Any, said: list[str]) -> None:
    assert lacking(format, reader) == said


def test_a_format_without_a_file_is_no_format() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"formats\.abc"):
        import_module("mlcli.data.formats.abc")


def test_no_ending_and_no_title_is_that_of_two_formats() -> None:
    for names in ([ending for format in FORMATS.values() for ending in format.endings],
                  [format.title for format in FORMATS.values()]):
        assert max(Counter(names).values()) == 1


def sample(folder: Path, format: Format, values: Any = POINTS, *, ending: bool = True) -> str:
    path = folder / f"sample{format.endings[0] if ending and format.endings and not format.folder else ''}"
    WRITERS[format.name](path, values)
    return str(path)


@pytest.mark.parametrize("format", FORMATS.values(), ids=lambda format: format.name)
def test_a_table_of_every_format_is_read(tmp_path: Path, format: Format) -> None:
    path = sample(tmp_path, format)
    table = read(Input(path=path, **({"kind": "dissimilarities"} if format.pairs else {})))
    np.testing.assert_allclose(table.values, cdist(POINTS, POINTS) if format.pairs else POINTS, rtol=1e-15)
    assert table.source is not None and table.source.format == format.name


@pytest.mark.parametrize("format", [format for format in FILES if format.starts], ids=lambda format: format.name)
def test_first_bytes_tell_the_format(tmp_path: Path, format: Format) -> None:
    path = sample(tmp_path, format, ending=False)
    np.testing.assert_array_equal(read(Input(path=path)).values, POINTS)


@pytest.mark.parametrize("format", FILES, ids=lambda format: format.name)
def test_labels_of_every_format_that_can_hold_some(tmp_path: Path, format: Format) -> None:
    path = sample(tmp_path, format, POINTS[:, :1] if format.labels else POINTS)
    if not format.labels:
        with pytest.raises(ConfigError) as caught:
            read_labels(LabelFile(path=path))
        assert caught.value.code == "E-FORMAT"
        return
    [texts] = read_labels(LabelFile(path=path, format=format.name)).columns.values()
    assert list(map(float, texts)) == POINTS[:, 0].tolist()


@pytest.mark.parametrize("format", TABLES, ids=lambda format: format.name)
def test_a_second_view_of_every_format(tmp_path: Path, format: Format) -> None:
    WRITERS["csv"](tmp_path / "first.csv", POINTS[:, :2])
    view = read(Input(path=str(tmp_path / "first.csv"), view=View(path=sample(tmp_path, format), format=format.name)))
    assert view.view is not None
    np.testing.assert_array_equal(view.view.values, POINTS)


@pytest.mark.parametrize("format", TABLES, ids=lambda format: format.name)
def test_new_rows_of_every_format(tmp_path: Path, format: Format) -> None:
    path = sample(tmp_path, format)
    np.testing.assert_array_equal(read_new(Input(path=path), RunInput(COLUMNS, ["a"])).values, POINTS)


@pytest.mark.parametrize("format", [format for format in TABLES if "features" in format.blocks],
                         ids=lambda format: format.name)
def test_blocks_hold_the_same_numbers_whatever_reads_them(tmp_path: Path, format: Format) -> None:
    """A format that gives blocks alone gives the whole table as well: its blocks together."""
    path, reader = sample(tmp_path, format), import_module(f"mlcli.data.formats.{format.name}").READER
    input = Input(path=path, stream="always", label_columns=("x2",))
    with open_input(path, Compute()) as file:
        sheet = Reader(blocks=reader.blocks).table(file, input, Compute())
    np.testing.assert_array_equal(sheet.values, POINTS[:, [0, 2]])
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in _parts(read(input).values)]), sheet.values)
    assert [float(label) for label in sheet.labels["x2"]] == POINTS[:, 1].tolist()


@pytest.mark.parametrize("options", [{}, {"label_columns": ("x2",)}, {"transpose": True}, {"reverse": ("x2",)}])
@pytest.mark.parametrize("format", TABLES, ids=lambda format: format.name)
def test_what_can_be_cut_is_known_before_blocks_are_read(tmp_path: Path, format: Format,
                                                         options: dict[str, Any]) -> None:
    input = Input(path=sample(tmp_path, format), stream="always", **options)
    try:
        cut = rows_of(read(input).values) is not None
    except ConfigError:
        cut = False
    assert can_be_cut(input, Compute()) == cut


def _parts(values: Any) -> Any:
    from mlcli.base.rows.source import all_parts, rows_of

    rows = rows_of(values)
    assert rows is not None
    return all_parts(rows)


@pytest.mark.medium
def test_a_file_loads_the_reader_of_its_own_format_alone(tmp_path: Path) -> None:
    path = sample(tmp_path, FORMATS["csv"])
    loaded = python("import sys; from mlcli.data.read.table import *; read(Input(path=sys.argv[1])); "
                    "print(*(name for name in sys.modules if name.startswith('mlcli.data.')))", path).split()
    readers = {f"mlcli.data.formats.{name}" for name in FORMATS}
    assert ({*readers, "mlcli.data.text.distance_matrices"} & {*loaded}
            == {"mlcli.data.formats.csv"})
