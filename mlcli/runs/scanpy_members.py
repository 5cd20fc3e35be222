"""Results of a finished run as members of AnnData, under the names at which scanpy looks for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.products import Sparse
from mlcli.findings.frame.contents import Contents
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.runs.neighbor_graph import NeighborGraph

NAMES = {"diffusion": "diffmap"}  # of methods, where scanpy's differ
LOADINGS = {"pca": "PCs"}
VARIANCES = {"eigenvalue": "variance", "proportion": "variance_ratio"}  # of pca: columns of spectrum.csv
DISTANCES, CONNECTIVITIES = "distances", "connectivities"


@frozen
class Places:
    """The cells and genes of a file, and which of the cells are the rows of a run."""

    rows: Indices  # n
    cells: int
    genes: Sequence[str]

    def of_cells(self, values: Array) -> Array:
        """Return rows of a run (n x p) as rows of all cells, NaN for the others."""
        found = np.full((self.cells, values.shape[1]), np.nan)
        found[self.rows] = values
        return found

    def of_genes(self, values: Array, names: Sequence[str]) -> Array:
        """Return rows of named features (d x p) as rows of all genes, zero for the others."""
        places = {name: place for place, name in enumerate(self.genes)}
        found = np.zeros((len(self.genes), values.shape[1]))
        for name, row in zip(names, values, strict=True):
            if name in places:
                found[places[name]] = row
        return found


def name_of(method: str) -> str:
    """Return the name of a method's results: X_NAME in obsm, NAME in uns."""
    return NAMES.get(method, method)


def coordinates(run: Contents, places: Places) -> dict[str, Any]:
    """Return the coordinates of a run; those of diffusion maps after the constant, with their eigenvalues after one."""
    method, values = str(run.manifest["method"]), np.asarray(run.embedding.values)
    spectrum = SpectrumFinding.of(run)
    if method != "diffusion" or spectrum is None:
        return {f"obsm/X_{name_of(method)}": places.of_cells(values)}
    leading = spectrum.array("eigenvalue")[: values.shape[1]]
    return {f"obsm/X_{name_of(method)}": places.of_cells(np.column_stack([np.ones(len(values)), values])),
            f"uns/{name_of(method)}_evals": np.concatenate([[1.0], leading])}


def loadings(run: Contents, directions: Array | None, features: Sequence[str], places: Places) -> dict[str, Any]:
    """Return the directions of features (d x p) that the axes are, at the height of all genes; nothing without any."""
    method = str(run.manifest["method"])
    return {} if directions is None else {
        f"varm/{LOADINGS.get(method, method)}": places.of_genes(directions, features)}


def principal_components(scores: Array, share: float, places: Places) -> dict[str, Any]:
    """Return scores (n x k) of pca with their variances, which are this `share` of the whole."""
    variances = scores.var(axis=0, ddof=1) if len(scores) > 1 else np.zeros(scores.shape[1])
    return {"obsm/X_pca": places.of_cells(scores), "uns/pca": {
        "variance": variances, "variance_ratio": variances * (share / variances.sum()),
        "params": {"zero_center": True, "use_highly_variable": False}}}


def facts(run: Contents) -> dict[str, Any]:
    """Return what is known of the axes: the columns of spectrum.csv, options, version and hash of the input.

    Variances of pca are over n - 1, as scanpy's, whatever divisor the run had.
    """
    method = str(run.manifest["method"])
    spectrum = SpectrumFinding.of(run)
    columns = {} if spectrum is None else {name: spectrum.array(name) for name in spectrum.columns}
    if method == "pca" and columns:
        columns = {VARIANCES.get(name, name): values for name, values in columns.items()}
        columns["variance"] = columns["variance"] * (
            run.manifest["spectrum"]["divisor"] / max(len(run.embedding.ids) - 1, 1))
    options = parameters(run)
    return {f"uns/{name_of(method)}": {
        **columns, **({"params": options} if options else {}), "options": run.config_text,
        "mlcli": str(run.manifest["mlcli"]), "input_sha256": str(run.manifest["input"]["sha256"])}}


def parameters(run: Contents) -> dict[str, Any]:
    """Return the parameters of a method under the names that scanpy gives them."""
    config = run.config
    match config.method.name:
        case "pca":
            layer = layer_of(config.input.key)
            return {"zero_center": True, "use_highly_variable": False, **({"layer": layer} if layer else {})}
        case "umap":
            return {name: float(value) for name, value in run.manifest["fit"].items() if name in ("a", "b")}
        case "tsne":
            return {"perplexity": np.asarray(getattr(config.method, "perplexity", np.nan), dtype=np.float64),
                    "metric": config.method.distance.name}
    return {}


def neighbors(run: Contents, graph: NeighborGraph | None, basis: str, places: Places) -> dict[str, Any]:
    """Return a neighbor graph, whose distances were taken in a `basis`: X, or a member of obsm; nothing without one.

    scanpy counts a point among its own neighbors. Of a radius or a given graph these are as many as on average.
    """
    if graph is None:
        return {}
    among, method, metric = graph.among(places.rows, places.cells), run.config.method, run.config.method.distance
    count = None if run.config.input.kind == "graph" else getattr(getattr(method, "neighbors", None), "count", None)
    edges: Sparse = graph.affinities
    layer, others = layer_of(run.config.input.key), metric.model_dump(exclude={"name"})
    parameters: dict[str, Any] = {
        "n_neighbors": 1 + (count or round(len(edges.indices) / max(len(edges.starts) - 1, 1))), "method": method.name,
        "random_state": int(run.config.compute.seed), "metric": metric.name, "use_rep": basis,
        **({"metric_kwds": others} if others else {}), **({"layer": layer} if layer else {})}
    members: dict[str, Any] = {} if among.lengths is None else {f"obsp/{DISTANCES}": among.lengths}
    return {**members, f"obsp/{CONNECTIVITIES}": among.affinities, "uns/neighbors": {
        "connectivities_key": CONNECTIVITIES, "distances_key": DISTANCES, "params": parameters}}


def layer_of(key: str | None) -> str:
    """Return the layer that a key names; empty where it names none."""
    first, _, rest = (key or "").strip("/").partition("/")
    return rest if first == "layers" else ""


def basis_of(key: str | None) -> str:
    """Return the representation that a key names: a member of obsm, or X for all matrices of genes."""
    first, _, rest = (key or "").strip("/").partition("/")
    return rest if first == "obsm" else "X"

