"""Figures of the tutorials of three users beside those of vegan, psych and scanpy."""

import csv
import json
import re
from pathlib import Path

import pytest

from mlcli.cli.program import run
from tests.laws.agreement.tables import TABLES, facts, read

Rows = dict[str, dict[str, str]]
CLOSE = 1e-10
POINTS = 72 / 25.4  # in a millimeter


def rows_of(path: Path) -> Rows:
    """Rows of a table by their first cells."""
    with path.open(newline="", encoding="utf-8") as stream:
        return {next(iter(row.values())): row for row in csv.DictReader(stream)}


def numbers(rows: Rows, *columns: str) -> dict[str, list[float]]:
    """Numbers of some columns by the first cells of the rows; empty cells and R's NA are left out."""
    return {name: [float(row[column]) for column in columns if row[column] not in ("", "NA")]
            for name, row in rows.items()}


def sizes(numbers: dict[str, list[float]]) -> dict[str, list[float]]:
    """Absolute values, for axes whose signs are arbitrary."""
    return {name: [abs(number) for number in row] for name, row in numbers.items()}


def near(expected: dict[str, list[float]], tolerance: float = CLOSE) -> dict[str, object]:
    """Numbers that a result has to be near to."""
    return {name: pytest.approx(row, abs=tolerance, rel=tolerance) for name, row in expected.items()}


def of_vegan(name: str) -> Rows:
    """A table of vegan about the dune meadows."""
    return rows_of(TABLES / "relation" / f"dune_{name}.csv")


def ecology(folder: Path) -> None:
    """Stress, eigenvalues, corrections, environment, species, PERMANOVA and dispersion of vegan.

    Statistics are those of the tutorial's own runs, p of the same tests by the permutations of a file.
    """
    stress = json.loads((folder / "runs/nmds/run.json").read_text())["fit"]["stress"]
    assert stress == pytest.approx(facts("stress/summary.json")["dune_bray"]["metaMDS"], abs=1e-6)
    plain = [row["eigenvalue"] for row in rows_of(folder / "runs/pcoa/spectrum.csv").values()]
    assert [float(value) for value in plain] == pytest.approx(
        read("pcoa/dune_bray/eigenvalues_all.csv")[:len(plain), 0], abs=CLOSE)
    for place, name in enumerate(("lingoes", "cailliez")):
        found = [float(row["eigenvalue"]) for row in rows_of(folder / f"runs/{name}/spectrum.csv").values()]
        known = read("pcoa/dune_bray/eigenvalues_corrected_all.csv")[:, place]
        assert found[:17] == pytest.approx(known[:17], abs=CLOSE)
    environment, species = folder / "runs/environment", of_vegan("species")
    assert sizes(numbers(rows_of(environment / "species.csv"), "y1", "y2")) == near(
        sizes(numbers(species, "y1", "y2")))
    require_environment(environment, ("r2", "r2"))
    require_terms(folder / "runs/permanova", "margin", ("sum_of_squares", "SumOfSqs"), ("r2", "R2"), ("F", "F"))
    require_terms(folder / "runs/blocks", "use", ("sum_of_squares", "SumOfSqs"), ("r2", "R2"), ("F", "F"))
    spread = json.loads((folder / "runs/dispersion/relate.json").read_text())["dispersion"]
    test = of_vegan("median_test")["Groups"]
    assert {level: [mean] for level, mean in spread["mean_distances"].items()} == near(
        numbers(of_vegan("median_means"), "mean"))
    assert (spread["F"], spread["df"]) == (pytest.approx(float(test["F"]), abs=CLOSE), [3, 16])
    options = ["relate", "runs/pcoa", "--with", "sample_data/dune_env.csv", "--factors", "Moisture", "--species",
               "none", "-q", "--force", "-o", "again", "--permutations"]
    free, blocked = (str(TABLES / "relation" / f"orders_dune{name}.csv") for name in ("", "_use"))
    assert run([*options, free, "--formula", "A1 + Moisture + Management", "--by", "margin", "--dispersion",
                "Management"]) == 0
    require_environment(folder / "again", ("p_value", "p"))
    require_terms(folder / "again", "margin", ("p_value", "Pr(>F)"))
    found = json.loads((folder / "again/relate.json").read_text())["dispersion"]["p_value"]
    assert found == float(test["Pr(>F)"])
    assert run([*options, blocked, "--formula", "Management + A1", "--by", "terms", "--strata", "Use"]) == 0
    require_terms(folder / "again", "use", ("p_value", "Pr(>F)"))
    require_size(folder / "runs/figure/relate.pdf", 90, 80)


def require_environment(folder: Path, columns: tuple[str, str]) -> None:
    """A column of vectors.csv and factors.csv and that of vegan's fits to three axes."""
    found, known = columns
    for name, rows in (("vectors", of_vegan("envfit_vectors")), ("factors", of_vegan("envfit_factors"))):
        assert numbers(rows_of(folder / f"{name}.csv"), found) == near(numbers(rows, known))


def require_terms(folder: Path, table: str, *columns: tuple[str, str]) -> None:
    """Columns of permanova.csv and those of vegan's table."""
    found = numbers(rows_of(folder / "permanova.csv"), *(own for own, _ in columns))
    assert found == near(numbers(of_vegan(table), *(theirs for _, theirs in columns)))


