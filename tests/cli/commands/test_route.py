"""`mlcli route`: the shortest path between two points, against SciPy's, and what it refuses."""

import csv
import errno
import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from mlcli.base.types import Array
from mlcli.core.graph.graph import undirected
from mlcli.core.paths.floyd import after_each_pivot, floyd_warshall
from mlcli.core.paths.geodesics import search, shortest_route
from mlcli.runs.explain_route import FIRST
from tests.journeys.support import Called, Caller
from tests.wording import Wording

NAMES = [f"p{i}" for i in range(50)]


@pytest.fixture(autouse=True)
def run(mlcli: Caller) -> Array:
    """A finished run of Isomap on named points of a large unit; the lengths of its paths."""
    values = np.random.default_rng(2).random((50, 2)) * [4e7, 1e7]
    Path("points.csv").write_text("id,x,y\n" + "".join(
        f"{name},{x!r},{y!r}\n" for name, (x, y) in zip(NAMES, values.tolist(), strict=True)))
    mlcli.finished("embed", "points.csv", "--id-column", "id", "-m", "isomap", "-k", "5", "-o", "run", "-q", "--keep",
                 "graph", "--set", "report.point_labels=none")
    return np.asarray(dijkstra(sparse.load_npz("run/graph.npz")))


def way(called: Called) -> tuple[list[str], list[float]]:
    """The ids on the way and the lengths so far."""
    assert called.code == 0, called.err
    header, *rows = csv.reader(io.StringIO(called.out))
    assert header in (["id", "length"], ["row", "length"])
    return [row[0] for row in rows], [float(row[1]) for row in rows]


@pytest.mark.parametrize(("start", "end"), [(0, 49), (17, 3), (8, 9)])
def test_the_way_is_as_long_as_the_shortest_and_runs_on_edges(mlcli: Caller, run: Array, start: int, end: int) -> None:
    ids, lengths = way(mlcli("route", "run", NAMES[start], NAMES[end]))
    assert (ids[0], ids[-1], lengths[0]) == (NAMES[start], NAMES[end], 0.0)
    assert lengths[-1] == pytest.approx(run[start, end], rel=1e-12)
    graph, places = sparse.load_npz("run/graph.npz"), [NAMES.index(name) for name in ids]
    for step, (left, right) in enumerate(pairwise(places)):
        assert lengths[step + 1] - lengths[step] == pytest.approx(graph[left, right], rel=1e-9)
    back, _ = way(mlcli("route", "run", NAMES[end], NAMES[start]))
    assert back == ids[::-1]


def test_a_point_to_itself_is_a_path_of_one_point(mlcli: Caller) -> None:
    assert way(mlcli("route", "run", "p7", "p7")) == (["p7"], [0.0])
    assert mlcli("route", "run", "p7", "p7", "--picture", "one.svg", "-q").code == 0
    assert "0 steps, 0 long" in Path("one.svg").read_text()
    called = mlcli("route", "run", "p7", "p7", "--explain", "one.html", "-o", "one.csv")
    assert called.code == 0 and "from 'p7' to itself has no step" in called.err
    assert "Floyd" not in Path("one.html").read_text()


@pytest.mark.parametrize(("rows", "numbers"), [([], "the numbers 1 to 50"), ([3, 8], "48 of the numbers 1 to 50")])
def test_an_unknown_number_is_refused_with_the_range(mlcli: Caller, rows: list[int], numbers: str,
                                                     wording: Wording) -> None:
    values = np.genfromtxt("points.csv", delimiter=",", skip_header=1)[:, 1:]
    values[rows] = np.nan
    np.save("points.npy", values)
    mlcli.finished("embed", "points.npy", "-m", "isomap", "-k", "5", "-o", "plain", "-q", "--set",
                   "prepare.missing=drop")
    called = mlcli("route", "plain", "1", "51")
    assert (called.code, wording(called.err)) == (78, ["E-UNKNOWN-ID"]) and f"its points are {numbers}" in called.err


