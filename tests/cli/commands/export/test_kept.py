"""Results that a run kept as CSV."""

import csv
import io
from pathlib import Path

import numpy as np
from scipy import sparse

from tests.cli.commands.export.conftest import ROWS
from tests.journeys.support import BARE, Caller
from tests.wording import Wording

TABLE = ("data.csv", "--id-column", "id", "--columns", "u:w")

IDS = [row[0] for row in ROWS]


def square(text: str) -> tuple[list[str], list[str], np.ndarray]:
    """The names of columns and rows of a table, and its numbers."""
    header, *rows = csv.reader(io.StringIO(text))
    return header[1:], [row[0] for row in rows], np.array([[float(cell) for cell in row[1:]] for row in rows])


def test_squares_are_tables_with_ids_and_all_digits(mlcli: Caller, run: str) -> None:
    assert mlcli("embed", *TABLE, "-m", "mds", "--keep", "distances,kernel", "-o", "kept", "-q", *BARE).code == 0
    called = mlcli("export", "kept", "--kept", "distances", "-o", "distances.csv")
    assert called.code == 0 and "distances.csv" in called.err
    written = {"distances": Path("distances.csv").read_text(encoding="utf-8"),
               "kernel": mlcli("export", "kept", "--kept", "kernel").out}
    for file, text in written.items():
        columns, rows, values = square(text)
        assert columns == rows == IDS
        np.testing.assert_array_equal(values, np.load(f"kept/{file}.npy"))
    assert mlcli("embed", "distances.csv", "--dissimilarities", "-m", "mds", "-o", "again", "-q", *BARE).code == 0
    first, again = (square(Path(name, "embedding.csv").read_text())[2] for name in ("kept", "again"))
    np.testing.assert_allclose(again, first, atol=1e-9)


def test_edges_are_listed_with_their_ends(mlcli: Caller, run: str) -> None:
    assert mlcli("embed", *TABLE, "-m", "lle", "-k", "3", "--set", "method.neighbors.pieces=connect", "--keep",
                 "graph,weights", "-o", "kept", "-q", *BARE).code == 0
    for name, column in (("graph", "length"), ("weights", "weight")):
        rows = list(csv.DictReader(io.StringIO(mlcli("export", "kept", "--kept", name).out)))
        matrix = sparse.coo_array(sparse.load_npz(f"kept/{name}.npz"))
        assert [(IDS.index(row["source"]), IDS.index(row["target"]), float(row[column])) for row in rows] == [
            *zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)]


def test_what_was_not_kept_is_named_with_the_method_that_makes_none(mlcli: Caller, run: str, wording: Wording) -> None:
    called = mlcli("export", run, "--kept", "kernel", "-o", "kernel.csv")
    assert called.code == 78 and wording(called.err) == ["E-NOT-KEPT"] and "--keep" not in called.err
    called = mlcli("export", run, "--kept", "kernel", "--format", "h5ad", "-o", "kernel.csv")
    assert called.code == 2 and wording(called.err) == ["E-EXPORT-OPTION"] and not Path("kernel.csv").exists()
    called = mlcli("export", run, "--kept", "kernel", "-o", "kernel.h5ad")
    assert called.code == 2 and wording(called.err) == ["E-EXPORT-OPTION"] and not Path("kernel.h5ad").exists()
