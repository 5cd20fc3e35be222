"""report.html: what stands in it, and what can never stand in it."""

import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from mlcli.config.report_options import Report
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.loadings.tables import MOST_AXES
from mlcli.findings.quality.measure import QualityResult
from mlcli.report.page.page import _checks, page
from mlcli.report.tables.table import OPEN
from tests.report.support import finished_run, with_findings

HOSTILE = ["</script><img src=x onerror=alert(1)>", "</style><script>alert(1)</script>", '"><svg onload=alert(1)>',
           "' onmouseover='alert(1)", "</title><script>", "]]><script>", "<!--", "&lt;script&gt;", "a\u202eb",
           "a\x1b[31m", "a\nb", "x" * 1_000_000]
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "p", "span", "div",
        "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "ul", "li", "strong",
        "pre", "svg", "line", "rect", "polyline", "path", "text", "details", "summary"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "viewbox", "width", "height", "role", "x1",
              "x2", "y1", "y2", "x", "y", "points", "d", "text-anchor", "transform", "stroke-linecap", "stroke-width",
              "fill", "stroke", "stroke-opacity", "fill-opacity", "opacity", "font-size", "font-weight",
              "font-family", "open", "aria-label"}
PLACED = re.compile(r"max-width:[\d.]+px;grid-template-columns:minmax\(0,[\d.]+fr\)( minmax\(0,[\d.]+fr\))*|"
                    r"(grid-area:\d+/\d+/span \d+;)?(--down:[\d.]+px;)?--letters:[\d.]+px")  # styles: numbers alone
EVERYDAY = 3  # names that are tried each time where Matplotlib draws them, which takes a second


def some_everyday(names: list[str]) -> list[Any]:
    """Names for a test of which the most are tried only when there is time."""
    return [*names[:EVERYDAY], *(pytest.param(name, marks=pytest.mark.slow) for name in names[EVERYDAY:])]


class Seen(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, value in attributes if name != "style" or not PLACED.fullmatch(str(value))}
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_is_well_formed_and_holds_every_section() -> None:
    run = finished_run(axes=4, labels={"kind": ["a", "b", "c"] * 10},
                   quality=QualityResult({"neighbors": 12, "anchors": 30, "exact": False, "distances": "euclidean",
                                          "trustworthiness": 0.91, "trustworthiness_se": 0.002,
                                          "q_nx": {"neighbors": [1, 2, 3], "values": [0.2, 0.4, 0.5]}},
                                         np.array([[1.0, 0.5], [2.0, 2.0]])),
                   trace=CsvColumns({"step": ["1", "2", "3"], "objective": ["9", "4", "3"]}),
                   loadings=CsvColumns({"column": ["width", "height"], "y1": ["0.5", "-0.9"], "y2": ["1", "0"]}),
                   certificate={"verdict": "pass", "checks": [{"name": "residual", "value": 0.5, "tolerance": 10.0,
                                                               "verdict": "pass", "how": "of every axis"}]},
                   dimension={"recommendation": {"sentence": "Keep 2 axes by the elbow."}, "left_out": {},
                              "rules": {"residual_variance": {
                                  "components": 2, "rule": "elbow", "detail": "0.1 left",
                                  "figures": {"residual_variances": [0.5, 0.1, 0.09, 0.08]}}}},
                   manifest={"warnings": [{"code": "W-NEGATIVE", "message": "not Euclidean"}],
                             "fit": {"log_likelihood": -296.7, "p_value": None, "converged": True,
                                     "transition": [[1.0]], "uniquenesses": {f"column {i}": 0.5 for i in range(30)}}})
    seen = Seen(page(run))
    assert seen.open == [] and seen.tags <= TAGS and seen.attributes <= ATTRIBUTES
    text = " ".join(seen.words)
    for words in ["pca: points.csv", "1 warning", "W-NEGATIVE", "Embedding, colored by kind", "a (10)", "Scree plot",
                  "Cumulative share", "0.91", "0.002", "Shepard diagram", "Q_NX", "Objective by step", "height",
                  "method.divisor", "'n-1'", "eigensolve",
                  "log likelihood", "-296.7", "p value", "converged", "yes", "column 19", "The first 20; run.json has",
                  "mlcli run RUN/config.yaml", "numpy 2.0",
                  "openblas 0.3 (Haswell, 2 threads)", "certificate passed", "of every axis",
                  "Keep 2 axes by the elbow.",
                  "Residual variance by dimension"]:
        assert words in text, words
    assert "column 20" not in text and "transition" not in text


def test_shares_over_one_are_explained() -> None:
    run = finished_run(axes=1)
    over = CsvColumns({"component": ["1", "2"], "eigenvalue": ["3", "-1"], "proportion": ["1.5", "-0.5"],
                       "cumulative": ["1.5", "1"]})
    text = page(replace(with_findings(run, spectrum=over), manifest={**run.manifest, "spectrum": {
        "computed": 2, "sum_of_positive": 3.0, "negative_share": 0.25}}))
    assert "which includes negative eigenvalues" in text and "cumulative, of positive ones" in text
    assert "which includes negative eigenvalues" not in page(run)


def test_columns_that_say_nothing_are_left_out() -> None:
    run = finished_run()
    unknown = CsvColumns({"component": ["1", "2"], "eigenvalue": ["3", "1"], "proportion": ["", ""],
                          "cumulative": ["", ""]})
    assert "<th class=\"n\">share of trace</th>" in page(run)
    text = page(with_findings(run, spectrum=unknown))
    assert "share of trace" not in text and "<th class=\"n\">eigenvalues</th>" in text


