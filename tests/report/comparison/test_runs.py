"""The page over several runs: the best by each measure, curves, the embeddings that are drawn, safe names."""

import re
from typing import Any

import numpy as np
import pytest

from mlcli.report.comparison.runs import (
    DRAWN,
    MEASURES,
    best_by,
    lines,
    measures_of,
    numeric,
    quality_curves,
    ranking,
    runs_page,
    runs_to_draw,
)
from mlcli.report.comparison.side_by_side import Side, align_runs
from mlcli.report.drawing.figure import Dots, Segments, Text

TRUST, CONTINUITY, RESIDUAL = MEASURES


def row(name: str, value: float | None = None, error: float | None = None, **more: Any) -> dict[str, Any]:
    return {"run": name, "exit": 0, "trustworthiness": value, "trustworthiness_se": error, **more}


def test_the_best_is_the_largest_or_the_smallest_and_errors_make_ties() -> None:
    rows = [row("a", 0.9, 0.03), row("b", 0.95, 0.04), row("c", 0.89, 0.01), row("d", None)]
    found = best_by(TRUST, rows)
    assert found is not None and (found.row["run"], found.value, found.tied) == ("b", 0.95, 1)
    assert np.hypot(0.03, 0.04) >= 0.95 - 0.9 and np.hypot(0.01, 0.04) < 0.95 - 0.89
    found = best_by(RESIDUAL, [row("a", residual_variance=0.2), row("b", residual_variance=0.1)])
    assert found is not None and (found.row["run"], found.value, found.tied) == ("b", 0.1, 0)
    assert best_by(CONTINUITY, rows) is None


def test_runs_are_ranked_by_several_measures_and_residual_variance_only_ranks_runs_of_one_graph() -> None:
    torn = row("torn", 0.90, continuity=0.91, residual_variance=0.001)
    whole = row("whole", 0.99, continuity=0.98, residual_variance=0.01)
    near = row("near", 0.97, 0.03, continuity=0.95, residual_variance=0.02)
    rows = [torn, near, whole, row("none")]
    graphs, axes = (measures_of(rows, [path]) for path in ("method.neighbors.count", "method.eigensolve.components"))
    assert graphs == [TRUST, CONTINUITY] and axes == [TRUST, CONTINUITY, RESIDUAL]
    found = ranking(rows, graphs)
    assert [(one.row["run"], tuple(one.ranks)) for one in found] == [
        ("whole", (1, 1)), ("near", (1, 2)), ("torn", (3, 3)), ("none", (4, 4))]
    assert [one.mean for one in ranking(rows, axes)] == [4 / 3, 2, 7 / 3, 4]
    page = runs_page(rows, ["method.neighbors.count"], None, seed=0)
    assert page.index(">whole<") < page.index(">torn<") and "mean rank in trustworthiness and continuity" in page
    assert "can be small for a wrong graph too" in page and "docs/choosing-k.md" in page
    assert "small for a wrong graph" not in runs_page([row("a", 0.9)], ["k"], None, seed=0)


def test_the_table_begins_with_the_method_and_cuts_long_options_but_no_name_of_a_run() -> None:
    answers, name = "+".join(["a long answer"] * 9), "a run with a name " * 4
    page = runs_page([{**row(name, 0.9), "input.answers": answers, "method.name": "fa"}, row("b", 0.8)],
                     ["input.answers", "method.name"], None, seed=0)
    table = page[page.index("<h2>Runs</h2>"):]
    assert re.findall(r"<th[^>]*>(\w+)</th>", table)[:3] == ["run", "method", "answers"]
    assert f">{name}<" in table and answers not in table and "a long answer+" in table


