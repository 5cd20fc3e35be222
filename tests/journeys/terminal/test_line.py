"""The command line: what is said twice, several values, completed values, help on a narrow terminal, JSON."""

import json
import os
import pty
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from mlcli import errors
from mlcli.cli.group import COMMANDS
from mlcli.cli.line.completion import completer_of
from mlcli.cli.program import run
from mlcli.methods import METHODS
from tests.journeys.support import Caller
from tests.processes import call, neutral, program
from tests.wording import Wording

BASH = shutil.which("bash")


@pytest.mark.parametrize(("arguments", "said"), [
    (["-k", "4", "-k", "5"], "-k is given twice; -k or --neighbors; "),
    (["--neighbors", "4", "-k=5", "-k", "6"], "-k is given 3 times; "),
    (["-o", "a", "--output", "a"], "-o is given twice; -o or --output; "),
])
def test_an_option_of_one_value_is_given_once(mlcli: Caller, arguments: list[str], said: str) -> None:
    called = mlcli("embed", "data.csv", "-m", "isomap", *arguments)
    assert called.code == 2 and called.err.startswith(f"mlcli: error[E-TWICE]: {said}")
    assert "docs/sweeps.md" in called.err and not Path("runs").exists()


def test_options_that_are_repeatable_or_switches_may_come_again(mlcli: Caller) -> None:
    Path("two.csv").write_text("a,b,x,y\nu,v,1,2\nv,u,2,3\nu,u,3,5\nv,v,5,5\n", encoding="utf-8")
    called = mlcli("embed", "two.csv", "-q", "-q", "--label-column", "a", "--label-column", "b", "--set",
                   "compute.seed=1", "--set", "prepare.scale=standard", "-o", "-")
    assert (called.code, called.err) == (0, "") and called.out.startswith("row,a,b,y1,y2\n")


@pytest.mark.parametrize(("arguments", "runs"), [
    (["-m", "isomap", "--set", "method.neighbors.count=8,9", "-p", "2"], {"count=8", "count=9"}),
    (["-m", "isomap", "-k", "[8, 9]"], {"count=8", "count=9"}),
    (["-m", "mds", "--set", "method.metric.name=euclidean,cityblock", "--id-column", "the key"],
     {"name=euclidean", "name=cityblock"}),
    (["--set", "method.name=pca,mds"], {"name=pca", "name=mds"}),
])
def test_several_values_are_answered_by_a_command_that_makes_the_runs(mlcli: Caller, arguments: list[str],
                                                                      runs: set[str]) -> None:
    Path("data.csv").write_text(Path("data.csv").read_text().replace(",x", "the key,x", 1), encoding="utf-8")
    called = mlcli("embed", "data.csv", "-o", "out", *arguments)
    assert called.code == 78 and not Path("out").exists()
    echo, section, *words = shlex.split(called.err.rpartition("a run for each is a sweep: ")[2])
    assert (echo, words[:4]) == ("echo", ["|", "mlcli", "run", "-"])
    Path("sweep.yaml").write_text(section, encoding="utf-8")
    made = mlcli("run", "sweep.yaml", "-q", *words[4:])
    assert made.code == 0, made.err
    assert {path.name for path in Path("out").iterdir() if path.is_dir()} == runs


def test_a_list_without_brackets_is_answered_by_the_list(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "--set", "report.image=28,28")
    assert called.code == 78 and called.err.endswith(" --set report.image=[28,28]\n")


def test_the_k_of_cmdscale_is_the_number_of_axes(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("embed", "data.csv", "-m", "cmdscale", "-k", "3")
    assert called.code == 78 and "E-CONFIG" in wording(called.err)


def test_several_values_in_a_file_are_answered_by_what_to_write_there(mlcli: Caller, wording: Wording) -> None:
    Path("run.yaml").write_text("input: {path: data.csv}\nmethod: {name: isomap, neighbors: {count: [8, 9]}}\n")
    said = mlcli("run", "run.yaml").err
    assert wording(said) and " sweep: {method.neighbors.count: [8, 9]} " in said


@pytest.mark.parametrize(("line", "words"), [
    ("mlcli embed data.csv -m is", ["isomap"]),
    ("mlcli embed -m lle --set method.neighbors.", [f"method.neighbors.{name}=" for name in (
        "count", "radius", "pieces", "search")]),
    ("mlcli embed --set method.graph = m", ["mutual"]),  # as Bash divides it
    ("mlcli embed --set method.graph =", ["union", "mutual"]),
    ("mlcli check --metric bra", ["braycurtis"]),
    ("mlcli help ver", ["verify"]),
])
def test_values_are_completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str,
                              words: list[str]) -> None:
    for name, value in {"_MLCLI_COMPLETE": "complete_bash", "COMP_WORDS": line,
                        "COMP_CWORD": str(line.count(" "))}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):  # as Typer ends what a shell asks
        run([])
    assert capsys.readouterr().out.split() == words