@pytest.mark.parametrize("format", ["csv", "npy"])
def test_points_without_ids_have_the_numbers_of_their_rows(mlcli: Caller, run: Array, format: str) -> None:
    np.save("points.npy", np.genfromtxt("points.csv", delimiter=",", skip_header=1)[:, 1:])
    mlcli.finished("embed", "points.npy", "-m", "isomap", "-k", "5", "-o", "plain", "-q", "--format", format)
    ids, lengths = way(mlcli("route", "plain", "1", "50"))
    assert (ids[0], ids[-1]) == ("1", "50")
    assert lengths[-1] == pytest.approx(run[0, 49], rel=1e-12)


@pytest.mark.parametrize("options", [("--dissimilarities", "apart.npy"), ("--graph", "run/graph.npz")])
@pytest.mark.parametrize("landmarks", [(), ("--set", "method.landmarks=20")])
def test_runs_of_other_inputs_have_paths_too(mlcli: Caller, run: Array, options: tuple[str, str],
                                             landmarks: tuple[str, ...]) -> None:
    points = np.genfromtxt("points.csv", delimiter=",", skip_header=1)[:, 1:]
    np.save("apart.npy", np.linalg.norm(points[:, None] - points, axis=2))
    neighbors = () if options[0] == "--graph" else ("-k", "5")
    made = mlcli("embed", *options, "-m", "isomap", *neighbors, *landmarks, "-o", "other", "-q")
    assert made.code == 0, made.err
    assert way(mlcli("route", "other", "4", "40"))[1][-1] == pytest.approx(run[3, 39], rel=1e-9)


