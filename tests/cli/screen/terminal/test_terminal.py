"""Lines are folded at the width of a terminal between words, and nowhere else."""

import io
import json

import pytest

from mlcli.cli.screen.failure import ErrorForm, rendered, tell
from mlcli.cli.screen.terminal import WIDTH, columns_of, fold, for_stream
from mlcli.errors import InputMissing


class Terminal(io.StringIO):
    """A stream to a terminal that does not know its size."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("line", "lines"), [
    ("  label  one two three", ["  label  one two", "         three"]),
    ("  a long label  one two", ["  a long label  one", "two"]),
    ("    one two three four five", ["    one two three", "    four five"]),
    ("one two  three four five", ["one two  three four", "         five"]),
    ("one-two-three-four-five-six", ["one-two-three-four-five-six"]),
    ("  short  line", ["  short  line"]),
])
def test_a_line_is_folded_below_its_last_column(line: str, lines: list[str]) -> None:
    assert fold(line, 20).splitlines() == lines


def test_a_message_is_folded_below_its_text_and_words_stay_whole() -> None:
    long = "x" * 30
    assert fold(f"mlcli: note[N-X]: one two {long} three", 20).splitlines() == [
        "mlcli: note[N-X]:", "       one two", f"       {long}", "       three"]


def test_phrases_to_keep_are_not_folded() -> None:
    line = "mlcli: found a folder of/some results, its tables"
    assert fold(line, 20, ["a folder of/some results"]).splitlines() == [
        "mlcli: found", "       a folder of/some results,", "       its tables"]
    assert " ".join(fold(line, 20).split()) == line


@pytest.mark.parametrize("command", ["echo 'sweep: {method.k: [4, 6]}' | mlcli run - --set compute.threads=2",
                                     "mlcli embed 'my data/of all sites.csv'"])
@pytest.mark.parametrize("after", ["", "and 2 more: input.rows, report", "in the run k=4"])
def test_a_command_stands_whole_on_a_line_of_its_own(command: str, after: str) -> None:
    line = f"mlcli: error[E-X]: one of several; a sweep: {command}{after and f'; {after}'}"
    *before, last = fold(line, 30).splitlines()[:-1 if after else None]
    assert last.strip() == command and fold(line, 30).splitlines()[-1].strip() == (after or command)
    assert before == ["mlcli: error[E-X]: one of", "       several; a sweep:"]
    assert fold(line, 300) == line


@pytest.mark.parametrize("line", [json.dumps({"error": "a b " * 40}), "\x1b[34m" + "a " * 60, "a \x1b[0m" + "a " * 60])
def test_json_and_colored_lines_are_whole(line: str) -> None:
    assert fold(line, 20) == line


def test_every_line_of_several_is_folded_by_itself() -> None:
    text = for_stream("one two three\n\n{ 1, 2, 3, 4, 5, 6 }", Terminal())
    assert text == "one two three\n\n{ 1, 2, 3, 4, 5, 6 }"


def test_the_width_is_that_of_the_terminal_or_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert columns_of(io.StringIO()) is None and columns_of(None) is None
    assert columns_of(Terminal()) == WIDTH
    for value, width in (("44", 44), ("0", WIDTH), ("wide", WIDTH)):
        monkeypatch.setenv("COLUMNS", value)
        assert columns_of(Terminal()) == width and columns_of(io.StringIO()) is None
    monkeypatch.setenv("COLUMNS", "20")
    assert for_stream("one two three four five", io.StringIO()) == "one two three four five"
    assert for_stream("one two three four five", Terminal()).count("\n") == 1


def test_the_path_of_an_error_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    error = InputMissing("INPUT-MISSING", "cannot be read: it is not there", where="my data/of all sites.csv",
                         hint="check the path")
    monkeypatch.setenv("COLUMNS", "30")
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    assert tell(error, ErrorForm()) == 66
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 32 and any("my data/of all sites.csv" in line for line in lines)
    assert " ".join(shown.getvalue().split()) == rendered(error, ErrorForm())