def psychology(folder: Path) -> None:
    """Fit by maximum likelihood, polychoric loadings after oblimin, alpha, omega and items of psych."""
    known = facts("psych/survey.json")
    plain = json.loads((folder / "runs/complete/run.json").read_text())["fit"]
    assert [plain[name] for name in ("chi_square", "degrees_of_freedom", "p_value")] == pytest.approx(
        [known[name] for name in ("chi_square", "freedom", "p_value")], rel=1e-6)
    fit = json.loads((folder / "runs/polychoric/run.json").read_text())["fit"]
    assert fit["rmsr"] == pytest.approx(known["rmsr"], abs=1e-6)
    rotated = json.loads((folder / "runs/rotated/run.json").read_text())["fit"]
    loadings = numbers(rows_of(folder / "runs/rotated/loadings.csv"), "y1", "y2", "y3")
    theirs = numbers(rows_of(TABLES / "psych/survey_oblimin.csv"), "MR1", "MR2", "MR3")
    order = (0, 2, 1)  # of their factors: extraversion, agreeableness, conscientiousness
    standardized = {name: [value / rotated["variances"][name] ** 0.5 for value in row]
                    for name, row in loadings.items()}
    assert standardized == near({name: [row[place] for place in order] for name, row in theirs.items()}, 1e-4)
    correlations = read("psych/survey_correlations.csv")[[*order]][:, [*order]]
    assert rotated["factor_correlations"] == [pytest.approx(row, abs=1e-4) for row in correlations.tolist()]
    reliability = json.loads((folder / "runs/survey/reliability.json").read_text())
    assert reliability["alpha"] == pytest.approx(known["alpha"], abs=1e-12)
    assert [reliability["omega_total"], reliability["omega_hierarchical"]] == pytest.approx(
        [known["omega_total"], known["omega_hierarchical"]], abs=1e-4)
    assert numbers(rows_of(folder / "runs/survey/items.csv"), "alpha_without") == near(
        {name: [value] for name, value in known["alpha_without"].items()}, 1e-12)
    for name, lines in (("loadings", 15 + 4 + 3), ("items", 15)):
        text = (folder / f"{name}.tex").read_text(encoding="utf-8")
        body = [line for line in text.splitlines() if line.endswith("\\\\")]
        tables = text.count("\\begin{tabular}")
        assert len(body) == lines + tables and text.count("\\toprule") == text.count("\\end{tabular}") == tables


def genomics(folder: Path) -> None:
    """Variable genes and components of scanpy, in the run and in the copy of its file.

    Sums of numbers in single precision have other last digits there. What else the file holds is in the copy.
    """
    h5py = pytest.importorskip("h5py")
    genes = {name: row for name, row in rows_of(folder / "runs/pca/genes.csv").items() if row["highly_variable"] == "1"}
    columns = ("means", "dispersions_norm")
    assert numbers(genes, *columns) == near(numbers(rows_of(TABLES / "cells/genes.csv"), *columns), 1e-6)
    theirs = rows_of(TABLES / "cells/variances.csv").values()
    spectrum = [*rows_of(folder / "runs/pca/spectrum.csv").values()][:len(theirs)]
    assert [float(row["eigenvalue"]) * 1000 / 999 for row in spectrum] == pytest.approx(
        [float(row["variance"]) for row in theirs], rel=1e-6)
    assert [float(row["proportion"]) for row in spectrum] == pytest.approx(
        [float(row["variance_ratio"]) for row in theirs], rel=1e-6)
    axes = [f"y{axis}" for axis in range(1, 11)]
    scores, known = rows_of(folder / "runs/pca/embedding.csv"), rows_of(TABLES / "cells/scores.csv")
    expected = near(sizes(numbers(known, *axes)), 1e-5)
    assert sizes(numbers({name: scores[name] for name in known}, *axes)) == expected
    placed = rows_of(folder / "new-coordinates.csv")
    assert len(placed) == 50 and numbers(placed, *axes) == near(numbers({name: scores[name] for name in placed}, *axes))
    for name in ("scatter", "scatter-2"):
        require_size(folder / f"runs/umap/{name}.pdf", 90, 70)
    with h5py.File(folder / "cells.h5ad") as cells, h5py.File(folder / "cells-umap.h5ad") as copy:
        for part in ("X/data", "X/indices", "layers/counts/data", "obs/type/codes", "var/_index"):
            assert (copy[part][()] == cells[part][()]).all()
        assert copy["uns/neighbors/params/n_neighbors"][()] == 15 and copy["varm/PCs"].shape == (2000, 10)
        places = [place for place, name in enumerate(copy["obs/_index"].asstr()[()]) if name in known]
        assert {name: [abs(number) for number in row] for name, row in zip(
            known, copy["obsm/X_pca"][()][places].tolist(), strict=True)} == expected
        layout = numbers(rows_of(folder / "runs/umap/embedding.csv"), "y1", "y2")
        assert copy["obsm/X_umap"][()].tolist() == [*layout.values()]


def require_size(path: Path, width: float, height: float) -> None:
    """A page of PDF of a size in millimeters."""
    page = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", path.read_bytes())
    assert page and [float(side) / POINTS for side in page.groups()] == pytest.approx([width, height], abs=0.01)


FIGURES = {"ecology": ecology, "psychology": psychology, "genomics": genomics}  # by the name of the page
