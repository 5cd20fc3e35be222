"""Every way to fail has its exit code and one line."""

import errno
import json
import re
from functools import partial
from pathlib import Path

import pytest

from mlcli import errors
from mlcli.cli.screen.failure import ErrorForm, attempt, understood
from mlcli.errors import MlcliError, escaped
from mlcli.process.signals import Stopped
from tests.journeys.support import Caller
from tests.wording import Wording

BRANCHES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MlcliError)]


def failing(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("kind", BRANCHES)
def test_a_branch_of_the_tree_is_its_code_and_one_line(capsys: pytest.CaptureFixture[str],
                                                       kind: type[MlcliError]) -> None:
    error = kind("RAGGED", "row 3 has 4 values", where="data.csv:4", hint="count the commas")
    assert attempt(lambda: failing(error), ErrorForm()) == kind.exit_code
    said = "data.csv:4: row 3 has 4 values" if kind.place_first else "row 3 has 4 values; data.csv:4"
    assert capsys.readouterr() == ("", f"mlcli: error[E-RAGGED]: {said}; count the commas\n")


def test_what_was_meant_stands_next_to_the_word_and_a_file_that_is_missing_first(mlcli: Caller,
                                                                                 wording: Wording) -> None:
    Path("data.csv").touch()
    for given, first, meant in ((("embed", "dta.csv"), "E-INPUT-MISSING]: dta.csv: ", ": did you mean 'data.csv'?\n"),
                                (("dta.csv",), "E-INPUT-MISSING]: dta.csv: ", ": did you mean 'data.csv'?\n"),
                                (("embed", "zzzzzz.npy"), "E-INPUT-MISSING]: zzzzzz.npy: ", "\n")):
        said = mlcli(*given).err
        assert wording(said) and said.startswith(f"mlcli: error[{first}") and said.endswith(meant)


@pytest.mark.parametrize("arguments", [
    ("check", "{}"), ("plan", "{}"), ("verify", "{}"), ("collect", "{}"), ("run", "{}"),
    ("embed", "iris.csv", "-m", "cca", "--set", "input.view.path={}")], ids=lambda arguments: arguments[0])
def test_a_name_that_no_file_can_have_is_a_missing_input(mlcli: Caller, arguments: tuple[str, ...],
                                                         wording: Wording) -> None:
    Path("iris.csv").write_text("x,y\n1,2\n2,3\n4,3\n")
    called = mlcli(*(argument.format("y" * 5000) for argument in arguments))
    assert called.code == 66
    assert wording(called.err) == ["E-NAME-LENGTH"] and f": {'y' * 60}: " in called.err


def test_the_codes_are_those_of_the_table() -> None:
    assert sorted(kind.exit_code for kind in BRANCHES) == [1, 2, 65, 66, 69, 73, 74, 75, 78, 80, 81, 82, 83, 124,
                                                                129, 130, 131, 137, 140, 142, 143, 152]


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.DataError("RAGGED", "row 3 has\n4 values", where="data.csv:4", hint="count")
    assert attempt(lambda: failing(error), ErrorForm(json=True)) == 65
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert json.loads(err) == {"error": {"code": "E-RAGGED", "exit": 65, "what": "row 3 has\n4 values",
                                         "where": "data.csv:4", "hint": "count"}}


@pytest.mark.parametrize("form", [ErrorForm(), ErrorForm(json=True)])
def test_a_long_part_of_a_message_is_cut_with_a_count(capsys: pytest.CaptureFixture[str], form: ErrorForm) -> None:
    error = errors.DataError("RAGGED", "9" * 100_000, where="data.csv:4", hint="count the commas")
    assert attempt(lambda: failing(error), form) == 65
    err = capsys.readouterr().err
    assert len(err) < 2200 and "9... (98,000 more characters)" in err and "count the commas" in err


def test_an_error_that_is_its_own_cause_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.DataError("RAGGED", "row 3 has 4 values")
    error.__cause__, error.__context__ = None, error
    around = errors.OutputRefused("OUTPUT-EXISTS", "the output exists")
    around.__cause__ = around
    assert [attempt(partial(failing, each), ErrorForm()) for each in (error, around)] == [65, 73]
    assert capsys.readouterr().err.count("\n") == 2


@pytest.mark.parametrize("arguments", [["--json"], ["--progress", "json"], ["--progress=json"]])
def test_json_is_asked_for_by_flags(mlcli: Caller, arguments: list[str]) -> None:
    called = mlcli("embed", "absent.csv", *arguments)
    assert called.code == 66
    assert json.loads(called.err.splitlines()[-1])["error"]["exit"] == 66


def test_json_is_asked_for_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCLI_PROGRESS", "json")
    assert ErrorForm.of(["embed", "x"]) == ErrorForm(json=True)
    assert ErrorForm.of(["embed", "x", "--progress", "log"]) == ErrorForm()


def test_after_two_dashes_nothing_is_a_flag() -> None:
    assert ErrorForm.of(["embed", "--", "--json"]) == ErrorForm()


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(("error", "code", "name"), [
    (MemoryError("Unable to allocate 7.28 TiB"), 137, "E-OUT-OF-MEMORY"),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), 137, "E-OUT-OF-MEMORY"),
    (ImportError("librt.so.1: failed to map segment from shared object"), 137, "E-OUT-OF-MEMORY"),
    (ImportError("_sfc64.so: cannot map zero-fill pages: Cannot allocate memory"), 137, "E-OUT-OF-MEMORY"),
    (chained(ImportError("Importing the numpy C-extensions failed"), ImportError(
        "_multiarray_umath.so: failed to map segment from shared object")), 137, "E-OUT-OF-MEMORY"),
    (SystemError("error return without exception set"), 137, "E-OUT-OF-MEMORY"),
    (SystemError("bad argument to internal function"), 1, "E-INTERNAL"),
    (ImportError("libz.so.1: cannot open shared object file"), 1, "E-INTERNAL"),
    (OSError(errno.ENOSPC, "No space left on device", "out.csv"), 74, "E-STORAGE"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), 74, "E-STORAGE"),
    (OSError(errno.EIO, "Input/output error"), 74, "E-STORAGE"),
    (OSError("80000 requested and 32752 written"), 74, "E-STORAGE"),
    (OSError(errno.EACCES, "Permission denied"), 1, "E-INTERNAL"),
    (KeyError("x"), 1, "E-INTERNAL"),
    (RecursionError("maximum recursion depth"), 1, "E-INTERNAL"),
])
def test_other_exceptions(error: Exception, code: int, name: str) -> None:
    known = understood(error)
    assert (known.exit_code, known.code) == (code, name)


