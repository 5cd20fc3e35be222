"""`mlcli route`, `--keep` and `--draw-graph` under hostile names, places and runs: a path, or an error by its name."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.wording import Wording

NAMES = ["-1", "01", "1", "1e3", "a b", "Ω☃", "\u202ex", "--help", "nan", "é", "e\u0301", "=1+1", "x,y",
         'q"', "15", "+1"]


@pytest.fixture
def run(mlcli: Caller) -> None:
    """A run of points whose ids look like numbers, flags and other texts."""
    places = np.random.default_rng(1).random((len(NAMES), 2)).tolist()
    quoted = [f'"{name}"'.replace('q"', 'q""') for name in NAMES]
    Path("named.csv").write_text("\n".join(["id,x,y", *(f"{name},{x!r},{y!r}" for name, (x, y) in zip(
        quoted, places, strict=True)), ""]), encoding="utf-8")
    mlcli.finished("embed", "named.csv", "--id-column", "id", "-m", "isomap", "-k", "4", "-o", "run", "-q",
                 "--set", "report.point_labels=none")


@pytest.mark.medium
def test_ids_that_look_like_something_else_are_ids(run: None, mlcli: Caller) -> None:
    for start, end in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True):
        called = mlcli("route", "run", "--", start, end)
        assert called.code == 0, called.err
        _, first, *_, last = csv.reader(io.StringIO(called.out))
        assert (first[0], last[0]) == (start, end)


@pytest.mark.parametrize("name", ["", "16", "1.0", "1 ", "e", "p" * 10_000, "\ud800", "\0", "1\n2"])
def test_unknown_ids_are_refused_by_name(run: None, mlcli: Caller, name: str) -> None:
    for pair in ((name, "1"), ("1", name)):
        called = mlcli("route", "run", "--", *pair)
        assert (called.code, called.out) == (78, "") and "E-UNKNOWN-ID" in called.err
        assert called.err.count("\n") == 1 and len(called.err) < 1000


@pytest.mark.parametrize(("option", "place", "code"), [
    ("-o", "named.csv/x.csv", 73), ("-o", "/proc/x.csv", 73), ("-o", "run", 2), ("-o", "y" * 300 + ".csv", 73),
    ("-o", "", 2), ("-o", "x.svg", 2), ("-o", "named.csv", 73), ("--picture", "named.csv/x.svg", 73),
    ("--picture", "/proc/x.svg", 73), ("--picture", "run", 2), ("--picture", "-", 2), ("--picture", "", 2),
    ("--picture", "y" * 300 + ".svg", 73)])
def test_places_that_cannot_be_written_are_refused(run: None, mlcli: Caller, option: str, place: str,
                                                   code: int) -> None:
    before = sorted(Path().rglob("*"))
    called = mlcli("route", "run", "1", "01", option, place)
    assert called.code == code and called.err.count("error[E-") == 1, called.err
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("options", [
    ("--metric", "cosine", "-m", "mds"), ("-m", "chain", "--kernel", "gaussian"), ("-m", "lle"),
    ("-m", "chain", "--set", "method.graph={}", "--set", "method.kernel={name: graph_laplacian}")])
def test_chains_without_paths_have_no_route(mlcli: Caller, options: tuple[str, ...]) -> None:
    made = mlcli("embed", "data.csv", *options, "-o", "other", "-q")
    assert made.code == 0, made.err
    called = mlcli("route", "other", "p1", "p2")
    assert (called.code, "E-NO-GRAPH" in called.err) == (78, True), called.err


def test_points_of_other_pieces_cannot_be_reached(mlcli: Caller, wording: Wording) -> None:
    points = np.random.default_rng(2).standard_normal((20, 2))
    np.save("apart.npy", np.vstack([points, points[:9] + 1e3]))
    pieces = ("embed", "apart.npy", "-m", "isomap", "-k", "4", "-q", "--set")
    assert mlcli(*pieces, "method.neighbors.pieces=error", "-o", "run").code == 81
    assert mlcli(*pieces, "method.neighbors.pieces=largest", "-o", "largest").code == 0
    for ends in (("1", "25"), ("25", "1"), ("24", "25")):  # which dropped.csv lists
        called = mlcli("route", "largest", *ends, "--explain", "way.html")
        assert (called.code, wording(called.err)) == (81, ["E-NO-ROUTE"]) and not Path("way.html").exists()
    assert "E-UNKNOWN-ID" in mlcli("route", "largest", "1", "30").err
    assert mlcli(*pieces, "method.neighbors.pieces=connect", "-o", "whole").code == 0
    assert mlcli("route", "whole", "1", "25").code == 0


def test_a_row_that_was_left_out_for_its_gaps_is_refused_with_the_reason(mlcli: Caller, wording: Wording) -> None:
    points = np.random.default_rng(2).standard_normal((20, 2))
    points[4, 1] = np.nan
    np.save("gaps.npy", points)
    assert mlcli("embed", "gaps.npy", "-m", "isomap", "-k", "4", "-q", "--set", "prepare.missing=drop", "-o",
                 "run").code == 0
    called = mlcli("route", "run", "1", "5")
    assert (called.code, wording(called.err)) == (78, ["E-UNKNOWN-ID"])


@pytest.mark.parametrize(("options", "code"), [
    (("--keep", "everything"), 78), (("--keep", ""), 78), (("--keep", "weights"), 78),
    (("--keep", "graph", "-o", "-"), 78),
    (("--keep", "graph", "-o", "data.csv/run"), 73), (("--draw-graph", "-o", "/proc/run"), 73),
    (("--set", "report.draw_graph=maybe"), 78), (("--keep", "graph,graph", "-o", "twice"), 0)])
def test_what_cannot_be_kept_or_drawn_is_refused(mlcli: Caller, options: tuple[str, ...], code: int) -> None:
    called = mlcli("embed", "data.csv", "-m", "isomap", "-q", *options)
    assert called.code == code and called.err.count("error[E-") == (code != 0), called.err
    assert code == 0 or not Path("runs").exists()
