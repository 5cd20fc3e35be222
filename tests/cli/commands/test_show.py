"""The corner of what a run kept: numbers under the names of their rows and columns, as wide as the terminal."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tests.journeys.support import BARE, Caller
from tests.wording import Wording

SIZE = 12
IDS = [f"site{row}" for row in range(SIZE - 1)] + ["a name that is long"]


@pytest.fixture
def run(mlcli: Caller) -> Path:
    """A run of Isomap that kept its graph and its kernel."""
    values = np.random.default_rng(0).standard_normal((SIZE, 3))
    Path("data.csv").write_text("id,u,v,w\n" + "".join(
        f"{name},{','.join(map(repr, row))}\n" for name, row in zip(IDS, values.tolist(), strict=True)))
    return mlcli.finished("embed", "data.csv", "-m", "isomap", "-k", "4", "--keep", "graph,kernel", "-o", "run", "-q",
                          *BARE)


def table(text: str) -> tuple[list[str], list[str], list[list[str]]]:
    """The names of columns and of rows, and the cells."""
    _, head, *lines = text.splitlines()
    return head.split(), [line.split()[0] for line in lines], [line.split()[1:] for line in lines]


def test_a_square_matrix_is_shown_with_names_and_five_digits(mlcli: Caller, run: Path) -> None:
    called = mlcli("show", run, "kernel", "--rows", 3, "--columns", 5)
    assert called.code == 0 and called.out.startswith("kernel: 12 x 12; the first 3 x 5")
    columns, rows, cells = table(called.out)
    assert columns == IDS[:5] and rows == IDS[:3]
    np.testing.assert_allclose(np.array(cells, dtype=float), np.load(run / "kernel.npy")[:3, :5], rtol=1e-4)


def test_a_sparse_matrix_has_points_where_there_is_no_entry(mlcli: Caller, run: Path) -> None:
    stored = sparse.csr_array(sparse.load_npz(run / "graph.npz"))
    called = mlcli("show", run, "graph", "--rows", 50, "--columns", 50)
    assert called.out.startswith(f"graph: 12 x 12, {stored.nnz} entries\n") and "a name th..." in called.out
    cells = [line.rsplit(maxsplit=SIZE)[1:] for line in called.out.splitlines()[2:]]
    assert [[cell != "." for cell in row] for row in cells] == (stored.toarray() != 0).tolist()


def test_a_document_has_all_digits(mlcli: Caller, run: Path) -> None:
    document = json.loads(mlcli("show", run, "graph", "--rows", 12, "--json").out)
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in document["values"]], dtype=float)
    np.testing.assert_array_equal(np.nan_to_num(values), sparse.load_npz(run / "graph.npz").toarray())
    assert document["rows"] == document["columns"] == IDS and document["size"] == SIZE


def test_columns_that_do_not_fit_are_left_out_unless_they_are_asked_for(mlcli: Caller, run: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlcli.cli.screen.terminal.columns_of", lambda stream: 30)
    lines = mlcli("show", run, "kernel").out.splitlines()
    assert lines[0].startswith("kernel: 12 x 12; the first 8 x ") and all(len(line) <= 30 for line in lines[1:])
    assert len(mlcli("show", run, "kernel", "--columns", 6).out.splitlines()[1].split()) == 6


def test_what_was_not_kept_or_was_changed_is_refused(mlcli: Caller, run: Path, wording: Wording) -> None:
    called = mlcli("show", run, "distances")
    assert called.code == 78 and wording(called.err) == ["E-NOT-KEPT"] and "--keep distances" in called.err
    assert mlcli("show", run, "embedding").code == 2
    np.save(run / "kernel.npy", np.eye(SIZE))
    called = mlcli("show", run, "kernel")
    assert called.code != 0 and called.out == "", called


@pytest.mark.parametrize(("options", "name", "said"), [
    (("-m", "pca"), "distances", "; pca makes none\n"),
    (("-m", "lle", "-k", "4"), "kernel", "lle makes none, but 'graph', 'weights'")])
def test_what_the_method_does_not_make_is_not_asked_to_be_kept(mlcli: Caller, options: tuple[str, ...], name: str,
                                                               said: str) -> None:
    assert mlcli("sample", "helix", "--rows", 12, "-o", "points.csv").code == 0
    run = mlcli.finished("embed", "points.csv", *options, "-o", "bare", "-q")
    called = mlcli("show", run, name)
    assert called.code == 78 and said in called.err and "--keep" not in called.err, called.err
    assert mlcli("embed", "points.csv", *options, "-o", "again", "--keep", name).code == 78