@pytest.mark.medium
@pytest.mark.skipif(BASH is None, reason="there is no Bash")
@pytest.mark.parametrize(("given", "completed"), [
    ("mlcli embed --set method.neighbors.r", "method.neighbors.radius=x"),
    pytest.param("mlcli embed --thr", "--threads x", marks=pytest.mark.slow)])
def test_a_space_follows_what_is_complete(tmp_path: Path, given: str, completed: str) -> None:
    """As typed at a terminal, a Tab and one more letter: a value stands directly behind its key."""
    script = call("--show-completion", "bash").stdout
    (tmp_path / "script").write_text(f"{script}\nPATH={Path(program()[0]).parent}:$PATH\nPS1=ready:", encoding="utf-8")
    ours, its = pty.openpty()
    with subprocess.Popen([str(BASH), "--noprofile", "--rcfile", tmp_path / "script", "-i"], stdin=its, stdout=its,
                          stderr=its, start_new_session=True, env=neutral(TERM="dumb", INPUTRC="/dev/null")) as shell:
        os.close(its)
        shown_until(ours, "ready:")
        os.write(ours, f"{given}\tx".encode())
        shown = shown_until(ours, "x")
        shell.kill()
    os.close(ours)
    assert shown.endswith(completed)


def shown_until(terminal: int, end: str) -> str:
    """What a terminal shows until it ends with these words, or for 30 seconds."""
    shown, until = "", time.monotonic() + 30
    while not shown.endswith(end) and time.monotonic() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 4096).decode()
    return shown


def test_lists_are_completed_at_their_last_item() -> None:
    transforms = ["sqrt", "log1p", "clr"]
    assert completer_of(lambda: METHODS)("l") == [name for name in METHODS if name.startswith("l")]
    assert completer_of(lambda: transforms, commas=True)("sqrt,") == ["sqrt,sqrt", "sqrt,log1p", "sqrt,clr"]
    assert completer_of(lambda: ["sqrt"])("sqrt,") == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_a_narrow_terminal(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = mlcli(*[name] * bool(name), "--help").out.splitlines()
    assert len(lines) > 8 and [line for line in lines if len(line) > 80] == []
    assert mlcli("help", *[name] * bool(name)).out.splitlines() == lines


def test_help_of_no_command_is_refused(mlcli: Caller, wording: Wording) -> None:
    assert "E-COMMAND" in wording(mlcli("help", "embd").err)


def test_a_model_has_a_page_with_every_command_method_and_exit_code(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("help", "--agent")
    assert called.code == 0 and called.out.startswith("---\nname: mlcli\n")
    assert all(f"- **{name}**: {sentence}" in called.out for name, sentence in COMMANDS.items())
    assert all(f"  - `{name}`: " in called.out for name in METHODS)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MlcliError)]
    assert all(f"- {kind.exit_code}: " in called.out for kind in kinds) and "mlcli plan " in called.out
    assert mlcli("help", "embed", "--agent").code == 2
    assert wording(mlcli("help", "embed", "--agent").err) == ["E-HELP"]


def test_the_version_has_a_short_flag(mlcli: Caller) -> None:
    assert mlcli("-V") == mlcli("--version")


@pytest.mark.medium
def test_the_document_of_a_run_is_its_headline_unless_all_is_asked_for(mlcli: Caller) -> None:
    given = ("embed", "--force", "data.csv", "-p", "3")
    short, full = (mlcli(*given, "--json", *more) for more in ([], ["full"]))
    told, known = json.loads(short.out), json.loads(full.out)
    assert short.out.count("\n") < 40 < full.out.count("\n")
    assert mlcli(*given, "--json=full").out.count("\n") == full.out.count("\n")
    assert told["eigenvalues"] == known["eigenvalues"] and len(told["eigenvalues"]) == 3
    assert told["quality"].items() <= known["quality"].items() and told["input"].items() <= known["input"].items()
    assert told.keys() < known.keys() and told["certificate"] == "pass" and "stages" in known
    assert mlcli("embed", "--json", "data.csv", "--force").code == 0  # what follows is no word of it


def test_several_runs_have_a_line_each(mlcli: Caller) -> None:
    called = mlcli("embed", "data.csv", "absent.csv", "-o", "out", "--json")
    lines = called.out.splitlines()
    assert (called.code, len(lines)) == (66, 4)
    one, other = json.loads(called.out)["runs"]
    assert (one["run"], one["certificate"], other["exit"], other["error"]["code"]) == ("out/data", "pass", 66,
                                                                                      "E-INPUT-MISSING")