@pytest.mark.parametrize("count", [OPEN, OPEN + 1])
def test_many_loadings_are_folded(count: int) -> None:
    loadings = CsvColumns({"column": [f"c{i}" for i in range(count)], "y1": ["0.5"] * count, "y2": ["0.25"] * count})
    text = page(finished_run(loadings=loadings))
    assert f">c{count - 1}<" in text and (f"<summary>{count} columns</summary>" in text) == (count > OPEN)


def test_of_many_axes_the_first_are_shown() -> None:
    axes = {f"y{axis + 1}": np.linspace(0.1, 0.9, 4) for axis in range(MOST_AXES + 2)}
    text = page(finished_run(loadings=CsvColumns({"column": list("abcd"), **axes})))
    assert f">PC {MOST_AXES}<" in text and f">PC {MOST_AXES + 1}<" not in text
    assert f"The first {MOST_AXES} of {MOST_AXES + 2} axes; loadings.csv has all of them." in text


def test_the_recommendation_is_said_to_its_end() -> None:
    said = f"Keep 2 axes; {'the others differ, ' * 30}and so on."
    assert len(said) > 500 and said in page(finished_run(dimension={"recommendation": {"sentence": said}}))


def test_a_covariance_matrix_has_no_section_for_rows() -> None:
    run = finished_run(rows=0, loadings=CsvColumns({"column": ["a", "b"], "y1": ["0.5", "-0.9"], "y2": ["1", "0"]}))
    words = Seen(page(run)).words
    assert "Embedding" not in words and "rows × columns" not in words and "Loadings" in words


def test_what_a_run_does_not_have_is_left_out() -> None:
    text = page(finished_run())
    for title in ["Quality", "Certificate", "How many dimensions", "Fit", "Iterations", "Loadings", "Warnings"]:
        assert f"<h2>{title}" not in text


@pytest.mark.medium
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_stay_text_wherever_they_stand(name: str) -> None:
    run = finished_run(rows=20, axes=3, labels={name: [name, "b"] * 10}, path=name,
                       ids=[name + str(i) for i in range(20)],
                       trace=CsvColumns({name: ["1", "2"], name + "2": ["3", "4"]}),
                       loadings=CsvColumns({name: [name], "y1": ["1"]}),
                       quality=QualityResult({name: 0.5}, None), certificate={"verdict": name, "checks": [
                           {"name": name, "value": 1.0, "tolerance": 10.0, "verdict": name, "how": name}]},
                       dimension={"recommendation": {"sentence": name}, "left_out": {name: name},
                                  "rules": {name: {"components": 2, "rule": name, "detail": name}}},
                       manifest={"warnings": [{"code": name, "message": name}], "versions": {name: name},
                                 "fit": {name: 1.0, "uniquenesses": {name: 1.0}},
                                 "stages": [{"stage": name, "seconds": 1.0}], "finished": name})
    text = page(replace(run, config=run.config.replace(report=Report(title=name[:200]))))
    seen = Seen(text)
    assert seen.open == [] and seen.tags <= TAGS and seen.attributes <= ATTRIBUTES
    assert not re.search("[\x00-\x09\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    assert max(map(len, seen.words)) < 30_000 and len(text) < 500_000


def test_nothing_is_loaded_and_nothing_runs() -> None:
    text = page(finished_run(labels={"kind": ["a"] * 30}))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
    assert not re.search(r"<script|https?:|url\(|@import|<a |<img|<link|javascript:", text)
    assert Seen(text).attributes <= ATTRIBUTES


def test_paper_is_light_and_the_screen_as_the_reader_has_it() -> None:
    text = page(finished_run())
    assert "@media print" in text
    dark = re.findall(r"@media[^{]*prefers-color-scheme", text)
    assert dark and all("screen and" in rule for rule in dark)


def test_the_same_run_gives_the_same_page() -> None:
    run = finished_run(rows=7_000, labels={"size": [str(i / 7) for i in range(7_000)]})
    assert page(run) == page(run)
    assert "All 7,000 points: the more of them overlap" in page(run)


@pytest.mark.medium
def test_a_large_run_makes_a_small_page_soon() -> None:
    count = 100_000
    run = finished_run(rows=count, axes=4, labels={"size": np.arange(count).astype(str).tolist(),
                                               "kind": [f"k{i % 40}" for i in range(count)]})
    page(finished_run())
    started = time.process_time()
    text = page(run)
    assert time.process_time() - started < 1.0  # 0.2 s on a machine that does nothing else
    assert len(text) < 2_000_000


@pytest.mark.parametrize(("axes", "values"), [(1, 0.0), (2, 0.0), (2, 1e300), (2, 1e-300), (3, 5.0)])
def test_embeddings_without_extent_and_at_the_ends_of_the_range(axes: int, values: float) -> None:
    run = finished_run(rows=4, axes=axes)
    run.embedding.values[:] = values
    run.embedding.values[0] = -values
    text = page(run)
    assert "nan" not in re.findall(r'(?:d|x|y|points)="([^"]*)"', text)
    assert not re.search(r'="[^"]*(?:nan|inf)\b', text)


def test_words_of_the_certificate_are_not_broken_and_nothing_is_allowed_where_nothing_was_checked() -> None:
    found = {"verdict": "pass", "checks": [
        {"name": "count", "value": None, "tolerance": 0.0, "verdict": "skipped", "how": "no time"},
        {"name": "orthogonality", "value": 0.5, "tolerance": 10.0, "verdict": "pass", "how": "YᵀY = Λ"}]}
    checks = _checks(found)
    assert checks and '<td class="w">orthogonality</td>' in checks.text and '<td class="w">skipped</td>' in checks.text
    assert '<td class="w">count</td><td class="n"></td><td class="n"></td>' in checks.text
