"""Private factors: with a run of inter-battery factors, their products are the noise."""

from pathlib import Path

import numpy as np

from mlcli.cli.program import run

VIEW = ("--columns", "Sepal.Length,Sepal.Width", "--label-column", "Species", "--set",
        "input.view.columns=[Petal.Length,Petal.Width]")


def test_shared_and_private_loadings_make_the_covariance_of_each_view(tmp_path: Path) -> None:
    iris, out = str(Path(__file__).parents[2] / "sample_data" / "iris.csv"), tmp_path / "out"
    assert run(["embed", iris, "--view", iris, *VIEW, "-m", "ibfa", "-p", "1", "-o", str(out), "-q"]) == 0
    private = np.genfromtxt(out / "private.csv", delimiter=",", skip_header=1)[:, 1:]
    shared = np.genfromtxt(out / "loadings.csv", delimiter=",", skip_header=1)[:, 1:]
    points = np.genfromtxt(iris, delimiter=",", skip_header=1, usecols=range(1, 5))
    assert private[:, 0].tolist() == [1, 1, 2, 2]
    for rows in (slice(0, 2), slice(2, 4)):
        own = private[rows, 2:]
        assert np.allclose(private[rows, 1], (own**2).sum(axis=1), rtol=1e-12)
        whole = own @ own.T + shared[rows] @ shared[rows].T
        assert np.allclose(whole, np.cov(points[:, rows].T, bias=True), atol=1e-12)
