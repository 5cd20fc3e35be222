"""What a finding declares of its files is enough to write them and to read them back."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mlcli.findings.finding import Columns, File, Finding
from mlcli.findings.frame.finished_run import CsvColumns
from tests.support import Notes

POINTS = File("two.csv", Columns(("id", "count", "size"), texts=1, counts=("count",)))
NAMES = File("names.csv", Columns(("name",), texts=1))
OTHERS = File("others.csv")  # for other programs


class OneFile(Finding[CsvColumns]):
    """A finding of one file that is read back."""

    name, files = "one", (POINTS, OTHERS)

    def compute(self, result: Any, known: Mapping[str, Any]) -> None:
        """Nothing here."""

    def sections(self, value: CsvColumns, run: Any) -> tuple[()]:
        """Nothing here."""
        return ()


class TwoFiles(OneFile):
    """A finding of two files."""

    name, files = "two", (POINTS, NAMES)


CONTENT = CsvColumns({"id": ("=a", "", 'b,"'), "count": [1.0, 2.0, 3.0], "size": [0.1, math.nan, 1e300]})
RUN: Any = None  # nothing of it is looked at


def test_columns_are_written_as_texts_counts_and_digits_and_read_back(tmp_path: Path) -> None:
    OneFile().write(CONTENT, tmp_path, RUN)
    assert (tmp_path / POINTS.name).read_text(encoding="utf-8") == (
        'id,count,size\n=a,1,0.10000000000000001\n,2,\n"b,""",3,1.0000000000000001e+300\n')
    assert not (tmp_path / OTHERS.name).exists()
    again = OneFile().read(tmp_path, RUN)
    assert again is not None and again.texts("id") == CONTENT.texts("id")
    assert [repr(again.numbers(name)) for name in ("count", "size")] == ["[1.0, 2.0, 3.0]", "[0.1, nan, 1e+300]"]


def test_columns_of_unequal_lengths_are_not_written(tmp_path: Path) -> None:
    content = CsvColumns({"id": ("a", "b"), "count": [1.0, 2.0, 3.0], "size": [0.1, 0.2, 0.3]})
    with pytest.raises(ValueError, match="longer"):
        OneFile().write(content, tmp_path, RUN)


def test_several_files_have_their_contents_by_their_names(tmp_path: Path) -> None:
    contents: Any = {POINTS.name: CONTENT, NAMES.name: CsvColumns({"name": ("x", "")})}
    TwoFiles().write(contents, tmp_path, RUN)
    assert (tmp_path / NAMES.name).read_text(encoding="utf-8") == 'name\nx\n""\n'
    again: Any = TwoFiles().read(tmp_path, RUN)
    assert [*again] == [POINTS.name, NAMES.name] and again[NAMES.name].texts("name") == ("x", "")


def test_without_one_of_its_files_a_finding_has_no_value(tmp_path: Path) -> None:
    assert OneFile().read(tmp_path, RUN) is None
    OneFile().write(CONTENT, tmp_path, RUN)
    assert TwoFiles().read(tmp_path, RUN) is None


def test_names_like_formulas_are_warned_of_but_ids_not_again(tmp_path: Path) -> None:
    with Notes() as notes:
        POINTS.write(tmp_path, CONTENT)
    assert notes.codes == set()
    with Notes() as notes:
        NAMES.write(tmp_path, CsvColumns({"name": ("=a", "b")}))
    assert notes.codes == {"W-FORMULA"}
