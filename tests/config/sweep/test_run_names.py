"""Runs of a sweep are named by their values: readable, safe in a shell and a path, and all different."""

from pathlib import Path

import pytest

from mlcli.config.sweep import directory_names


def test_the_last_part_of_each_path() -> None:
    assert directory_names([{"method.neighbors.count": 8, "method.graph": "union"}]) == ["count=8,graph=union"]


def test_equal_last_parts_take_the_part_before() -> None:
    assert directory_names([{"method.neighbors.count": 8, "method.graph.count": 3}]) == [
        "neighbors.count=8,graph.count=3"]


def test_an_input_is_named_after_its_file_and_stands_first() -> None:
    assert directory_names([{"compute.seed": 1, "input.path": "data/a.csv.gz"}]) == ["a,seed=1"]
    assert directory_names([{"input.path": "x/a.csv"}, {"input.path": "y/a.csv"}]) == ["a-1", "a-2"]
    assert directory_names([{"input.path": "x/a.csv"}, {"input.path": "y/a.csv"}, {"input.path": "a-1.csv"}]) == [
        "1-a", "2-a", "3-a-1"]


@pytest.mark.parametrize(("value", "name"), [
    (True, "v=true"), (None, "v=null"), (0.5, "v=0.5"), (1, "v=1"), (["log1p", "sqrt"], "v=log1p+sqrt"),
    ({"count": 3, "rule": "union"}, "count=3,rule=union"), ("a/b", "v=a%2Fb"), ("a,b=c", "v=a%2Cb%3Dc"),
    ("été", "v=été"), ("a b\n", "v=a%20b%0A"), ({}, "v=%7B%7D"), ([], "v=")])
def test_values(value: object, name: str) -> None:
    assert directory_names([{"v": value}]) == [name]


def test_no_name_is_hidden_or_looks_like_an_option() -> None:
    assert directory_names([{"input.path": ".hidden.csv"}, {"input.path": "-x.csv"}, {"input.path": ".."}]) == [
        "%2Ehidden", "%2Dx", "%2E."]


def test_long_names_are_cut_and_stay_different(tmp_path: Path) -> None:
    names = directory_names([{"v": "é" * 400 + end} for end in ("a", "b")])
    assert len(set(names)) == 2 and all(len(name.encode()) <= 160 for name in names)
    for name in names:
        (tmp_path / name).mkdir()
