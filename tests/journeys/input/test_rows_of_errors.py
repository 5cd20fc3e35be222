"""An error found after some rows were left out names the row by its number in the file, and by its id."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.core.kernels.functions import CosineKernel
from mlcli.core.kernels.tiles import TILE, Tiles
from mlcli.errors import GeometryError, MlcliError
from mlcli.methods.kernel.kpca import KernelPCA
from tests.journeys.support import Called, Caller
from tests.wording import Wording

SHARES = 0.1 + 0.8 * np.random.default_rng(1).random((20, 3))
GAP, WRONG = 3, 7  # rows from 0


def write(path: str, cells: object, order: tuple[int, ...] = tuple(range(20)), gap: bool = True) -> None:
    """A table whose row 8 of some order holds these cells, and where asked for row 4 a gap."""
    values = SHARES.copy()
    values[WRONG] = cells
    if gap:
        values[GAP, 1] = np.nan
    lines = [f"n{row},{','.join(map(str, values[row]))}" for row in order]
    Path(path).write_text("\n".join([f"id,{','.join(path[0] + str(j) for j in range(3))}", *lines, ""]))


def embed(mlcli: Caller, *options: str, command: str = "embed") -> Called:
    """A run of the table without its incomplete rows."""
    return mlcli(command, "data.csv", "--id-column", "id", "--set", "prepare.missing=drop", *options)


@pytest.mark.parametrize(("cells", "options", "said"), [
    ((1, -2, 3), ("-m", "mds", "--metric", "braycurtis"), "column 'd1': braycurtis "),
    ((0, 0, 0), ("-m", "isomap", "-k", "5", "--metric", "cosine"), "cosine "),
    ((1, -2, 3), ("--transform", "sqrt"), "column 'd1': sqrt "),
    ((0, 0, 0), ("--transform", "total"), "total "),
    ((0, 0, 0), ("-m", "kpca", "--kernel", "cosine"), "cosine "),
    ((0, 7, 0), ("-m", "vae", "--set", "method.likelihood.name=bernoulli"), "column 'd1': 7 "),
])
def test_a_fit_names_the_row_of_the_file(mlcli: Caller, cells: object, options: tuple[str, ...], said: str,
                                         wording: Wording) -> None:
    write("data.csv", cells)
    called = embed(mlcli, *options)
    assert called.code in (65, 81)
    assert f"row 8 ('n7'), {said}" in called.err and wording(called.err)


@pytest.mark.parametrize(("command", "method"), [("plan", ("-m", "isomap")), ("check", ())])
def test_so_do_plan_and_checkup(mlcli: Caller, command: str, method: tuple[str, ...]) -> None:
    write("data.csv", (1, -2, 3))
    called = embed(mlcli, *method, "--metric", "braycurtis", command=command)
    assert (called.code, "row 8 ('n7'), column 'd1'" in called.err) == (65, True)


@pytest.mark.parametrize(("cells", "options", "said"), [
    ((1, -2, 3), ("-m", "mds", "--metric", "braycurtis"), "column 'd1': braycurtis"),
    ((1, -2, 3), ("--transform", "log1p"), "column 'd1': log1p "),
    ((1, 1.5e308, 3), ("--scale", "standard"), "'d1' "),
    ((1, 1e290, 3), ("-m", "kpca", "--kernel", "polynomial"), ""),
    ((0, 0, 0), ("-m", "kpca", "--kernel", "cosine"), "cosine "),
])
def test_new_rows_are_named_so_too(mlcli: Caller, cells: object, options: tuple[str, ...], said: str,
                                   wording: Wording) -> None:
    write("data.csv", SHARES[WRONG])
    assert embed(mlcli, *options, "-o", "run", "-q").code == 0
    write("data.csv", cells)
    called = mlcli("project", "run", "data.csv", "--id-column", "id")
    assert called.code in (65, 80, 81)
    assert f"row 8 ('n7'), {said}" in called.err and wording(called.err)
    assert f"; {'method.metric' if '--metric' in options else 'data.csv'}" in called.err


def test_rows_of_a_second_view_are_those_of_its_file(mlcli: Caller) -> None:
    write("data.csv", SHARES[WRONG])
    write("view.csv", (1, -2, 3), tuple(reversed(range(20))), gap=False)
    called = embed(mlcli, "-m", "cca", "--view", "view.csv", "--transform", "sqrt")
    assert (called.code, "row 13 ('n7'), column 'v1'" in called.err) == (65, True), called.err
    assert "view.csv" in called.err


@pytest.mark.medium
def test_rows_of_a_second_run_are_those_of_the_file_too(mlcli: Caller) -> None:
    """The second step of a projection counts what the first one left."""
    write("data.csv", SHARES[WRONG])
    assert embed(mlcli, "-p", "2", "-o", "first", "-q").code == 0
    mlcli.finished("embed", "first", "-m", "kpca", "--kernel", "polynomial", "-o", "second", "-q")
    write("data.csv", (1, 1e290, 3))
    called = mlcli("project", "second", "data.csv", "--id-column", "id")
    assert (called.code, "row 8 ('n7'), " in called.err) == (80, True), called.err


def test_rows_of_blocks_are_counted_from_the_first() -> None:
    points = np.ones((TILE + 5, 2))
    points[TILE + 2] = 0.0
    with pytest.raises(GeometryError) as caught:
        Tiles(CosineKernel(), points, np.float64).fold(0, np.ones((TILE + 5, 1)), moments=False)
    assert caught.value.row == TILE + 2 and caught.value.what.startswith(f"row {TILE + 3}, cosine")


def test_new_rows_of_blocks_are_counted_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    model = KernelPCA(kernel=CosineKernel()).fit(Features(SHARES, [str(i) for i in range(20)], list("abc")), Compute())
    monkeypatch.setattr("mlcli.core.similarities.base.HELD", 100)
    new = np.ones((50, 3))
    new[41] = 0.0
    with pytest.raises(MlcliError) as caught:
        model.project(new)
    assert caught.value.row == 41
