"""`mlcli check` as a user meets it."""

import json
from pathlib import Path

import numpy as np

from tests.journeys.support import Caller

SAMPLES = Path(__file__).parents[3] / "sample_data"


def test_eurodist_as_json(mlcli: Caller) -> None:
    called = mlcli("check", "--dissimilarities", SAMPLES / "eurodist.csv", "--json")
    document = json.loads(called.out)
    assert (called.code, called.err) == (0, "")
    assert (document["metric"]["triangle"]["violations"], document["metric"]["triangle"]["triples"]) == (161, 1330)
    assert round(document["euclidean"]["smallest_eigenvalue"], 2) == -2251844.33
    assert round(document["corrections"]["cailliez"], 6) == 2132.678495
    assert document["graph"]["connecting_k"] == 3
    assert [finding["code"] for finding in document["findings"]] == ["C-TRIANGLE", "C-NOT-EUCLIDEAN"]
    assert document["clean"] is False


def test_strict_is_65_with_findings_and_0_without(mlcli: Caller) -> None:
    found = mlcli("check", "--dissimilarities", SAMPLES / "eurodist.csv", "--strict")
    assert found.code == 65
    assert "161 of 1,330 triples" in found.out
    assert found.err.startswith("mlcli: error[E-FINDINGS]: ")
    assert "C-NOT-EUCLIDEAN" in found.err
    clean = mlcli("check", "data.csv", "-k", 5, "--strict", "--json")
    assert (clean.code, json.loads(clean.out)["clean"]) == (0, True)


def test_the_parts_of_the_report_are_called_in_words(mlcli: Caller) -> None:
    said = mlcli("check", "--dissimilarities", SAMPLES / "eurodist.csv").out
    headings = [part.partition("\n")[0] for part in said.split("\n\n")[1:]]
    assert headings[:3] == ["Metric", "Euclidean", "Neighbors"]
    assert "\n  Euclidean                   no\n" in said


def test_negative_eigenvalues_are_counted_as_axes(mlcli: Caller) -> None:
    """Also where dissimilarities have no columns: those of city blocks are a metric, and not Euclidean."""
    points = np.random.default_rng(0).random((40, 3))
    np.save("blocks.npy", np.abs(points[:, None] - points).sum(axis=2))
    said = mlcli("check", "--dissimilarities", "blocks.npy").out
    assert " axes of 40, the first alike at nearest points" in said and "direction" not in said


def test_what_uniform_points_would_show_stands_beside_what_the_data_shows(mlcli: Caller) -> None:
    """In two dimensions 1% and 10% of uniform points lie within their roots, and 19% in the outer tenth."""
    np.savetxt("square.csv", np.random.default_rng(0).random((60, 2)), delimiter=",", header="x,y", comments="")
    document, said = json.loads(mlcli("check", "square.csv", "--json").out), mlcli("check", "square.csv").out
    measured = document["concentration"]["measured"]
    for label, found, uniform in (("radius with 1% of points", f"{measured['one_percent']:.3f}", "0.100"),
                                  ("radius with 10% of points", f"{measured['ten_percent']:.3f}", "0.316"),
                                  ("outer tenth of the ball", f"{100 * measured['outer_tenth']:.1f}%", "19.0%")):
        (line,) = (line for line in said.splitlines() if label in line)
        assert f" {found} (uniform points: {uniform} in dimension 2, " in line
    assert "reach in" not in said and "d = " not in said


def test_a_part_without_facts_has_no_heading(mlcli: Caller) -> None:
    Path("three.csv").write_text("a,b,c\n0,1,2\n1,0,1.5\n2,1.5,0\n", encoding="utf-8")
    said = mlcli("check", "--dissimilarities", "three.csv").out
    parts = [part.splitlines() for part in said.split("\n\n")[1:-1]]
    assert parts and all(len(part) > 1 and part[1].startswith("  ") for part in parts)