def test_a_line_for_each_combination_of_the_other_options() -> None:
    rows = [row(f"{k}{graph}", k / 100, 0.01, **{"m.k": str(k), "m.graph": graph})
            for k in (16, 8, 12) for graph in ("union", "mutual")]
    parameters = ["m.k", "m.graph"]
    assert numeric(rows, parameters) == ["m.k"]
    drawn = lines(rows, parameters, "m.k", TRUST)
    assert [line.name for line in drawn] == ["graph=union", "graph=mutual"]
    for line in drawn:
        assert list(line.values) == [8, 12, 16] and list(line.heights) == [0.08, 0.12, 0.16]
        assert list(line.errors) == [0.01] * 3
    assert numeric([row("a", k="1"), row("b", k="auto")], ["k"]) == []


@pytest.mark.parametrize("values", [(5.0, 8.0, 24.0), (1e-3, 1e-1, 1e2), (-3.0, 0.0, 4.0)])
def test_curves_keep_order_and_proportion(values: tuple[float, ...]) -> None:
    """Dots rise with the measure; on a linear scale they lie as far apart as the values, else as their logarithms."""
    heights = (0.7, 0.9, 0.8)
    rows = [row(f"{value}", height, 0.02, k=repr(value)) for value, height in zip(values, heights, strict=True)]
    figure = quality_curves(rows, ["k"], "k")
    (dots,) = (mark for mark in figure.marks if isinstance(mark, Dots))
    assert (np.argsort(-dots.points[:, 1]) == np.argsort(heights)).all()
    places = np.log10(values) if values[0] > 0 and values[-1] / values[0] > 50 else np.array(values)
    assert np.allclose(np.diff(dots.points[:, 0]) * (places[2] - places[0]),
                       np.diff(places) * (dots.points[2, 0] - dots.points[0, 0]))
    assert ((dots.points > 0) & (dots.points < (figure.width, figure.height))).all()
    joins, bars = (mark.ends for mark in figure.marks if isinstance(mark, Segments))
    assert np.allclose(joins, np.column_stack([dots.points[:-1], dots.points[1:]]))
    assert np.allclose(bars[:, [0, 2]], dots.points[:, [0]]) and np.allclose(
        (bars[:, 1] + bars[:, 3]) / 2, dots.points[:, 1]) and (bars[:, 1] > bars[:, 3]).all()
    assert [mark.text for mark in figure.marks if isinstance(mark, Text) and mark.text == TRUST.words]


def test_of_many_runs_the_best_are_drawn() -> None:
    values = np.random.default_rng(0).permutation(40) / 40
    rows = [row(str(place), value) for place, value in enumerate(values.tolist())]
    rows[3] = {"run": "3", "exit": 80, "error": "E-KRYLOV: no"}
    drawn = runs_to_draw(rows)
    assert len(drawn) == DRAWN and drawn == sorted(drawn) and 3 not in drawn
    assert min(values[drawn]) > max(np.delete(values, [*drawn, 3]))
    assert runs_to_draw(rows[:10]) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert runs_to_draw([row(str(place)) for place in range(30)]) == list(range(DRAWN))


@pytest.mark.medium
def test_names_are_text_and_embeddings_are_turned_onto_the_first() -> None:
    generator = np.random.default_rng(1)
    points = generator.standard_normal((20, 2))
    turn = np.linalg.qr(generator.standard_normal((2, 2)))[0]
    hostile = '</title><script>alert(1)</script>"'
    sides = [Side(name, "isomap", "data.csv", 20, values, [2.0, 1.0], [0.6, 0.3])
             for name, values in ((hostile, points), ("other", 5 * points @ turn + 3))]
    comparison = align_runs(sides, [hostile] * 20, {"kind": [hostile, "b"] * 10})
    assert np.allclose(*comparison.placed, atol=1e-12)
    rows = [row(hostile, 0.9, k="1"), row("other", 0.8, k="2"),
            {"run": "third", "k": "3", "exit": 65, "error": f"E-CSV: {hostile}"}]
    page = runs_page(rows, ["k"], comparison, seed=0)
    assert "<script" not in page and page.count("<svg") == 5 and "3 runs, 1 of them failed" in page
    assert re.search(r"E-CSV", page) and "Quality against k" in page
    assert "<svg" not in runs_page(rows[2:], ["k"], None, seed=0)