def test_files_are_written_whole_and_not_over_others(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("route", "run", "p1", "p2", "-o", "way.csv", "--picture", "way.svg")
    assert called.code == 0 and wording(called.err) == []
    before = Path("way.csv").read_bytes(), Path("way.svg").read_bytes()
    for options in (("-o", "way.csv"), ("-o", "new.csv", "--picture", "way.svg")):
        called = mlcli("route", "run", "p3", "p4", *options)
        assert (called.code, "E-OUTPUT-EXISTS" in called.err) == (73, True)
    assert not Path("new.csv").exists()
    assert before == (Path("way.csv").read_bytes(), Path("way.svg").read_bytes())
    assert mlcli("route", "run", "p3", "p4", "-o", "way.csv", "--picture", "way.svg", "--force", "-q").code == 0
    assert Path("way.csv").read_bytes() != before[0]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_picture_does_not_appear_without_its_table(mlcli: Caller, monkeypatch: pytest.MonkeyPatch,
                                                     force: tuple[str, ...]) -> None:
    Path("way.svg").write_text("before") if force else None

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(Path().iterdir())
    monkeypatch.setattr("mlcli.data.write.table.write_table", full)
    called = mlcli("route", "run", "p1", "p9", "-o", "way.csv", "--picture", "way.svg", *force)
    assert (called.code, called.out, sorted(Path().iterdir())) == (74, "", before)
    assert not force or Path("way.svg").read_text() == "before"


def test_the_picture_holds_the_path_and_escapes_names(mlcli: Caller) -> None:
    Path("points.csv").write_text(Path("points.csv").read_text().replace("p9,", "<b>&,"))
    mlcli.finished("embed", "points.csv", "--id-column", "id", "-m", "isomap", "-k", "5", "-o", "odd", "-q")
    ids, _ = way(mlcli("route", "odd", "<b>&", "p40", "--picture", "way.svg", "-q"))
    drawn = Path("way.svg").read_text()
    assert ">Isomap 1<" in drawn and ">Isomap 2<" in drawn
    (line,) = re.findall(r'<polyline class="way" points="([^"]*)"', drawn)
    assert len(line.split()) == len(ids)
    assert "&lt;b&gt;&amp;" in drawn
    assert "<b>" not in drawn


TEXT = re.compile(r'<text class="(\w+)" x="([\d.-]+)" y="([\d.-]+)"(?: text-anchor="(\w+)")?>([^<]*)<')


def test_names_of_both_ends_are_inside_the_panel_and_over_a_ground_of_their_own(mlcli: Caller) -> None:
    """Of one axis the first row is at the left end, where the numbers of the axis stand."""
    mlcli.finished("embed", "points.csv", "--id-column", "id", "-m", "isomap", "-k", "5", "-p", "1", "-o", "line", "-q")
    called = mlcli("route", "line", "p0", "p40", "--explain", "page.html", "--picture", "way.svg", "-o", "way.csv")
    assert called.code == 0, called.err
    page, drawn = Path("page.html").read_text(), Path("way.svg").read_text()
    assert "Points on the only axis of the run, over the numbers of their rows." in page and "two axes" not in page
    assert mlcli("route", "line", "p0", "p40", "--picture", "bare.svg", "-o", "bare.csv", "-q").code == 0
    for picture in (page, drawn, Path("bare.svg").read_text()):
        texts = {text: (float(x), float(y), anchor) for _, x, y, anchor, text in TEXT.findall(picture)}
        grounds = [tuple(map(float, bar)) for bar in re.findall(
            r'<rect class="ground" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', picture)]
        assert len(grounds) == 2
        for name, (left, top, wide, high) in zip(("p0", "p40"), grounds, strict=True):
            x, y, anchor = texts[name]
            assert left < x < left + wide and top < y < top + high and left >= 58 and left + wide <= 60 + 408 + 16
            assert abs(x - left - 2 if anchor != "end" else left + wide - 2 - x) < 0.2
            assert not any(left < float(own) < left + wide and top < float(line) < top + high
                           for kind, own, line, *_ in TEXT.findall(picture) if kind == "small")


def test_the_title_of_the_picture_is_not_cut(mlcli: Caller) -> None:
    Path("points.csv").write_text(Path("points.csv").read_text().replace("p9,", "a point of a long name,"))
    mlcli.finished("embed", "points.csv", "--id-column", "id", "-m", "isomap", "-k", "5", "-o", "long", "-q")
    assert mlcli("route", "long", "a point of a long name", "p40", "--picture", "way.svg", "-q").code == 0
    drawn = Path("way.svg").read_text()
    title = next(text for kind, *_, text in TEXT.findall(drawn) if kind == "title")
    wide = float(re.findall(r'width="([\d.]+)"', drawn)[0])
    assert wide >= 60 + 8 * len(title) > 508


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (("run", "p1", "P49"), 78, "'p49'"), (("run", "nothing", "p1"), 78, "'p0', 'p1'"),
    (("missing", "p1", "p2"), 66, "E-NO-RUN"), (("run", "p1", "p2", "--picture", "way.jpg"), 2, ".svg, .png, .pdf"),
    (("run", "p1", "p2", "-o", "way.txt"), 2, "E-FORMAT"),
    (("run", "p1", "p2", "-o", "a.svg", "--format", "csv", "--picture", "./a.svg"), 2, "E-ONE-FILE")])
def test_refusals(mlcli: Caller, arguments: tuple[str, ...], code: int, said: str) -> None:
    called = mlcli("route", *arguments)
    assert (called.code, said in called.err, called.out) == (code, True, ""), called.err


@pytest.mark.parametrize("method", ["pca", "laplacian", "lle"])
def test_a_run_without_a_graph_of_lengths_has_no_paths(mlcli: Caller, method: str) -> None:
    mlcli.finished("embed", "points.csv", "--id-column", "id", "-m", method, "-o", "other", "-q")
    called = mlcli("route", "other", "p1", "p2")
    assert (called.code, "E-NO-GRAPH" in called.err) == (78, True)


