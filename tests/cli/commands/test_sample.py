"""Generated data as a command writes it."""

import csv
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from mlcli.data.samples import sample
from tests.journeys.support import Caller
from tests.wording import Wording


def test_cells_are_written_as_anndata_and_points_are_not(mlcli: Caller, wording: Wording) -> None:
    pytest.importorskip("h5py")
    assert mlcli("sample", "cells", "--rows", "20", "--columns", "5", "--truth", "-o", "cells.h5ad").code == 0
    checked = mlcli("check", "cells.h5ad", "--key", "layers/counts")
    assert checked.code == 0 and "20 rows x 5 columns" in checked.out and "label 'batch'" in checked.out
    refused = mlcli("sample", "torus", "-o", "torus.h5ad")
    assert refused.code == 2 and "E-FORMAT" in wording(refused.err)
    assert not Path("torus.h5ad").exists()


@pytest.mark.parametrize("options", [("torus", "--rows"), ("ball", "--columns"), ("cells", "--rows")])
def test_a_sample_that_no_memory_holds_is_refused(mlcli: Caller, options: tuple[str, ...]) -> None:
    called = mlcli("sample", *options, "9" * 20, "-o", "out.csv")
    assert called.code == 82 and "error[E-MEMORY]" in called.err and not Path("out.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_counts_are_written_as_they_are_drawn(mlcli: Caller, ending: str) -> None:
    assert mlcli("sample", "cells", "--rows", "600", "--columns", "3", "--labels", "types.csv", "-o",
                 f"cells.{ending}").code == 0
    table = sample("cells", 600, 0, truth=True, columns=3)
    types = Path("types.csv").read_text().splitlines()
    assert types[:2] == ["id,type,batch", f"cell1,{table.labels['type'][0]},{table.labels['batch'][0]}"]
    assert len(types) == 601
    if ending == "npy":
        assert np.array_equal(np.load("cells.npy"), table.values)
        return
    if ending == "csv":
        with Path("cells.csv").open() as file:
            header, *lines = csv.reader(file)
    else:
        read = parquet.read_table("cells.parquet")
        header, lines = read.column_names, [*map(list, zip(*read.to_pydict().values(), strict=True))]
    assert header == ["" if ending == "csv" else "id", "gene1", "gene2", "gene3"]
    assert [line[0] for line in lines] == list(table.ids)
    assert np.array_equal(np.array([line[1:] for line in lines], dtype=float), table.values)


def test_an_npy_file_does_not_drop_the_truth(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("sample", "torus", "--rows", "9", "--truth", "-o", "torus.npy")
    assert called.code == 2 and wording(called.err) == ["E-FORMAT"] and not Path("torus.npy").exists()
    assert mlcli("sample", "torus", "--rows", "9", "--labels", "truth.csv", "-o", "torus.npy").code == 0
    assert Path("truth.csv").read_text().splitlines()[0] == "id,t,h"


def test_the_points_and_their_truth_have_files_of_their_own(mlcli: Caller) -> None:
    Path("link.csv").symlink_to("points.csv")
    called = mlcli("sample", "torus", "--rows", "9", "--labels", "link.csv", "-o", "points.csv")
    assert called.code == 2 and "E-ONE-FILE" in called.err and not Path("points.csv").exists()
