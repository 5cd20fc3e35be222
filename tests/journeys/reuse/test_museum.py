"""Runs that released versions wrote open, and give the numbers that their version gave (`docs/compatibility.md`)."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mlcli import open_run
from mlcli.base.types import Array
from mlcli.errors import MlcliError, UnsafeFile
from mlcli.methods import METHODS
from mlcli.methods.layouts import NeighborEmbedding
from mlcli.rundir import archive
from mlcli.runs.repetition import COORDINATES
from tests.journeys.support import Caller
from tests.laws.contract.test_contract import CONFIGURATIONS
from tests.museum.pieces import KINDS, ONTO, PIECES, TABLES, commands, method_of, unpack, ways_of

SAME_BYTES = {name for name, kind in METHODS.items() if issubclass(kind, NeighborEmbedding)} | {
    "nmds", "smacof", "sammon"}  # whose numbers are the same on every processor
TRAINED = {"autoencoder": 1e-5, "vae": 1e-5, "vib": 1e-5}  # networks, whose sums XLA orders by the machine
EVERYDAY = ("pca", "fa", "mds", "kpca", "isomap", "lle", "tsne", "umap", "lda", "cca")
every_piece = pytest.mark.parametrize("piece", PIECES)


def cells(path: Path) -> list[list[str]]:
    """Return the cells of a table, by commas or tabs."""
    text = path.read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines(), delimiter="\t" if path.suffix == ".txt" else ","))


def numbers(table: list[list[str]], head: list[str]) -> Array:
    """Return the coordinates or features of a table with a head, in the columns of another head."""
    places = [table[0].index(name) for name in head]
    return np.array([[float(row[place] or "nan") for place in places] for row in table[1:]])


def tolerance(method: str) -> float:
    """Return how far a coordinate may be from the stored one, over the largest: rounding of another processor."""
    return TRAINED.get(method, COORDINATES)


def require_same(former: Path, present: Path, method: str) -> None:
    """Assert that a table holds the columns of a former one, with the same numbers."""
    one, other = cells(former), cells(present)
    if former.suffix == ".txt":
        assert [len(row) for row in one] == [len(row) for row in other]
        values, others = (np.array([float(cell) for row in table for cell in row if is_number(cell)])
                          for table in (one, other))
    else:
        assert [row[0] for row in one] == [row[0] for row in other], "the ids are others"
        head = [name for name in one[0][1:] if is_number(one[1][one[0].index(name)])]
        values, others = numbers(one, head), numbers(other, head)
    assert values.shape == others.shape
    if method in SAME_BYTES:
        assert np.array_equal(values, others, equal_nan=True)
    size = float(np.nanmax(np.abs(values), initial=1e-300))
    assert np.allclose(others, values, rtol=0, atol=tolerance(method) * size, equal_nan=True)


def is_number(text: str) -> bool:
    """Whether a cell is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_every_method_of_this_version_is_there() -> None:
    """Otherwise `python -m tests.museum.add` adds it."""
    assert {piece.partition("/")[2] for piece in PIECES} >= {*METHODS, *KINDS, *TABLES, ONTO}


@pytest.mark.medium
def test_every_way_of_every_method_is_there() -> None:
    """Otherwise `python -m tests.museum.add` adds it, beside the ways that are there."""
    there = {way for piece in PIECES for way in ways_of(piece)}
    assert there >= {way.replace(" ", "-") for way in CONFIGURATIONS}


@pytest.mark.parametrize("piece", [piece if piece.partition("/")[2] in EVERYDAY else pytest.param(
    piece, marks=pytest.mark.medium) for piece in PIECES])
def test_a_former_run_opens_and_places_rows_where_its_version_did(piece: str, tmp_path: Path) -> None:
    name = piece.partition("/")[2]
    for way in unpack(piece, tmp_path, "" if name in (*KINDS, *TABLES, ONTO) else name):
        method = method_of(way)
        if not (way / "run" / "embedding.csv").exists():  # of a covariance matrix, which has no rows
            assert archive.load(way / "run")
            continue
        run = open_run(way / "run")
        assert run.method == method
        stored = cells(way / "run" / "embedding.csv")
        assert len(run.embedding) == len(stored) - 1
        new = cells(way / "new.csv") if (way / "projected.csv").exists() else [[]]
        if new[1:] and all(is_number(cell or "nan") for cell in new[1][1:]):  # texts are for the command line
            axes = [name for name in stored[0] if name[:1] == "y" and name[1:].isdigit()]
            former = numbers(cells(way / "projected.csv"), axes)
            found = run.project(numbers(new, new[0][1:]))
            assert np.abs(found - former).max() <= tolerance(method) * np.abs(former).max()


@pytest.mark.medium
@every_piece
def test_every_way_is_verified_drawn_and_used_as_its_version_did(
        piece: str, mlcli: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for way in unpack(piece, tmp_path):
        method = method_of(way)
        monkeypatch.chdir(way)
        verified = mlcli("verify", "run", "-q")
        assert verified.code == 0, (way.name, verified.err)
        drawn = mlcli("report", "run", "-q")
        assert drawn.code == 0, (way.name, drawn.err)
        for name, command in commands("run", "again-").items():
            former = Path(name.removeprefix("again-"))
            called = mlcli(*command, "-q")
            assert (called.code == 0) >= former.exists(), (way.name, name, called.err)
            if former.exists():
                require_same(former, Path(name), method)


def test_a_field_of_a_model_with_another_name_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored model is read by the names of its fields: were one renamed, former runs would not open."""
    (way,) = unpack(next(piece for piece in PIECES if piece.endswith("/pca")), tmp_path, "pca")
    run = shutil.copytree(way / "run", tmp_path / "copy")
    assert archive.load(run)
    text = (run / "model.json").read_text(encoding="utf-8")
    renamed = text.replace('"similarity"', '"likeness"')
    assert renamed != text and json.loads(renamed)
    (run / "model.json").write_text(renamed, encoding="utf-8")
    with pytest.raises(MlcliError) as caught:
        archive.load(run)
    assert str(caught.value.where).endswith("model.json")


def test_a_part_of_a_model_that_this_version_does_not_know_is_refused_by_name(tmp_path: Path) -> None:
    (way,) = unpack(next(piece for piece in PIECES if piece.endswith("/pca")), tmp_path, "pca")
    model = archive.load(way / "run")
    archive.save(tmp_path, {**model, "strange": 1})
    with pytest.raises(UnsafeFile, match="'strange'"):
        archive.load(tmp_path)