def test_a_changed_embedding_is_not_used(mlcli: Caller) -> None:
    Path("run/embedding.csv").write_text(Path("run/embedding.csv").read_text().replace("p3,", "p333,"))
    assert mlcli("route", "run", "p1", "p2").code == 83


@given(st.integers(0, 10**6), st.integers(0, 24), st.integers(0, 24))
def test_every_way_is_as_long_as_all_algorithms_say(seed: int, start: int, end: int) -> None:
    generator = np.random.default_rng(seed)
    pairs = generator.integers(0, 25, (60, 2))
    pairs = np.vstack([pairs[pairs[:, 0] != pairs[:, 1]], np.column_stack([np.arange(24), np.arange(1, 25)])])
    lengths = generator.integers(0, 4, len(pairs)).astype(float)  # zeros and ties
    graph, every = undirected(25, pairs[:, 0], pairs[:, 1], lengths, "union"), np.empty((25, 25))
    floyd_warshall(graph, every)
    found = shortest_route(graph, start, end)
    assert (found.points[0], found.points[-1]) == (start, end)
    assert len(set(found.points.tolist())) == len(found.points)
    assert found.lengths.tolist() == [every[start, point] for point in found.points.tolist()]


def settled_in(called: Called) -> list[tuple[str, float, float]]:
    """The points that were settled, in order, with their distances and whether they are on the path."""
    assert called.code == 0, called.err
    header, *rows = csv.reader(io.StringIO(called.out))
    assert header == ["id", "length", "on_path"]
    return [(name, float(length), float(passed)) for name, length, passed in rows]


def test_an_explanation_settles_points_by_distance_up_to_the_target(mlcli: Caller, run: Array) -> None:
    called = mlcli("route", "run", "p0", "p49", "--explain", "page.html", "--picture", "visited.svg")
    found = settled_in(called)
    lengths = [length for _, length, _ in found]
    assert lengths == sorted(lengths) and found[0][:2] == ("p0", 0.0) and found[-1][0] == "p49"
    assert lengths == pytest.approx([run[0, NAMES.index(name)] for name, _, _ in found], rel=1e-12)
    nearer = {NAMES[point] for point in np.flatnonzero(run[0] < lengths[-1]).tolist()}
    assert {name for name, _, _ in found} == nearer | {"p49"}  # all that are nearer, and no others
    ids, along = way(mlcli("route", "run", "p0", "p49"))
    assert [(name, length) for name, length, passed in found if passed] == list(zip(ids, along, strict=True))
    page, drawn = Path("page.html").read_text(), Path("visited.svg").read_text()
    assert all(part in page for part in ("then there is no path.</li>", "is settled after", "scheme:dark"))
    assert page.count("<h2>") == 4
    assert 'class="arrow"' not in drawn  # black lines hid the colors, which are the order
    (line,) = re.findall(r'<polyline class="way" points="([^"]*)"', drawn)
    assert len(line.split()) == len(ids) and "settled" in drawn
    assert f"{len(found) - 1} other points of 50" in called.err


def test_of_many_settled_points_the_first_are_open(mlcli: Caller, run: Array) -> None:
    found = settled_in(mlcli("route", "run", "p0", NAMES[int(np.argmax(run[0]))], "--explain", "page.html"))
    shown, _, rest = Path("page.html").read_text().partition("Settled points, in order")[2].partition("<details>")
    assert len(found) == 50 and shown.count("<tr>") == 1 + FIRST
    assert rest.startswith(f"\n<summary>{50 - FIRST} further points</summary>")
    assert rest.partition("</details>")[0].count("<tr>") == 1 + 50 - FIRST


def test_an_explanation_is_a_page_of_its_own(mlcli: Caller) -> None:
    for options, code, said in ((("--explain", "a.txt"), 2, "E-FORMAT"),
                                (("--explain", "a.html", "-o", "a.html", "--format", "csv"), 2, "E-ONE-FILE")):
        called = mlcli("route", "run", "p1", "p2", *options)
        assert (called.code, said in called.err, called.out) == (code, True, "")
    Path("there.html").write_text("before")
    assert mlcli("route", "run", "p1", "p2", "--explain", "there.html").code == 73
    assert Path("there.html").read_text() == "before"
    assert mlcli("route", "run", "p1", "p5", "--explain", "there.html", "--force", "-q").code == 0
    assert "Floyd" in Path("there.html").read_text()