def test_text_says_what_embed_would_refuse_and_the_rest(mlcli: Caller) -> None:
    Path("d.csv").write_text(",a,b,c\na,0,-1,2\nb,3,0,1\nc,2,1,0.5\n", encoding="utf-8")
    called = mlcli("check", "--dissimilarities", "d.csv")
    assert called.code == 0
    for code in ("C-NEGATIVE", "C-DIAGONAL", "C-ASYMMETRIC"):
        assert f"error[{code}]" in called.out
    assert "'a' and 'b' (-1, 3)" in called.out
    assert mlcli("embed", "-m", "mds", "--dissimilarities", "d.csv", "-o", "-").code == 65


def test_files_that_cannot_be_read_keep_their_errors(mlcli: Caller) -> None:
    Path("text.csv").write_text("a,b\n1,1-1\n2,2-1\n", encoding="utf-8")
    Path("wide.csv").write_text("0,1,2\n1,0,3\n", encoding="utf-8")
    assert (mlcli("check", "nowhere.csv").code, mlcli("check", "text.csv").code) == (66, 65)
    wide = mlcli("check", "--dissimilarities", "wide.csv")
    assert (wide.code, "E-NOT-SQUARE" in wide.err) == (65, True)
    assert mlcli("check", "data.csv", "-k", 30).code == 78
    assert mlcli("check", "--dissimilarities", SAMPLES / "eurodist.csv", "--memory-limit", 8000).code == 82
    assert mlcli("check", "data.csv", "--columns", "q").code == 78
    assert mlcli("check", "--dissimilarities", SAMPLES / "eurodist.csv", "--scale", "standard").code == 78


def test_input_flags_and_scales_are_those_of_embed(mlcli: Caller) -> None:
    plain = json.loads(mlcli("check", "data.csv", "--columns", "x,z", "--json").out)
    scaled = json.loads(mlcli("check", "data.csv", "--columns", "x,z", "--scale", "standard", "--json").out)
    assert plain["features"] == scaled["features"]
    assert plain["features"]["columns"] == 2
    assert plain["graph"]["connecting_radius"] != scaled["graph"]["connecting_radius"]


def test_phylip_and_names_with_control_characters(mlcli: Caller) -> None:
    assert "a metric" in mlcli("check", "--dissimilarities", SAMPLES / "us_cities.phy").out
    Path("odd.csv").write_text("a\x1b[31m,b\n1,2\n1,2\n1,3\n", encoding="utf-8")
    called = mlcli("check", "odd.csv")
    assert called.code == 0
    assert "\x1b" not in called.out


def test_quiet_shows_the_findings_alone(mlcli: Caller) -> None:
    called = mlcli("check", "--dissimilarities", SAMPLES / "eurodist.csv", "-q")
    assert called.out.startswith("2 findings\n")
    assert called.err == ""


def test_threads_change_nothing(mlcli: Caller) -> None:
    values = np.random.default_rng(0).random((60, 60))
    np.save("d.npy", values + values.T - np.diag(np.diag(values + values.T)))
    one, two = (mlcli("check", "--dissimilarities", "d.npy", "--json", "--threads", count).out for count in (1, 2))
    assert json.loads(one)["metric"] == json.loads(two)["metric"]


def test_what_connects_is_advised_in_the_terms_asked_for_and_does(mlcli: Caller) -> None:
    points = np.random.default_rng(0).standard_normal((40, 2))
    np.save("two.npy", np.concatenate([points, points + 50]))
    for flag in ("-k", "--radius"):
        advice = next(finding["advice"] for finding in json.loads(mlcli("check", "two.npy", flag, 3, "--json").out)
                      ["findings"] if finding["code"] == "C-PIECES")
        assert advice.startswith(f"use {flag} ")
        enough = advice.split()[2].rstrip(",")
        assert mlcli("embed", "-m", "isomap", "two.npy", flag, enough, "-o", f"run{flag}").code == 0


