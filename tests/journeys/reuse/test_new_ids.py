"""Ids of new rows whose file has none, beside those of the rows that a run was fitted to."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from mlcli.rundir import embedding, manifest
from tests.journeys.support import Caller
from tests.wording import Wording


def test_a_note_says_where_a_run_has_ids_like_those_of_new_rows(mlcli: Caller, wording: Wording) -> None:
    cells = [line.split(",")[1:] for line in Path("data.csv").read_text().splitlines()[1:]]
    Path("again.csv").write_text("\n".join(["id,x,y,z", *(",".join([f"new{row + 1}", *line])
                                                     for row, line in enumerate(cells[:20]))]) + "\n")
    mlcli.finished("embed", "again.csv", "--id-column", "id", "-o", "again")
    np.save("data.npy", np.array(cells, dtype=float))
    called = mlcli("project", "again", "data.npy")
    assert called.code == 0 and "N-KNOWN-IDS" in wording(called.err) and "20 of 30" in called.err


def test_new_rows_without_ids_have_ids_of_their_own_by_their_numbers(mlcli: Caller, wording: Wording) -> None:
    values = np.array([[float(cell) for cell in line.split(",")[1:]]
                       for line in Path("data.csv").read_text().splitlines()[1:]])
    np.save("data.npy", values)
    mlcli.finished("embed", "data.npy", "--set", "prepare.missing=drop", "-o", "run")
    values[[0, 4]] = np.nan
    np.save("gaps.npy", values)
    called = mlcli("project", "run", "gaps.npy")
    assert called.code == 0 and "W-DROPPED" in wording(called.err)
    ids = [line.split(",")[0] for line in called.out.splitlines()[1:]]
    assert ids == [f"new{row}" for row in range(1, 31) if row not in (1, 5)]
    assert mlcli("project", "run", "gaps.npy", "-o", "new.parquet", "--picture", "new.svg").code == 0
    assert parquet.read_table("new.parquet").column("row").to_pylist() == ids
    assert "<title>new2<" in Path("new.svg").read_text()
    back = mlcli("reconstruct", "run", "new.parquet")
    assert (back.code, [line.split(",")[0] for line in back.out.splitlines()[1:]]) == (0, ids)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_ids_are_taken_is_read_without_the_coordinates_and_once(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                                     form: str) -> None:
    ids = ["a,b", '"quoted"', "=1+1", " spaced ", "Größe", "007", "1e5", "two\nlines", "NA", "plain"]
    values = np.random.default_rng(0).standard_normal((len(ids), 3))
    lines = [f"\"{name.replace(chr(34), 2 * chr(34))}\",{','.join(map(str, row))}"
             for name, row in zip(ids, values.tolist(), strict=True)]
    Path("odd.csv").write_text("\n".join(["id,x,y,z", *lines]) + "\n")
    mlcli.finished("embed", "odd.csv", "--id-column", "id", "-o", "odd", "--set", f"report.formats=[{form}]")
    written = embedding.intact_embedding(Path("odd"), manifest.read_manifest(Path("odd")))[1]
    assert embedding.intact_ids(Path("odd"), manifest.read_manifest(Path("odd")), f"embedding.{form}") == tuple(
        written.ids)
    read, times = manifest.raw_json, []

    def refuse(*given: object) -> None:
        raise AssertionError("the coordinates are read")

    def counted(path: Path) -> object:
        times.append(path.name)
        return read(path)

    monkeypatch.setattr(embedding, "read", refuse)
    monkeypatch.setattr(manifest, "raw_json", counted)
    called = mlcli("project", "odd", "odd.csv", "--id-column", "id")
    assert called.code == 0 and "N-KNOWN-IDS" in called.err and times == ["run.json"]