@given(st.integers(0, 10**6), st.integers(0, 24), st.integers(0, 24))
def test_a_search_holds_every_shortest_path_and_stops_at_its_target(seed: int, start: int, end: int) -> None:
    """Also in graphs of several pieces, with ties and edges of length zero; Floyd's distances are the same."""
    generator = np.random.default_rng(seed)
    pairs = generator.integers(0, 25, (25, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = undirected(25, pairs[:, 0], pairs[:, 1], generator.integers(0, 4, len(pairs)) / 8, "union")
    *_, every = after_each_pivot(graph)
    found = search(graph, start, end)
    assert np.all(np.diff(found.lengths) >= 0)
    assert found.lengths.tolist() == every[start, found.settled].tolist()
    assert len(set(found.settled.tolist())) == len(found.settled) and found.settled[0] == start
    places = {point: place for place, point in enumerate(found.settled.tolist())}
    assert all(places[before] < places[point] for point, before in list(
        zip(found.settled.tolist(), found.before.tolist(), strict=True))[1:])
    if np.isfinite(every[start, end]):
        assert found.settled[-1] == end
        assert set(shortest_route(graph, start, end).points.tolist()) <= set(found.settled.tolist())
        assert (found.tentative >= found.lengths[-1]).all()
    else:  # a complete traversal of the piece
        assert set(found.settled.tolist()) == set(np.flatnonzero(np.isfinite(every[start])).tolist())
        assert len(found.frontier) == 0


@given(st.integers(0, 10**6))
def test_the_first_settled_points_hold_the_shortest_paths_to_each_other_one(seed: int) -> None:
    """So Floyd's algorithm on any number of them finds Dijkstra's distances."""
    generator = np.random.default_rng(seed)
    pairs = generator.integers(0, 20, (50, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = undirected(20, pairs[:, 0], pairs[:, 1], generator.random(len(pairs)), "union")
    found = search(graph, 0, 19)
    for count in range(1, len(found.settled) + 1):
        places = np.sort(found.settled[:count])
        *_, every = after_each_pivot(graph.subgraph(places))
        order = np.searchsorted(places, found.settled[:count])
        assert every[order[0], order] == pytest.approx(found.lengths[:count], rel=1e-12)


def test_a_point_that_cannot_be_reached_is_told_in_words(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are on one piece; here edges of the read graph are taken away."""
    from mlcli.runs.explain_route import explain_route
    from mlcli.runs.route import RouteGraph

    whole = RouteGraph.of(Path("run"), "p0", "p49")
    pairs = np.array([[0, 1], [1, 2], [3, 49]])
    parts = replace(whole, graph=undirected(50, pairs[:, 0], pairs[:, 1], np.array([1.0, 2.0, 1.0]), "union"))
    monkeypatch.setattr(RouteGraph, "of", lambda *_: parts)
    found = explain_route(Path("run"), "p0", "p49")
    assert "no path from 'p0' to 'p49': 3 points of 50 can be reached" in found.sentence()
    assert found.table().ids == ("p0", "p1", "p2") and not found.reached
    page = found.page()
    assert "There is no path" in page and "settled first" in page and 'class="way"' not in page


def test_where_the_page_cannot_be_written_neither_the_table_nor_the_picture_is(mlcli: Caller) -> None:
    Path("file").touch()
    called = mlcli("route", "run", "p1", "p9", "--explain", "file/x.html", "-o", "way.csv", "--picture", "way.svg")
    assert called.code == 73 and not Path("way.csv").exists() and not Path("way.svg").exists()
