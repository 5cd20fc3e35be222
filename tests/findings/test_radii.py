"""Local radii: what the file and the page say of them is what the fit states."""

from pathlib import Path

import numpy as np

from mlcli.cli.program import run

TABLE = str(Path(__file__).parents[2] / "sample_data" / "us_arrests.csv")


def test_radii_have_the_correlation_that_the_page_names(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["embed", TABLE, "-m", "umap", "--set", "method.density.weight=2", "--set", "method.epochs=60", "-o",
                str(out), "-q"]) == 0
    radii = np.genfromtxt(out / "radii.csv", delimiter=",", skip_header=1, usecols=(1, 2))
    assert np.abs(np.median(radii[:, 1])) < 1e-12
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"in data and embedding is {np.corrcoef(radii.T)[0, 1]:.3f}" in page and "densities in part" in page


def test_there_are_none_without_a_density_term(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["embed", TABLE, "-m", "umap", "--set", "method.epochs=20", "-o", str(out), "-q"]) == 0
    assert not (out / "radii.csv").exists() and "Local densities" not in (out / "report.html").read_text()
