"""What commands print for people fits a terminal of 80 columns, and loses no word of what programs read."""

import re
import sys

import pytest

from mlcli.cli.group import COMMANDS
from mlcli.cli.screen.terminal import WIDTH, aligned, wrapped
from mlcli.methods import METHODS
from tests.journeys.support import Caller
from tests.journeys.terminal.test_streams import TALKING
from tests.wording import Wording

DATA = {"embed", "run", "explain", "project", "reconstruct", "route", "collect", "report", "export", "schema", "sample"}
SHOWN = {name: [name, *TALKING[name]] for name in COMMANDS if name not in DATA}
SHOWN |= {f"methods {name}": ["methods", name] for name in METHODS} | {"help method": ["help", "methods", "isomap"]}
CLOCKS = re.compile(r"[\d.e-]+ (?:m?s|[KMG]iB|min)\b")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "explore")) for name in SHOWN])
def test_a_terminal_shows_every_line_whole(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    kept = ["-m", "mds", "--keep", "distances"] if name == "show" else []
    assert mlcli("embed", "data.csv", "-q", "-o", "run", *kept).code == 0
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    piped = mlcli(*SHOWN[name])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = mlcli(*SHOWN[name], *["--force"] * (name in ("compare", "explore", "relate")))
    assert piped.code == shown.code == 0, piped.err + shown.err
    assert shown.out and [line for line in shown.out.splitlines() if len(line) > WIDTH] == []
    if name != "explore":  # whose clock decides on what is tried
        assert CLOCKS.sub("", shown.out).split() == CLOCKS.sub("", piped.out).split()


ROWS = [("variable", "r2", "p"), ("a name of [bold] words", "0.1234", "0.001"), ("x" * 25, "1", "2")]


@pytest.mark.parametrize("width", [25, 30])
def test_cells_are_folded_within_their_columns_where_a_terminal_is_narrow(monkeypatch: pytest.MonkeyPatch,
                                                                          width: int) -> None:
    whole = aligned(ROWS)
    assert len(whole) == len(ROWS) and whole[1] == "a name of [bold] words     0.1234  0.001"
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = aligned(ROWS)
    assert len(lines) > len(ROWS) and max(map(len, lines)) <= width
    begin = lines[0].index("r2")
    first = " ".join(line[:begin].strip() for line in lines[1:])
    assert first.replace("x x", "xx").split() == ["a", "name", "of", "[bold]", "words", "x" * 25]
    assert [line[begin:].split() for line in lines if line[begin:].strip()] == [["r2", "p"], ["0.1234", "0.001"],
                                                                                ["1", "2"]]


def test_cells_that_fit_a_terminal_are_those_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = aligned(ROWS)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert aligned(ROWS) == piped


def test_a_paragraph_loses_the_lines_of_its_source() -> None:
    words = [f"word{place}" for place in range(30)]
    lines = wrapped("\n".join(words), "- ", "  ").splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= WIDTH
    assert [line[:2] for line in lines] == ["- ", *["  "] * (len(lines) - 1)]
    assert " ".join(line[2:] for line in lines).split() == words


@pytest.mark.parametrize(("asked", "same"), [
    (["isomap"], ["methods", "isomap"]), (["pcoa"], ["methods", "mds"]), (["methods", "fa"], ["methods", "fa"]),
    (["umap"], ["methods", "umap"]), (["methods"], ["methods", "--help"]), (["methods", "umap"], ["methods", "umap"])])
def test_help_is_of_methods_too(mlcli: Caller, asked: list[str], same: list[str]) -> None:
    assert mlcli("help", *asked) == mlcli(*same)


def test_help_is_of_one_thing(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("help", "embed", "isomap")
    assert (called.code, called.out) == (2, "") and "E-HELP" in wording(called.err)
