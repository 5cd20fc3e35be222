"""Columns of the input for colors: answers, genes, folders of tables, and inputs of inputs."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlcli.base.types import Array
from mlcli.pipeline.read_run import read_run
from mlcli.runs.colors import with_colors
from tests.journeys.support import Caller
from tests.wording import Wording

CELLS = 20
SCALE = ("never", "rarely", "often")


def column(run: str, name: str) -> Sequence[str]:
    """The cells of a column of a run's input, by its quoted name."""
    quoted = '"' + name.replace('"', '""') + '"'
    return with_colors(read_run(Path(run)), Path(run), [quoted]).embedding.labels[name]


def write_table(path: str, head: str, rows: Sequence[Sequence[object]]) -> None:
    """A table of CSV."""
    Path(path).write_text("\n".join([head, *(",".join(map(str, row)) for row in rows), ""]))


def write_cells(path: str) -> Array:
    """Counts (20, 6) of genes as AnnData, with coordinates of the cells and a text and a number for each."""
    generator = np.random.default_rng(2)
    counts: Array = generator.poisson(1.0, (CELLS, 6)).astype(float)
    with h5py.File(path, "w") as file:
        file["X"], file["obsm/X_pca"] = counts, generator.standard_normal((CELLS, 3))
        for name, word, count in (("obs", "cell", CELLS), ("var", "G", 6)):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group["_index"] = [f"{word}{place}" for place in range(count)]
        file["obs/depth"], file["obs/kind"] = np.arange(CELLS) % 4, ["ab"[row % 2] for row in range(CELLS)]
    return counts


