"""Honest runs of every kind: methods, inputs, sizes and hostile families, drawn by number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, save_npz
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.config.run_config import RunConfig
from mlcli.core.metrics import METRICS
from mlcli.data.prepare.transforms import TRANSFORMS
from mlcli.errors import MlcliError
from mlcli.pipeline import run as pipeline
from mlcli.runs.verify import verify
from tests.faults.certificate.support import BARE, certificate
from tests.laws.accuracy.families import FAMILIES

CONNECT = {"pieces": "connect"}
GAPS = {"name": "ppca", "eigensolve": {"components": 1}}  # of data in which cells are missing
METHODS: list[dict[str, Any]] = [
    {"name": "pca"}, {"name": "pca", "route": "dual"}, {"name": "pca", "route": "svd", "divisor": "n-1"},
    {"name": "pca", "route": "power"}, {"name": "pca", "eigensolve": {"components": 0.9}},
    {"name": "mds"}, {"name": "mds", "eigensolve": {"solver": "krylov"}}, {"name": "mds", "correction": "lingoes"},
    {"name": "mds", "eigensolve": {"components": 0.99}}, {"name": "mds", "landmarks": 3},
    {"name": "kpca"}, {"name": "kpca", "kernel": {"name": "linear"}},
    {"name": "kpca", "kernel": {"name": "polynomial", "degree": 2}},
    {"name": "isomap", "neighbors": CONNECT}, {"name": "isomap", "neighbors": CONNECT, "graph": "mutual"},
    {"name": "isomap", "neighbors": CONNECT, "paths": {"store": "streamed"}},
    {"name": "isomap", "neighbors": CONNECT, "landmarks": 3},
    {"name": "isomap", "neighbors": {"pieces": "largest"}}, {"name": "lle", "neighbors": CONNECT},
    {"name": "lle", "neighbors": {"pieces": "largest"}},
    {"name": "lle", "neighbors": CONNECT, "eigensolve": {"solver": "krylov"}},
]
LATENT: list[dict[str, Any]] = [
    {"name": "ppca"}, {"name": "ppca", "solver": "em"}, {"name": "ppca", "eigensolve": {"components": 0.9}},
    GAPS,
    {"name": "fa"}, {"name": "fa", "noise": "equal"}, {"name": "fa", "scores": "bartlett"},
    {"name": "fa", "rotation": {"name": "promax"}}, {"name": "fa", "rotation": {"name": "varimax"}},
]
SQUARES: list[dict[str, Any]] = [
    {"name": "mds"}, {"name": "mds", "correction": "lingoes"}, {"name": "mds", "correction": "cailliez"},
    {"name": "mds", "landmarks": 3}, {"name": "isomap", "neighbors": CONNECT}, {"name": "kpca"},
]
TANGENTS: list[dict[str, Any]] = [
    {"name": name, **more} for name in ("ltsa", "hlle", "mlle") for more in (
        {"neighbors": CONNECT}, {"neighbors": {"pieces": "largest", "count": 7}},
        {"neighbors": CONNECT, "eigensolve": {"solver": "krylov", "components": 1}},
        {"neighbors": {"count": 12, **CONNECT}, "dimension": 3}, {"neighbors": CONNECT, "metric": "cityblock"})]
GRAPH: dict[str, Any] = {"neighbors": {"count": 6, **CONNECT}}
COMPARED: list[dict[str, Any]] = [
    {"name": "mds"}, {"name": "mds", "correction": "lingoes"}, {"name": "mds", "landmarks": 4}, {"name": "kpca"},
    {"name": "isomap", "neighbors": CONNECT}, {"name": "lle", "neighbors": CONNECT},
    {"name": "laplacian", "neighbors": CONNECT},
    {"name": "laplacian", "neighbors": CONNECT, "weights": {"name": "heat"}},
]
CHAINS: list[dict[str, Any]] = [{"name": "chain", **stages} for stages in (
    {}, {"coordinates": {"scale": "unit"}}, {"coordinates": {"divisor": "n-1"}, "landmarks": 4},
    {"correction": "cailliez"}, {"kernel": {"name": "laplacian"}, "centering": "none"},
    {"kernel": {"name": "sigmoid", "gamma": 0.05}},
    {"kernel": {"name": "cosine"}, "coordinates": {"scale": "variance"}},
    {"kernel": {"name": "polynomial", "degree": 2}, "centering": "none"},
    {"kernel": {"name": "linear"}, "centering": "none"}, {"kernel": {"name": "linear"}, "centering": "columns"},
    {"graph": GRAPH, "paths": {}, "kernel": {"name": "gaussian"}}, {"graph": GRAPH, "paths": {"algorithm": "floyd"}},
    {"graph": GRAPH, "paths": {}, "landmarks": 4}, {"graph": {**GRAPH, "rule": "mutual"}, "paths": {}},
    {"graph": GRAPH, "kernel": {"name": "reconstruction"}, "coordinates": {"scale": "roots"}},
    {"graph": GRAPH, "kernel": {"name": "graph_laplacian", "normalized": False}, "coordinates": {"scale": "unit"}})]
LINEAR: list[dict[str, Any]] = [  # linear versions of graph methods
    {"name": "lpp", "neighbors": CONNECT}, {"name": "lpp", "neighbors": CONNECT, "weights": {"name": "adaptive"}},
    {"name": "lpp", "neighbors": {"pieces": "largest"}, "graph": "mutual", "weights": {"name": "heat"}},
    {"name": "npe", "neighbors": CONNECT}, {"name": "npe", "neighbors": {"pieces": "largest"}},
    {"name": "lltsa"}, {"name": "lltsa", "neighbors": {"pieces": "largest"}},
    {"name": "laplacian", "neighbors": CONNECT, "weights": {"name": "adaptive"}}]
SHORT = {"early_steps": 10, "steps": 20}
LAYOUTS: list[dict[str, Any]] = [
    {"name": "smacof"}, {"name": "smacof", "starts": 2, "metric": "cityblock"}, {"name": "sammon"},
    {"name": "nmds", "starts": 2}, {"name": "nmds", "starts": 1, "ties": "secondary"},
    {"name": "random"}, {"name": "random", "kind": "orthogonal"},
    {"name": "phate"}, {"name": "phate", "landmarks": 5, "gamma": 0.0}, {"name": "phate", "time": 40},
    {"name": "tsne", "descent": SHORT}, {"name": "tsne", "start": "laplacian", "perplexity": [2, 3], "descent": SHORT}]
OF_COORDINATES = ("sigmoid", "cosine", "polynomial", "linear")  # kernels that no metric is compared by
GRAPHED = ("isomap", "laplacian")
COVARIANCES: list[dict[str, Any]] = [{"name": "pca"}, {"name": "fa"}, {"name": "fa", "noise": "equal"}]
FIRST_LATENT = 10_000  # numbers from here on are of latent models
FIRST_CHAIN = 20_000  # and from here on of chains and of methods under metrics, after transforms, and of graphs
FIRST_TANGENT = 30_000  # and from here on of tangent spaces
FIRST_LINEAR = 40_000  # and from here on of linear versions of graph methods
FIRST_LAYOUT = 50_000  # and from here on of layouts, and of directions that are drawn
CHOICES: tuple[tuple[int, tuple[list[dict[str, Any]], list[dict[str, Any]]]], ...] = (  # of points, and of matrices
    (FIRST_LAYOUT, (LAYOUTS, [one for one in LAYOUTS[:6] if "metric" not in one])),
    (FIRST_LINEAR, (LINEAR, [])), (FIRST_TANGENT, (TANGENTS, [one for one in TANGENTS if "metric" not in one])),
    (FIRST_LATENT, (LATENT, COVARIANCES)), (0, (METHODS, SQUARES)))
SCALES = ("none", "center", "standard", "range", "robust")
POWERS = (0, 0, 0, 100, -100)  # of ten
MOST = 2000


def drawn(number: int, folder: Path, most: int = MOST) -> RunConfig:
    """The run of a number: what it is given, and what it does with it."""
    generator = np.random.default_rng([77, number])
    if FIRST_CHAIN <= number < FIRST_TANGENT:
        return compared(number, generator, folder, most)
    methods, squares = next(choices for first, choices in CHOICES if number >= first)
    size = int(np.exp(generator.uniform(np.log(3), np.log(most))))
    family = sorted(FAMILIES)[int(generator.integers(len(FAMILIES)))]
    width = int(generator.integers(1, 7 if family == "lattice" else 40))
    size = min(size, 5**width) if family == "lattice" else max(size, 5)
    values = FAMILIES[family](generator, size, width)
    sections: dict[str, Any] = {"report": {"outputs": BARE}, "compute": {"seed": number}}
    if generator.random() < 0.3 and len(values) <= 300 and squares:
        method = squares[int(generator.integers(len(squares)))]
        values, kind = square(generator, values, str(method["name"]))
        sections["input"] = {"kind": kind}
    else:
        method = methods[int(generator.integers(len(methods)))]
        sections["prepare"] = {"scale": SCALES[int(generator.integers(len(SCALES)))]}
        values = values * 10.0 ** POWERS[int(generator.integers(len(POWERS)))]
        if method is GAPS:
            values = np.where(generator.random(values.shape) < 0.2, np.nan, values)
            sections["prepare"]["missing"] = "model"
    np.save(folder / "data.npy", values)
    return RunConfig.model_validate({**sections, "input": {"path": str(folder / "data.npy"), **sections.get(
        "input", {})}, "method": method, "output": str(folder / "out")})


def compared(number: int, generator: np.random.Generator, folder: Path, most: int) -> RunConfig:
    """A chain, or a method under a metric, of numbers over zero after a transform, or of the graph of near points."""
    size, columns = int(np.exp(generator.uniform(np.log(8), np.log(min(most, 400))))), int(generator.integers(2, 20))
    family = sorted(FAMILIES)[int(generator.integers(len(FAMILIES)))]
    columns = min(columns, 6) if family == "lattice" else columns
    values = np.abs(FAMILIES[family](generator, min(size, 5**columns) if family == "lattice" else size, columns)) + 1e-3
    method = [*COMPARED, *CHAINS][int(generator.integers(len(COMPARED) + len(CHAINS)))]
    metric = list(METRICS)[int(generator.integers(len(METRICS)))]
    values = np.degrees(np.arctan(values[:, :2])) if metric == "haversine" else values
    if method.get("kernel", {}).get("name") not in OF_COORDINATES:
        method = {**method, "metric": metric}
    sections: dict[str, Any] = {"input": {"path": str(folder / "data.npy")}, "report": {"outputs": BARE}}
    if metric != "haversine" and generator.random() < 0.4:
        sections["prepare"] = {"transform": [list(TRANSFORMS)[int(generator.integers(len(TRANSFORMS)))]]}
    if method["name"] in GRAPHED and generator.random() < 0.3:
        method, sections["input"] = graphed(method), {"path": str(folder / "data.npz"), "kind": "graph"}
        sections.pop("prepare", None)
        save_npz(folder / "data.npz", near(values / np.abs(values).max()))
    np.save(folder / "data.npy", values)
    return RunConfig.model_validate({**sections, "method": method, "compute": {"seed": number},
                                     "output": str(folder / "out")})


def graphed(method: dict[str, Any]) -> dict[str, Any]:
    """A method without what a given graph leaves no choice of."""
    return {name: value for name, value in method.items() if name not in ("metric", "neighbors")}


def near(values: Array) -> csr_array:
    """The graph of the nearest points, and a path through all."""
    apart, reached = cdist(values, values), np.zeros((len(values), len(values)), dtype=bool)
    nearest = np.argsort(apart, axis=1)[:, 1:5]
    reached[np.arange(len(values))[:, None], nearest] = True
    reached |= np.eye(len(values), k=1, dtype=bool)
    rows, columns = np.nonzero((reached | reached.T) & ~np.eye(len(values), dtype=bool))
    return csr_array((apart[rows, columns], (rows, columns)), shape=apart.shape)


def square(generator: np.random.Generator, points: Array, method: str) -> tuple[Array, str]:
    """Dissimilarities that are Euclidean, or a city block's, or of no space; or a kernel."""
    if method == "kpca":
        return points @ points.T, "kernel"
    if method in ("pca", "fa"):
        return (points - points.mean(axis=0)).T @ (points - points.mean(axis=0)) / len(points), "covariance"
    gaps = np.abs(points[:, None] - points[None])
    choice = int(generator.integers(3))
    found = np.sqrt((gaps**2).sum(axis=2)) if choice == 0 else gaps.sum(axis=2)
    if choice == 2:
        noise = np.exp(0.5 * generator.standard_normal(found.shape))
        found = found * np.tril(noise, -1) + found * np.tril(noise, -1).T
    return found, "dissimilarities"


def verdict(number: int, folder: Path, most: int = MOST) -> str:
    """pass, warn or fail with the checks at fault, of the run or of all its numbers; or why there is no result.

    A run that warns of eigenvalues without digits is honest where its certificate finds the same.
    """
    config = drawn(number, folder, most)
    found: dict[str, str] = {}
    try:
        pipeline.run(config)
        found = {f"full {check.name} {check.value}": check.verdict for check in verify(
            folder / "out", full=True).certificate.checks}
    except MlcliError as error:
        if error.code != "E-CERTIFICATE":
            return error.code
    found |= {f"{check['name']} {check['value']}": check["verdict"] for check in certificate(folder)["checks"]}
    manifest = folder / "out" / "run.json"
    told = {note["code"] for note in json.loads(manifest.read_text())["warnings"]} if manifest.exists() else set()
    doubtful = [name for name, verdict in found.items() if verdict == "fail" or (verdict == "warn" and not (
        name.removeprefix("full ").startswith("eigenvalues ") and "W-DIGITS" in told))]
    return f"{config.method.name}: {', '.join(doubtful)}" if doubtful else "pass"
