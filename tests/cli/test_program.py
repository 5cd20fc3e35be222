"""The program starts lightly, knows its commands, and helps."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.group import COMMANDS
from tests.journeys.support import Caller
from tests.native.support import needs_native
from tests.processes import neutral, process, python
from tests.wording import Wording

HEAVY = ("numpy", "scipy", "pyarrow", "pydantic", "yaml", "rich", "threadpoolctl")
STATE = "import sys; from mlcli.cli.program import run; run(sys.argv[1:]); print([m for m in sys.modules if m in {}])"


def imported(*arguments: str) -> list[str]:
    """The heavy modules that a call imports."""
    return eval(python(STATE.format(HEAVY), *arguments).splitlines()[-1])


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_root_imports_nothing_heavy(argument: str) -> None:
    assert imported(argument) == []


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_told_without_typer(flag: str) -> None:
    """Typer takes longer to load than the rest of such a call."""
    code = ("import sys; from mlcli.cli.program import run; assert run(sys.argv[1:]) == 0; "
            "print([m for m in ('typer', 'mlcli.cli.group') if m in sys.modules])")
    assert python(code, flag).splitlines() == ["mlcli 0.1.0", "[]"]


def test_the_settings_for_blas_import_nothing_heavy() -> None:
    code = ("import sys; from mlcli.base.machine import blas; blas.export([]); "
            f"print([m for m in sys.modules if m in {HEAVY}])")
    assert python(code) == "[]\n"


@pytest.mark.medium
def test_a_command_imports_what_it_needs_only() -> None:
    light = {"pydantic"}  # newer Typers import it to read arguments
    assert set(imported("embd")) <= light
    assert set(imported("sample", "--help")) <= light | {"numpy", "yaml"}
    assert set(imported("methods")) <= light | {"numpy", "scipy", "yaml"}
    assert "pyarrow" not in imported("embed", "--help")


@pytest.mark.medium
def test_a_small_table_needs_no_arrow(tmp_path: Path) -> None:
    """Arrow takes as long to load as such a table to embed."""
    np.savetxt(tmp_path / "data.csv", np.random.default_rng(0).random((60, 3)), delimiter=",")
    found = imported("embed", str(tmp_path / "data.csv"), "-q", "-m", "isomap", "-o", str(tmp_path / "run"))
    assert (tmp_path / "run" / "run.json").is_file() and not {"scipy", "pyarrow", "rich"} & set(found)


@pytest.mark.medium
@pytest.mark.parametrize("method", ["isomap", "laplacian"])
def test_a_method_of_an_array_imports_no_library_that_it_does_not_need(tmp_path: Path, method: str) -> None:
    """SciPy takes longer to load than thousands of points take to embed."""
    np.save(tmp_path / "data.npy", np.random.default_rng(0).random((1500, 2)))
    found = imported("embed", str(tmp_path / "data.npy"), "-q", "--method", method, "-o", str(tmp_path / "run"))
    assert (tmp_path / "run").is_dir() and not {"scipy", "pyarrow", "rich"} & set(found)


@needs_native
def test_a_run_imports_the_parts_of_the_program_that_it_needs(tmp_path: Path) -> None:
    """A part that a run does not use is not loaded."""
    np.savetxt(tmp_path / "data.csv", np.random.default_rng(0).random((60, 3)), delimiter=",")
    code = "import sys; from mlcli.cli.program import run; run(sys.argv[1:]); print(*sys.modules)"
    loaded = python(code, "embed", tmp_path / "data.csv", "-q", "-m", "isomap", "-o", tmp_path / "run").split()
    others = {f"mlcli.{name}" for name in ("cli.batch.runs", "data.read.blocks", "data.read.new_rows",
                                           "methods.local.lle", "engine.cluster.connect", "report.paper.drawings",
                                           "core.chain.columns", "core.metrics.counts")}
    assert all(importlib.util.find_spec(name) for name in others)
    assert not others & set(loaded) and "numpy.ma" not in loaded  # which quantiles and sets of NumPy import


@pytest.mark.medium
def test_an_image_of_many_points_needs_no_masked_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "data.npy", np.random.default_rng(0).random((6000, 3)))
    code = "import sys; from mlcli.cli.program import run; run(sys.argv[1:]); print(*sys.modules)"
    loaded = python(code, "embed", tmp_path / "data.npy", "-q", "-m", "isomap", "-o", tmp_path / "run").split()
    assert "mlcli.report.figures.density" in loaded and "numpy.ma" not in loaded


@pytest.mark.parametrize("arguments", [["--version"], ["-V"], ["-V", "embed", "data.csv"]])
def test_version_is_one_line(mlcli: Caller, arguments: list[str]) -> None:
    called = mlcli(*arguments)
    assert (called.code, called.out, called.err) == (0, "mlcli 0.1.0\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_root_help_lists_every_command_in_full(mlcli: Caller, arguments: list[str]) -> None:
    called = mlcli(*arguments)
    assert called.code == 0
    for name, sentence in COMMANDS.items():
        assert f"  {name} " in called.out and sentence in called.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_starts_with_its_sentence(mlcli: Caller, name: str) -> None:
    called = mlcli(name, "-h")
    assert called.code == 0
    assert called.out.splitlines()[2].strip() == COMMANDS[name]
    function = getattr(importlib.import_module(f"mlcli.cli.commands.{name}"), name)
    assert function.__doc__.splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize(("arguments", "words"), [
    (["embd"], ["E-COMMAND", "'embd'", "'embed'?"]),
    (["zzz"], ["E-COMMAND", "'zzz'", "mlcli --help"]),
    (["plot", "run"], ["E-COMMAND", "'plot'", "`mlcli report RUN`"]),
    (["leiden", "data.csv"], ["E-COMMAND", "mlcli export RUN --into FILE"]),
    (["cfa", "data.csv"], ["E-COMMAND", "the closest method is fa"]), (["version"], ["E-COMMAND", "mlcli --version"]),
    (["adonis2", "dune.csv"], ["E-COMMAND", "mlcli relate RUN --with FILE"]),
    (["pac", "data.csv"], ["E-COMMAND", "'pac'", "'mlcli pca data.csv'?"]),
    (["t_snee"], ["E-COMMAND", "'mlcli tsne DATA'?"]),
    (["sweep.yaml"], ["E-COMMAND", "'mlcli run sweep.yaml'?"]),
    (["sample", "torus", "--rows", "x"], ["E-NUMBER", "'x'", "; --rows; ", "500"]),
    (["sample", "torus", "--noise", "x"], ["E-NUMBER", "'x'", "; --noise; ", "0.1"]),
])
def test_what_is_no_command_and_no_number_is_one_line_and_2(mlcli: Caller, arguments: list[str],
                                                            words: list[str], wording: Wording) -> None:
    called = mlcli(*arguments)
    assert (called.code, called.out, called.err.count("\n")) == (2, "", 1)
    assert wording(called.err) == [words[0]] and all(word in called.err for word in words)


@pytest.mark.parametrize(("arguments", "words"), [  # in the words of Typer
    (["--verison"], ["--verison", "--version"]),
    (["embed"], ["Missing argument", "see mlcli embed --help"]),
    (["embed", "data.csv", "--neighbrs", "3"], ["--neighbrs", "--neighbors"]),
    (["embed", "data.csv", "-k"], ["Option '-k' requires an argument"]),
    (["check", "a", "b"], ["unexpected extra argument", "(b)"]),
    (["embed", "data.csv", "--progress", "foo"], ["'foo' is not one of 'auto', 'bar', 'log', 'json', 'none'"]),
])
def test_wrong_usage_is_one_line_and_2(mlcli: Caller, arguments: list[str], words: list[str]) -> None:
    called = mlcli(*arguments)
    assert (called.code, called.out) == (2, "")
    assert called.err.count("\n") == 1
    assert called.err.startswith("mlcli: error[E-") and "Value error" not in called.err
    for word in words:
        assert word in called.err


def complete(tmp_path: Path, *arguments: str, **environment: str) -> tuple[int | None, str, str]:
    """How a call ends in a home of its own without SHELL, unless that is given."""
    kept = {name: value for name, value in neutral().items() if name not in ("SHELL", "HOME")}
    started = process(*arguments, env={**kept, "HOME": str(tmp_path / "home"), **environment})
    out, err = started.communicate(timeout=60)
    return started.returncode, out.decode(), err.decode()


@pytest.mark.medium
@pytest.mark.parametrize(("arguments", "environment"), [
    (["zsh"], {"SHELL": "/bin/bash"}), *(pytest.param(*some, marks=pytest.mark.slow) for some in (
        (["zsh"], {}), ([], {"SHELL": "/usr/bin/zsh"})))])
def test_completion_is_for_the_shell_that_is_named(tmp_path: Path, arguments: list[str],
                                                   environment: dict[str, str]) -> None:
    code, out, err = complete(tmp_path, "--show-completion", *arguments, **environment)
    assert (code, out.splitlines()[0], err) == (0, "#compdef mlcli", "")
    assert complete(tmp_path, "--install-completion", *arguments, **environment)[0] == 0
    assert "_mlcli_completion" in (tmp_path / "home/.zfunc/_mlcli").read_text()


@pytest.mark.medium
def test_completion_for_no_shell_is_refused(tmp_path: Path) -> None:
    code, out, err = complete(tmp_path, "--install-completion")
    assert (code, out) == (2, "") and "[E-SHELL]" in err and "as in --install-completion bash" in err
    code, out, err = complete(tmp_path, "--install-completion", "bash", HOME="/proc/nowhere")
    assert (code, out) == (73, "") and "[E-COMPLETION]" in err and "--show-completion prints it" in err


@pytest.mark.medium
def test_a_shell_is_told_what_can_follow(tmp_path: Path) -> None:
    asked = {"_MLCLI_COMPLETE": "complete_bash", "COMP_WORDS": "mlcli embed --thr", "COMP_CWORD": "2"}
    assert complete(tmp_path, **asked)[1].split() == ["--threads"]