def test_a_bug_leaves_its_traceback_in_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert attempt(lambda: failing(ZeroDivisionError("by\nzero")), ErrorForm()) == 1
    line = capsys.readouterr().err
    found = re.fullmatch(r"mlcli: error\[E-INTERNAL\]: ZeroDivisionError: by\\nzero; traceback in (.+\.log); "
                         r"this is a bug; please report it with that file\n", line)
    assert found
    assert Path(found[1]).parent == tmp_path
    assert "in failing" in Path(found[1]).read_text()


def test_a_bug_is_told_where_nothing_can_be_written(
        capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wording: Wording) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert attempt(lambda: failing(KeyError("x")), ErrorForm()) == 1
    assert "E-INTERNAL" in wording(capsys.readouterr().err)


def test_debug_shows_the_traceback_and_the_line(mlcli: Caller) -> None:
    called = mlcli("embed", "absent.csv", "--debug")
    assert called.code == 66
    assert called.err.startswith("Traceback") and "\nmlcli: error[E-" in called.err


@pytest.mark.parametrize(("text", "shown"), [
    ("a\nb", "a\\nb"), ("\x1b[31m", "\\x1b[31m"), ("\u202egnp", "\\u202egnp"), ("\x00\t", "\\x00\\t"), ("é √λ", "é √λ"),
    ("\udcff", "\\udcff"), ("\x85\u2028", "\\x85\\u2028")])
def test_control_characters_are_shown_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_names_of_users_cannot_break_the_line(mlcli: Caller) -> None:
    called = mlcli("embed", "a\n\x1b[2Jb.csv")
    assert called.code == 66
    assert called.err.count("\n") == 1 and "\x1b" not in called.err
    called = mlcli("embed", "data.csv", "--set", "compute.seed='\x1b\n'")
    assert called.code == 78
    assert called.err.count("\n") == 1 and "\x1b" not in called.err


def test_closed_pipes_and_signals_are_not_errors_of_the_work() -> None:
    for error in (BrokenPipeError(), Stopped(15), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            attempt(lambda error=error: failing(error), ErrorForm())


@pytest.mark.parametrize(("arguments", "code", "name"), [
    (["embed", "absent.csv"], 66, "E-INPUT-MISSING"),
    (["embed", "taken"], 66, "E-NOT-A-FILE"),
    (["embed", "ragged.csv"], 65, "E-RAGGED"),
    (["run", "absent.yaml"], 66, "E-NO-CONFIG"),
    (["run", "."], 66, "E-NO-CONFIG"),
    (["run", "twice.yaml"], 78, "E-YAML"),
    (["embed", "data.csv", "-o", "taken"], 73, "E-OUTPUT-EXISTS"),
    (["embed", "data.csv", "-m", "isomap", "-k", "30"], 78, "E-"),
    (["embed", "apart.csv", "-m", "isomap", "-k", "2"], 81, "E-"),
    (["embed", "data.csv", "-m", "mds", "--memory-limit", "1K"], 82, "E-MEMORY"),
    (["project", ".", "data.csv"], 66, "E-NO-RUN"),
    (["methods", "isomp"], 2, "E-METHOD"),
    (["sample", "torsu"], 2, "E-SAMPLE"),
    (["embed", "-"], 2, "E-STDIN-TERMINAL"),
    (["embed", "data.csv", "-o", "-", "--format", "npy"], 2, "E-STDOUT"),
])
def test_failures_of_commands(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int,
                              name: str) -> None:
    monkeypatch.setattr("sys.stdin", None)
    Path("ragged.csv").write_text(",x,y\na,1,2\nb,3\n")
    Path("twice.yaml").write_text("input: {path: data.csv}\ninput: {path: data.csv}\n")
    Path("apart.csv").write_text("x\n0\n1\n2\n100\n101\n102\n")
    Path("taken").mkdir()
    Path("taken/file").touch()
    before = sorted(Path().iterdir())
    called = mlcli(*arguments)
    assert called.code == code, called.err
    assert called.out == ""
    assert called.err.count("\n") == 1
    assert called.err.startswith(f"mlcli: error[{name}")
    assert sorted(Path().iterdir()) == before


def loading() -> None:
    """A module in C++ that a signal meets while it is loaded."""
    try:
        raise Stopped(15)
    except Stopped as stop:
        raise ImportError("initialization failed") from stop


def test_a_signal_of_which_a_library_makes_an_error_is_a_signal() -> None:
    with pytest.raises(Stopped) as caught:
        attempt(loading, ErrorForm())
    assert caught.value.number == 15