def test_items_of_a_questionnaire_are_texts(mlcli: Caller) -> None:
    rows = [(f"p{row}", SCALE[row % 3], SCALE[row * row % 3], SCALE[row // 2 % 3], row) for row in range(12)]
    write_table("items.csv", "id,q1,q2,q3,age", rows)
    called = mlcli.bare("items.csv", "--answers", "never, rarely,often", "--columns", "q1,q2", "--reverse", "q2", "-q",
                        "-o", "run")
    assert called.code == 0, called.err
    for place, name in enumerate(("q1", "q2", "q3"), 1):
        assert list(column("run", name)) == [row[place] for row in rows]
    assert [float(age) for age in column("run", "age")] == [row[4] for row in rows]
    called = mlcli("report", "run", "--color-by", "q1, age,q3")
    assert called.code == 0, called.err


def test_genes_are_those_of_the_file_that_led_to_the_run(mlcli: Caller, wording: Wording) -> None:
    counts = write_cells("cells.h5ad")
    assert mlcli.bare("cells.h5ad", "--where", "depth>0", "-p", "2", "-q", "-o", "first").code == 0
    assert mlcli.bare("first", "-m", "isomap", "-k", "5", "-q", "-o", "second").code == 0
    assert mlcli.bare("second", "-q", "-o", "third").code == 0
    kept = np.arange(CELLS) % 4 > 0
    for run in ("first", "second", "third"):
        assert [float(text) for text in column(run, "G4")] == counts[kept, 4].tolist()
        assert [float(text) for text in column(run, "depth")] == (np.arange(CELLS) % 4)[kept].tolist()
    first = read_run(Path("first")).embedding.values[:, 0].tolist()
    assert [float(text) for text in column("second", "y1")] == first
    refused = mlcli("report", "third", "--color-by", "G9")
    assert refused.code == 78 and "E-REPORT-LABEL" in wording(refused.err)
    shutil.move("cells.h5ad", "moved.h5ad")
    assert mlcli("report", "third", "--color-by", "G4").code == 66
    assert mlcli("report", "third", "--color-by", "G4", "--input", "moved.h5ad").code == 0


def test_genes_color_coordinates_of_the_cells(mlcli: Caller) -> None:
    counts = write_cells("cells.h5ad")
    assert mlcli.bare("cells.h5ad", "--key", "obsm/X_pca", "-q", "-o", "run").code == 0
    table = with_colors(read_run(Path("run")), Path("run"), ["G1,depth,X_pca2,kind"]).embedding
    assert [float(text) for text in table.labels["G1"]] == counts[:, 1].tolist()
    assert list(table.labels["kind"]) == ["ab"[row % 2] for row in range(CELLS)]
    assert table.measured == {"G1", "depth", "X_pca2"}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_texts_of_a_folder_of_tables(mlcli: Caller, format: str) -> None:
    values = np.random.default_rng(4).standard_normal((CELLS, 2))
    kinds = ["uvw"[row % 3] for row in range(CELLS)]
    Path("parts").mkdir()
    for part, rows in enumerate((range(12), range(12, CELLS))):
        table = {"id": [f"r{row}" for row in rows], "kind": [kinds[row] for row in rows],
                 "x": values[rows.start:rows.stop, 0], "y": values[rows.start:rows.stop, 1]}
        if format == "parquet":
            pq.write_table(pa.table(table), f"parts/{part}.parquet")
        else:
            write_table(f"parts/{part}.csv", ",".join(table), [*zip(*table.values(), strict=True)])
    called = mlcli.bare("parts", "--columns", "x,y", "--id-column", "id", "-q", "-o", "run")
    assert called.code == 0, called.err
    assert list(column("run", "kind")) == kinds
    assert list(with_colors(read_run(Path("run")), Path("run"), ["y,kind"]).embedding.labels["kind"]) == kinds


def test_the_file_of_labels_is_not_needed_for_a_column_of_the_table(mlcli: Caller, wording: Wording) -> None:
    rows = np.random.default_rng(1).standard_normal((9, 3)).tolist()
    write_table("sites.csv", "site,x,y,z", [(f"s{row}", *cells) for row, cells in enumerate(rows)])
    write_table("env.csv", "site,use", [(f"s{row}", "ab"[row % 2]) for row in range(9)])
    assert mlcli.bare("sites.csv", "--labels", "env.csv", "--columns", "x,y", "-q", "-o", "run").code == 0
    Path("env.csv").unlink()
    called = mlcli("report", "run", "--color-by", "z,use")
    assert called.code == 0, called.err
    refused = mlcli("relate", "run", "--with", "sites.csv", "--formula", "z", "-o", "out")
    assert refused.code == 66 and "env.csv: " in refused.err and "E-RUN-BESIDE" in wording(refused.err)


def test_columns_of_further_files_are_colors(mlcli: Caller, wording: Wording) -> None:
    """Rows are matched by id; FILE.NAME is the column of that file, and a file is needed for its own columns alone."""
    numbers = np.random.default_rng(7).standard_normal((9, 5)).round(2).tolist()
    names = [f"r{row}" for row in range(9)]
    write_table("taste.csv", "id,sweet,dry", [(name, *cells[:2]) for name, cells in zip(names, numbers, strict=True)])
    smell = [(name, cells[2], cells[3], "uv"[row % 2]) for row, (name, cells) in enumerate(
        zip(names, numbers, strict=True))]
    write_table("smell.csv", "id,fruity,dry,kind", [("more", 0, 1, "u"), *smell[::-1]])
    called = mlcli.bare("taste.csv", "-m", "mfa", "--view", "smell.csv", "--set", "prepare.unmatched=drop", "-q", "-o",
                        "run")
    assert called.code == 0, called.err
    table = with_colors(read_run(Path("run")), Path("run"), ["fruity,kind,dry,smell.dry,taste.dry"]).embedding
    assert [float(text) for text in table.labels["fruity"]] == [cells[2] for cells in numbers]
    assert list(table.labels["kind"]) == ["uv"[row % 2] for row in range(9)]
    assert [float(text) for text in table.labels["smell.dry"]] == [cells[3] for cells in numbers]
    assert table.labels["dry"] == table.labels["taste.dry"]
    assert table.measured == {"fruity", "dry", "smell.dry", "taste.dry"}
    refused = mlcli("report", "run", "--color-by", "sour")
    assert refused.code == 78 and "E-REPORT-LABEL" in wording(refused.err)
    Path("smell.csv").unlink()
    assert mlcli("report", "run", "--color-by", "sweet").code == 0
    refused = mlcli("report", "run", "--color-by", "sweet,kind")
    assert refused.code == 66 and "smell.csv" in refused.err and "E-RUN-BESIDE" in wording(refused.err)


def test_columns_of_further_files_without_ids_are_matched_by_number(mlcli: Caller) -> None:
    numbers = np.random.default_rng(8).standard_normal((12, 4)).round(2).tolist()
    write_table("one.csv", "a,b", [("" if row == 4 else cells[0], cells[1]) for row, cells in enumerate(numbers[:9])])
    write_table("two.csv", "c,d", [cells[2:] for cells in numbers])
    called = mlcli.bare("one.csv", "-m", "mfa", "--view", "two.csv", "--set", "prepare.unmatched=drop", "--set",
                        "prepare.missing=drop", "-q", "-o", "run")
    assert called.code == 0, called.err
    assert [float(text) for text in column("run", "d")] == [numbers[row][3] for row in range(9) if row != 4]


@pytest.mark.parametrize("name", ["site, year", "5\" of snow"])
def test_any_column_can_be_named_by_a_flag(mlcli: Caller, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    write_table("t.csv", f"id,{quoted},x,y", [(f"r{row}", "ab"[row % 2], row % 5, row * row % 7) for row in range(9)])
    called = mlcli.bare("t.csv", "--label-column", quoted, "-q", "-o", "run")
    assert called.code == 0, called.err
    assert list(read_run(Path("run")).embedding.labels) == [name]
    assert mlcli("report", "run", "--color-by", quoted).code == 0
