"""`report.draw_graph`: a run draws the graph that it keeps, and again from its files."""

from pathlib import Path

import pytest
from scipy import sparse

from mlcli.pipeline.read_run import edges_of
from tests.journeys.support import Caller
from tests.report.figures.test_scatter import lines


@pytest.mark.medium
@pytest.mark.parametrize(("method", "figures"), [("isomap", "svg, png"), ("lle", "svg"), ("laplacian", "svg")])
def test_a_run_draws_the_graph_that_it_keeps_and_again_from_its_files(
        mlcli: Caller, method: str, figures: str) -> None:
    called = mlcli("embed", "data.csv", "-m", method, "-k", "6", "--draw-graph", "-o", "run", "-q", "--set",
                   f"report.figures=[{figures}]", "--set", "report.point_labels=none")
    assert called.code == 0, called.err
    matrix = sparse.load_npz("run/graph.npz").tocoo()
    known = {(i, j) for i, j in zip(*(side.tolist() for side in matrix.coords), strict=True) if i < j}
    assert set(map(tuple, edges_of(Path("run/graph.npz"), 30).tolist())) == known
    assert len(lines(Path("run/scatter.svg").read_text())) == len(known)
    before = Path("run/report.html").read_bytes()
    assert mlcli("report", "run", "-q").code == 0
    assert Path("run/report.html").read_bytes() == before
    assert Path("run/scatter.png").exists() == ("png" in figures)


def test_a_graph_that_was_changed_is_not_drawn(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-m", "isomap", "--draw-graph", "-o", "run", "-q").code == 0
    sparse.save_npz("run/graph.npz", sparse.csr_array((30, 30)), compressed=False)
    assert mlcli("report", "run", "-q").code == 83


@pytest.mark.parametrize(("options", "said"), [(("-m", "pca"), "E-KEEP"), (("-m", "isomap", "-o", "-"), "E-UNUSED")])
def test_what_has_no_graph_or_no_page_is_refused(mlcli: Caller, options: tuple[str, ...], said: str) -> None:
    called = mlcli("embed", "data.csv", "--draw-graph", *options)
    assert (called.code, said in called.err, "report.draw_graph" in called.err) == (78, True, True), called.err
