"""Options that are not given have the values that Typer would read for them; those of messages are read as written."""

import shlex

import pytest
from typer.core import TyperCommand

from mlcli.cli.group import command
from mlcli.cli.line.parsing import GIVEN, SET, spelling_of
from mlcli.config.build import outside_layer
from mlcli.config.layers import Layer

LINES = [
    ("embed", ["a.csv", "b.csv", "-k", "3", "--set", "x=1", "--jobs", "2", "--json"]), ("embed", ["a.csv"]),
    ("sample", ["torus", "--rows", "9"]), ("project", ["run", "new.csv", "-q"]), ("doctor", []),
    ("run", ["a.yaml", "--jobs", "2"])]


@pytest.mark.parametrize(("name", "words"), LINES)
def test_the_values_are_those_of_typer(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ours = command(name).make_context(name, [*words])
    assert GIVEN not in ours.meta and ours.command.get_params(ours)[:-1] == ours.command.params
    monkeypatch.setattr(type(ours.command), "get_params", TyperCommand.get_params)
    theirs = command(name).make_context(name, [*words])
    assert {name: value or None for name, value in ours.params.items()} == {
        name: value or None for name, value in theirs.params.items()}


@pytest.mark.parametrize("texts", [("low", "high"), ("very low", "low"), ("it's so", "no"), ("a*", "$HOME")])
def test_lists_in_assignments_are_what_a_shell_and_yaml_read(texts: tuple[str, ...]) -> None:
    flag, assignment = shlex.split(spelling_of(frozenset([SET]))("input.answers", ",".join(texts)))
    assert flag == SET
    assert outside_layer({}, [assignment], Layer()).values == {"input": {"answers": [*texts]}}
