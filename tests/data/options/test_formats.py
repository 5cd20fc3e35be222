"""The table of formats, with those that installed packages add."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlcli.base.values import plugins
from mlcli.base.values.compute import Compute
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import open_input
from mlcli.data.formats.reader import reader_of
from mlcli.data.options import formats
from mlcli.data.options.formats import OWN, Format, Formats, format_defect
from mlcli.data.options.input import Input
from mlcli.errors import DependencyMissing
from tests.plugins import describe
from tests.wording import Wording

ADDED = Format("abc", "ABC", (".abc",), (b"PK\x03\x04abc",), reader="mlcli.data.formats.npy:READER")
WRONG = replace(ADDED, name="wrong", endings=(".wrong",), reader="mlcli.data.formats.npy:array_in")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Formats]:
    """A table with the formats of a package, which are those of this module, in the place of the program's."""
    monkeypatch.syspath_prepend(tmp_path)
    here = "tests.data.options.test_formats"
    describe(tmp_path, "mlcli-abc", "1.0", {"mlcli.formats": {
        "abc": f"{here}:ADDED", "wrong": f"{here}:WRONG", "csv": f"{here}:ADDED", "other": f"{here}:ADDED"}})
    plugins.installed.cache_clear()
    made = Formats()
    for module in ("mlcli.data.options.formats", "mlcli.data.files.formats", "mlcli.data.formats.reader"):
        monkeypatch.setattr(f"{module}.FORMATS", made)
    yield made
    plugins.installed.cache_clear()


def test_formats_of_packages_are_listed_after_the_programs_own(table: Formats, wording: Wording) -> None:
    assert [*table] == [*OWN, "abc", "wrong"] and table["abc"] is ADDED and len(table) == len(OWN) + 2
    assert [*map(wording, table.unusable)] == [["E-PLUGIN"], ["E-PLUGIN"]]


def test_an_ending_that_no_format_has_leads_to_that_of_a_package(tmp_path: Path, table: Formats) -> None:
    path = tmp_path / "data.abc"
    path.write_bytes(b"PK\x03\x04abc")  # the first bytes of NPZ, too
    with open_input(str(path), Compute()) as opened:
        assert format_of(opened, Input(path=str(path))) is ADDED


def test_a_format_of_the_program_is_found_without_a_look_at_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed", None)
    assert Formats()["csv"] is OWN["csv"] and Formats().with_ending(".npy") is OWN["npy"]
    assert formats.FormatNames(lambda format: True).fits("auto")


def test_a_reader_that_is_none_is_named_with_its_package(table: Formats) -> None:
    assert reader_of(table["abc"]).array is not None
    with pytest.raises(DependencyMissing, match=r"'wrong' of package mlcli-abc 1.0 .*:array_in ") as caught:
        reader_of(table["wrong"])
    assert caught.value.code == "E-PLUGIN"


@pytest.mark.parametrize(("entry", "said"), [
    (1, "it is no mlcli.data.options.formats.Format"), (ADDED, ""), (OWN["csv"], "the name in its entry is not 'abc'"),
    (replace(ADDED, folder=True), "only formats of single files can be added"),
    (replace(ADDED, endings=(".x", ".npy")), "files that end in .npy are NPY")])
def test_an_entry_that_cannot_be_used_says_why(entry: object, said: str) -> None:
    assert format_defect(entry, "abc") == said
