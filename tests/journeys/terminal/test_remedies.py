"""What the line of an error says to do can be done: in the options of the command, with a method that takes it."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.line.parsing import in_flags
from mlcli.config.run_config import option_rows
from mlcli.errors import option, options_in
from tests.journeys.support import Caller
from tests.package import FILES, texts
from tests.wording import Wording

APART = "a,b,c\n0,3,4\n3,0,5\n4,5,0\n"
JOB = "input: {path: data.csv}\nmethod: {name: pca}\n"


@pytest.fixture(autouse=True)
def files() -> None:
    Path("apart.csv").write_text(APART, encoding="utf-8")
    Path("words.csv").write_text("id,color\np,red\nq,blue\nr,red\n", encoding="utf-8")
    Path("uneven.csv").write_text("a;b\n1,5;2\n3\n", encoding="utf-8")
    Path("commas.csv").write_text("a;b\n1,500;2\n3;4\n", encoding="utf-8")
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    np.savez("several.npz", first=np.eye(3)[:2], second=np.eye(3)[:2])


@pytest.mark.parametrize(("command", "remedy"), [
    ("embed apart.csv", "--dissimilarities --method mds, or --kind features"),
    ("embed -m isomap apart.csv", "--dissimilarities, or --kind features"),
    ("plan -m fa apart.csv", "--dissimilarities --method mds, "),
    ("explore apart.csv -o out", "--dissimilarities, or --kind features"),
    ("run job.yaml --set input.path=apart.csv",
     "--set input.kind=dissimilarities --set method.name=mds, or --set input.kind=features"),
    ("embed words.csv", "--metric gower --method mds --columns NAME"),
    ("embed -m isomap words.csv", ": --metric gower --columns NAME"),
    ("check words.csv", ": --metric gower --columns NAME"),
    ("run job.yaml --set input.path=words.csv",
     "--set method.metric.name=gower --set method.name=mds --set input.columns=[NAME]"),
    ("embed uneven.csv", "--set input.separator=';' --set input.decimal=',', "),
    ("embed commas.csv", " --set input.decimal=','"),
    ("embed several.npz", "--key first"), ("run job.yaml --set input.path=several.npz", "--set input.key=first"),
    ("embed data.csv --dissimilarities -m mds", "--kind or --dissimilarities"),
    ("run job.yaml --set input.kind=dissimilarities --set method.name=mds",
     "input.kind or --set input.kind=dissimilarities"),
    ("report data.csv", "mlcli embed data.csv"), ("run data.csv", ": mlcli embed data.csv"),
    ("embed job.yaml", "mlcli run job.yaml"), ("check job.yaml", "mlcli run job.yaml"),
    ("verify .", ": mlcli embed .")])
def test_a_remedy_is_one_that_the_command_takes(mlcli: Caller, command: str, remedy: str, wording: Wording) -> None:
    called = mlcli(*command.split())
    assert called.code not in (0, 1, 2) and remedy in called.err and wording(called.err), called.err


def test_what_the_next_configuration_would_be_refused_for_is_said(mlcli: Caller) -> None:
    line = mlcli("embed", "-m", "trimap", "-k", "3", "--set", "method.least=1", "data.csv").err.splitlines()[-1]
    assert "E-CONFIG" in line and " tsne" in line and " 'method.least'" in line


@pytest.mark.parametrize("command", ["embed -m som data.csv", "report data.csv", "embed -m som nothing.csv",
                                     "embed -m isomap -k 4,6,8 data.csv"])
def test_nothing_else_is_said_where_a_run_would_not_be_refused(mlcli: Caller, command: str) -> None:
    assert "besides" not in mlcli(*command.split()).err


def test_a_matrix_of_the_columns_is_not_projected(mlcli: Caller) -> None:
    mlcli.finished("embed", "data.csv", "-q", "-o", "run")
    spread = np.cov(np.genfromtxt("data.csv", delimiter=",", skip_header=1)[:, 1:].T)
    rows = [",".join([name, *map(repr, row)]) for name, row in zip("xyz", spread.tolist(), strict=True)]
    Path("spread.csv").write_text("\n".join([",x,y,z", *rows, ""]), encoding="utf-8")
    called = mlcli("project", "run", "spread.csv")
    assert called.code == 65 and "mlcli embed --kind covariance --method pca spread.csv" in called.err


def test_a_file_in_a_proposed_command_is_one_word_of_a_shell(mlcli: Caller) -> None:
    """Each command is refused with the one that takes the file, whose name holds a blank."""
    mlcli.finished("embed", "data.csv", "-q", "-o", "run")
    Path("my data.csv").write_text("name,x,y,z\nx,4,1,1\ny,1,4,1\nz,1,1,4\n", encoding="utf-8")
    for command in (["report"], ["project", "run"], ["explore", "--kind", "covariance"]):
        line = mlcli(*command, "my data.csv").err.splitlines()[-1]
        assert shlex.split(line[line.rindex("mlcli embed "):])[-1] == "my data.csv", line


@pytest.mark.medium
def test_messages_name_options_that_there_are() -> None:
    """A mark with another path would be spelled as an option that no command takes."""
    named = {path for file in FILES for text in texts(file) for path, _ in options_in(text)}
    assert len(named) > 30 and named <= {row.path for row in option_rows()}, named - {row.path for row in option_rows()}


@pytest.mark.parametrize("value", ["it's id", "a b", "plain", "x,y", "50%", "{curly}", "a;b", "ünï"])
def test_a_value_in_a_message_is_one_word_of_a_shell(value: str) -> None:
    assert shlex.split(in_flags(option("input.id_column", value))) == ["--id-column", value]
    assert shlex.split(in_flags(option("input.separator", value))) == ["--set", f"input.separator={value}"]
