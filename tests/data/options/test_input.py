"""The section `input` takes what YAML gives and refuses what cannot be."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mlcli.data.options.input import Input
from mlcli.errors import ConfigError
from tests.data.helpers import refused, written
from tests.processes import python


def test_lists_of_names_are_taken_as_they_stand_in_yaml() -> None:
    input = Input(path="a.csv", columns=["a", "b:c"], label_columns=["k"])  # type: ignore[arg-type]
    assert (input.columns, input.label_columns) == (("a", "b:c"), ("k",))


@pytest.mark.parametrize("values", [
    {}, {"path": ""}, {"path": "a", "separator": ""}, {"path": "a", "separator": ",,"}, {"path": "a", "separator": "a"},
    {"path": "a", "separator": '"'}, {"path": "a", "separator": "é"}, {"path": "a", "separator": "\n"},
    {"path": "a", "header": "yes"}, {"path": "a", "decimal": ";"}, {"path": "a", "kind": "tensor"},
    {"path": "a", "columns": "a"}, {"path": "a", "decompress_ratio": 0}, {"path": "a", "no_such": 1},
    {"path": "a", "view": {"path": "b", "key": ""}}])
def test_values_that_cannot_be(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Input(**values)


@pytest.mark.parametrize("header", ["auto", True, False])
def test_header(header: Any) -> None:
    assert Input(path="a", header=header).header == header


@pytest.mark.medium
def test_reading_and_writing_import_no_heavy_library_before_they_need_it() -> None:
    program = ("import sys, mlcli.data.read.table, mlcli.data.write.table, mlcli.data.prepare.prepare\n"
               "print([name for name in ('pyarrow', 'scipy', 'rich', 'typer') if name in sys.modules])")
    assert python(program).strip() == "[]"


def test_a_label_column_is_named_once(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,c\n1,2,x\n3,4,y\n")
    refused(path, ConfigError, "INPUT-OPTION", label_columns=("c", "c"))
