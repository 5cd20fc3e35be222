"""Isomap's eigenvalues are scikit-learn's on every data set of the folder `shared`, streamed and stored."""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.csgraph

from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import Nearest
from tests import support
from tests.laws.agreement.test_shared_data import DATA, NO_DATA, table

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)]
sklearn = pytest.importorskip("sklearn.manifold")
decomposition = pytest.importorskip("sklearn.decomposition")

ROWS, AXES, REL = 3000, 5, 1e-6
POINTS = ["frey_faces/X.npy", "isomap_faces/X_32x32.npy", "isomap_faces/X_64x64_binary.npy", "mnist/X.npy",
          "oil_flow/X_train.npy", "swiss_roll_tenenbaum/X.npy", "wine_quality/X.npy", "tables/BCI.csv",
          "tables/USArrests.csv", "tables/dune.csv", "tables/iris.csv", "tables/mtcars.csv", "tables/swiss.csv",
          "tables/tobamovirus.csv", "tables/varespec.csv"]
BETWEEN = ["tables/UScitiesD.csv", "tables/capitales.csv", "tables/eurodist.csv", "tables/watervoles.csv"]


def read(path: str) -> Array:
    """Numbers of a table, its species left out; of the large ones the first rows."""
    if path.endswith(".npy"):
        return np.load(DATA / path, mmap_mode="r", allow_pickle=False)[:ROWS].astype(float)
    if Path(path).stem != "iris":
        return table(DATA / path)
    return np.loadtxt(DATA / path, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))


@cache
def given(path: str) -> tuple[support.Features | Dissimilarities, int, Graph]:
    """The data with the least of 5, 10, 20 ... neighbors that joins all points, and their graph."""
    data = (support.dissimilarities if path in BETWEEN else support.features)(read(path))
    count = 5
    while True:
        graph = graph_of(Nearest(min(count, len(data.values) - 1)).lists(data), "union")
        if len(np.unique(graph.pieces())) == 1:
            return data, min(count, len(data.values) - 1), graph
        count *= 2


@cache
def peer(path: str) -> Array:
    """scikit-learn's eigenvalues: of its own graph, or of ours where equal distances leave a choice of neighbors."""
    data, count, graph = given(path)
    metric = "precomputed" if path in BETWEEN else "minkowski"
    distances = scipy.sparse.csgraph.shortest_path(graph.matrix(), method="D", directed=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = sklearn.Isomap(n_neighbors=count, n_components=AXES, metric=metric, eigen_solver="dense").fit(data.values)
    if np.allclose(own.dist_matrix_, distances, rtol=1e-9, atol=0):
        return np.asarray(own.kernel_pca_.eigenvalues_)
    solver = decomposition.KernelPCA(n_components=AXES, kernel="precomputed", eigen_solver="dense")
    return np.asarray(solver.fit(-0.5 * distances**2).eigenvalues_)


@pytest.mark.parametrize("store", ["memory", "streamed"])
@pytest.mark.parametrize("path", [*POINTS, *BETWEEN])
def test_eigenvalues_are_those_of_scikit_learn(path: str, store: str) -> None:
    data, count, _ = given(path)
    model = support.fit("isomap", data, neighbors=count, paths={"store": store}, components=2,
                        eigensolve={"report": AXES})
    expected = peer(path)
    found = model.spectrum.eigenvalues[: len(expected)]
    assert np.abs(found - expected[: len(found)]).max() <= REL * expected[0]
    assert np.abs(found[:2] / expected[:2] - 1).max() <= REL
