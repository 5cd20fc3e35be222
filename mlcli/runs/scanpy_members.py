"""Results of a finished run as members of AnnData, under the names at which scanpy looks for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.products import Sparse
from mlcli.data.formats.h5ad import MAIN, split_key
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.genes import CHOSEN, GenesFinding
from mlcli.findings.spectrum import SpectrumFinding
from mlcli.methods.principal.pca import of_answers
from mlcli.runs.neighbor_graph import WeightedEdges

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


@frozen
class ScanpyMethod:
    """A method that scanpy has too: its names there, and the parameters that scanpy stores."""

    name: str  # of its results: X_NAME in obsm, NAME in uns
    loadings: str = ""  # in varm; empty: those of the results
    parameters: Callable[[FinishedRun], Mapping[str, Any]] = lambda run: {}


def component_parameters(run: FinishedRun) -> dict[str, Any]:
    """Return the parameters of principal components: of centered columns, by variable genes or all, and their layer."""
    layer, chosen = layer_of(run.config.input.key), run.config.prepare.variable_genes is not None
    return {"zero_center": True, "use_highly_variable": chosen, **({"mask_var": CHOSEN} if chosen else {}),
            **({"layer": layer} if layer else {})}


def curve_parameters(run: FinishedRun) -> dict[str, Any]:
    """Return the parameters of umap's curve of similarities."""
    return {name: float(value) for name, value in run.manifest["fit"].items() if name in ("a", "b")}


def perplexity_parameters(run: FinishedRun) -> dict[str, Any]:
    """Return the parameters of affinities of tsne; none of given ones."""
    if run.config.input.gives == "graph":
        return {}
    perplexity = np.asarray(run.config.method.model_dump()["perplexity"], dtype=np.float64)
    return {"perplexity": perplexity, **metric_parameters(run)}


KNOWN = {"pca": ScanpyMethod("pca", "PCs", component_parameters),
         "umap": ScanpyMethod("umap", parameters=curve_parameters),
         "tsne": ScanpyMethod("tsne", parameters=perplexity_parameters), "diffusion": ScanpyMethod("diffmap")}


def known(method: str) -> ScanpyMethod:
    """Return what scanpy has of a method; for others the method's own name."""
    return KNOWN.get(method, ScanpyMethod(method))


def name_of(method: str) -> str:
    """Return the name of a method's results: X_NAME in obsm, NAME in uns."""
    return known(method).name


def coordinates(run: FinishedRun, places: Places) -> dict[str, Any]:
    """Return the coordinates of a run; those of diffusion maps after the constant, with their eigenvalues after one."""
    method, values = str(run.manifest["method"]), np.asarray(run.embedding.values)
    spectrum = SpectrumFinding.of(run)
    if method != "diffusion" or spectrum is None:
        return {f"obsm/X_{name_of(method)}": places.of_cells(values)}
    leading = spectrum.array("eigenvalue")[: values.shape[1]]
    return {f"obsm/X_{name_of(method)}": places.of_cells(np.column_stack([np.ones(len(values)), values])),
            f"uns/{name_of(method)}_evals": np.concatenate([[1.0], leading])}


def loadings(run: FinishedRun, directions: Array | None, features: Sequence[str], places: Places) -> dict[str, Any]:
    """Return the directions of features (d x p) that the axes are, at the height of all genes; nothing without any."""
    method = known(str(run.manifest["method"]))
    return {} if directions is None else {
        f"varm/{method.loadings or method.name}": places.of_genes(directions, features)}


def variable_genes(run: FinishedRun, places: Places) -> dict[str, Any]:
    """Return which of all genes are the variable ones that a run chose; nothing where it chose none."""
    found = GenesFinding.of(run)
    if found is None:
        return {}
    chosen = places.of_genes(found.array(CHOSEN)[:, None], found.texts("gene"))
    return {f"var/{CHOSEN}": chosen[:, 0] > 0}


def principal_components(run: FinishedRun, scores: Array, places: Places) -> dict[str, Any]:
    """Return the scores (n x k) of principal components ahead of a run's method, with their variances."""
    share = run.manifest["reduced"]["proportion"]
    variances = scores.var(axis=0, ddof=1) if len(scores) > 1 else np.zeros(scores.shape[1])
    return {"obsm/X_pca": places.of_cells(scores), "uns/pca": {
        "variance": variances, "variance_ratio": variances * (share / variances.sum()),
        "params": component_parameters(run)}}


def facts(run: FinishedRun) -> dict[str, Any]:
    """Return what is known of the axes: the columns of spectrum.csv, options, version and hash of the input.

    Variances of pca are over n - 1, as scanpy's, whatever divisor the run had; those of correlations are as they are.
    """
    method = str(run.manifest["method"])
    spectrum = SpectrumFinding.of(run)
    columns = {} if spectrum is None else {name: spectrum.array(name) for name in spectrum.columns}
    if method == "pca" and columns:
        columns = {VARIANCES.get(name, name): values for name, values in columns.items()}
        if not of_answers(run.config.method, run.config.input.gives):
            columns["variance"] = columns["variance"] * (
                run.manifest["spectrum"]["divisor"] / max(len(run.embedding.ids) - 1, 1))
    options = known(method).parameters(run)
    return {f"uns/{name_of(method)}": {
        **columns, **({"params": options} if options else {}), "options": run.config_text,
        "mlcli": str(run.manifest["mlcli"]), "input_sha256": str(run.manifest["input"]["sha256"])}}


def metric_parameters(run: FinishedRun) -> dict[str, Any]:
    """Return the metric by which a run compares features; nothing where distances were given."""
    if run.config.input.gives != "features":
        return {}
    metric = run.config.method.distance
    others = metric.model_dump(exclude={"name"})
    return {"metric": metric.name, **({"metric_kwds": others} if others else {})}


def neighbors(run: FinishedRun, graph: WeightedEdges | None, basis: str, places: Places) -> dict[str, Any]:
    """Return a neighbor graph, whose distances were taken in a `basis`: X, or a member of obsm; nothing without one.

    scanpy counts a point among its own neighbors. Of a radius or a given graph these are as many as on average.
    """
    if graph is None:
        return {}
    among, method, input = graph.among(places.rows, places.cells), run.config.method, run.config.input
    count = None if input.gives == "graph" else method.neighbor_count
    edges: Sparse = graph.affinities
    layer = layer_of(input.key)
    parameters: dict[str, Any] = {
        "n_neighbors": 1 + (count or round(len(edges.indices) / max(len(edges.starts) - 1, 1))), "method": method.name,
        "random_state": int(run.config.compute.seed)}
    if input.gives == "features":
        parameters |= {"use_rep": basis, **metric_parameters(run), **({"layer": layer} if layer else {})}
    members: dict[str, Any] = {f"obsp/{CONNECTIVITIES}": among.affinities}
    keys = {"connectivities_key": CONNECTIVITIES}
    if among.lengths is not None:
        members[f"obsp/{DISTANCES}"], keys["distances_key"] = among.lengths, DISTANCES
    return {**members, "uns/neighbors": {**keys, "params": parameters}}


def layer_of(key: str | None) -> str:
    """Return the layer that a key names; empty where it names none."""
    first, name = split_key(key)
    return name if first == "layers" else ""


def basis_of(key: str | None) -> str:
    """Return the representation that a key names: a member of obsm, or X for all matrices of genes."""
    first, name = split_key(key)
    return name if first == "obsm" else MAIN