def test_scales_are_no_finding_once_they_are_evened_out(mlcli: Caller) -> None:
    values = np.random.default_rng(0).standard_normal((60, 2)) * [1, 1000]
    np.save("wide.npy", values)
    for scale, expected in (("none", True), ("center", True), ("standard", False)):
        assert ("C-SCALES" in mlcli("check", "wide.npy", "--scale", scale).out) == expected


def test_cells_left_to_a_model_leave_the_geometry_to_whole_rows(mlcli: Caller) -> None:
    """The checkup fits no model: distances are between the rows that have all numbers."""
    points = np.random.default_rng(0).standard_normal((40, 3))
    points[::7, 1] = np.nan
    np.savetxt("gaps.tsv", points, delimiter="\t", header="a\tb\tc", comments="")
    left, dropped = (json.loads(mlcli("check", "gaps.tsv", "--set", f"prepare.missing={policy}", "--json").out)
                     for policy in ("model", "drop"))
    assert left["features"]["missing"]["cells"] == 6
    for section in ("graph", "hubness", "intrinsic_dimension", "concentration"):
        assert left[section] == dropped[section] is not None


def test_the_geometry_is_that_of_the_metric(mlcli: Caller) -> None:
    from mlcli.core.metrics.angles import Cosine
    from mlcli.core.metrics.distances import pairwise

    points = np.random.default_rng(4).random((40, 5)) + 0.1
    np.savetxt("points.csv", points, delimiter=",", header="a,b,c,d,e", comments="")
    apart = pairwise(Cosine(), np.loadtxt("points.csv", delimiter=",", skiprows=1))
    np.savetxt("apart.csv", apart, delimiter=",", fmt="%.17g")
    one = json.loads(mlcli("check", "--metric", "cosine", "points.csv", "-k", 6, "--json").out)
    other = json.loads(mlcli("check", "--dissimilarities", "apart.csv", "-k", 6, "--json").out)
    for section in ("hubness", "graph", "intrinsic_dimension"):
        assert {key: value for key, value in one[section].items() if not isinstance(value, float)} == {
            key: value for key, value in other[section].items() if not isinstance(value, float)}
    assert abs(one["graph"]["connecting_radius"] / other["graph"]["connecting_radius"] - 1) < 1e-12
    assert "cosine" in next(part["reason"] for part in one["skipped"] if part["check"] == "concentration")


def test_a_page_has_the_curves_of_the_data_and_of_its_label(mlcli: Caller) -> None:
    called = mlcli("check", SAMPLES / "iris.csv", "--label-column", "Species", "-o", "iris.html", "--json")
    found = json.loads(called.out)["column_subsets"]
    assert (called.code, found["sizes"], found["separation"][0]["label"]) == (0, [1, 2, 4], "Species")
    near = json.loads(called.out)["concentration"]["nearest_over_farthest"]
    assert abs(found["nearest_over_farthest"][-1]["median"] / near - 1) < 1e-12
    page = Path("iris.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3 and "columns add up." in page and "C-PIECES" in page
    again = mlcli("check", SAMPLES / "iris.csv", "-o", "iris.html")
    assert (again.code, again.out) == (73, "")
    assert Path("iris.html").read_text(encoding="utf-8") == page
    assert mlcli("check", SAMPLES / "iris.csv", "-o", "iris.csv").code == 2


def test_labels_of_many_values_have_no_curve_and_this_is_said(mlcli: Caller) -> None:
    rows = "".join(f"{row % 7},{row % 5},n{row}\n" for row in range(30))
    Path("named.csv").write_text(f"x,y,name\n{rows}", encoding="utf-8")
    skipped = json.loads(mlcli("check", "named.csv", "--label-column", "name", "--json").out)["skipped"]
    assert [part["check"] for part in skipped] == ["column_subsets.separation of 'name'"]
