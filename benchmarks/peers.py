"""What a user of a peer writes today: read the file, embed it, write the coordinates; of a folder, file by file."""

import sys
from pathlib import Path

import numpy as np


def read(path: str) -> np.ndarray:
    """The table, by the peer's usual way of reading it."""
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        return np.column_stack([column.to_numpy() for column in pq.read_table(path).columns])
    if path.endswith(".csv"):
        return np.loadtxt(path, delimiter=",", skiprows=1)
    return np.load(path)


def embed(method: str, points: np.ndarray) -> np.ndarray:
    """Two coordinates with the settings that mlcli has by default; of nmf 16."""
    if method == "tapkee":
        import tapkee

        return tapkee.embed(points.T, method="isomap", num_neighbors=10, target_dimension=2).T
    if method == "pca":
        from sklearn.decomposition import PCA

        return PCA(n_components=2).fit_transform(points)
    if method == "kpca":
        from sklearn.decomposition import KernelPCA

        return KernelPCA(n_components=2, kernel="rbf", gamma=0.02, n_jobs=-1).fit_transform(points)
    if method == "nmf":
        from sklearn.decomposition import NMF

        return NMF(16, init="nndsvda", solver="cd", tol=1e-4, max_iter=10_000, random_state=0).fit_transform(points)
    if method == "tsne":
        from openTSNE import TSNE

        return np.asarray(TSNE(n_jobs=-1, random_state=0).fit(points))
    if method in ("umap", "umap-seed"):  # a seed turns its threads off
        from umap import UMAP

        return UMAP(random_state=0 if method == "umap-seed" else None).fit_transform(points)
    if method == "phate":
        from phate import PHATE

        return PHATE(random_state=0, n_jobs=-1, verbose=0).fit_transform(points)
    if method == "diffusion":  # two axes after the constant one
        import scanpy
        from anndata import AnnData

        cells = AnnData(points)
        scanpy.pp.neighbors(cells, n_neighbors=16, use_rep="X", method="gauss", transformer="sklearn", random_state=0)
        scanpy.tl.diffmap(cells, n_comps=3, random_state=0)
        return np.asarray(cells.obsm["X_diffmap"])[:, 1:]
    if method == "nmds":
        from scipy.spatial.distance import pdist, squareform
        from sklearn.manifold import MDS

        return MDS(2, metric="precomputed", metric_mds=False, n_init=1, init="classical_mds",
                   normalized_stress=True).fit_transform(squareform(pdist(points, "braycurtis")))
    if method.startswith("pcoa"):
        from skbio.stats.distance import DistanceMatrix
        from skbio.stats.ordination import pcoa

        solver = {"pcoa-exact": "eigh", "pcoa-randomized": "fsvd"}[method]
        return pcoa(DistanceMatrix(points), method=solver, dimensions=2).samples.to_numpy()
    from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding

    if method == "laplacian":
        return SpectralEmbedding(n_neighbors=10, n_components=2, random_state=0, n_jobs=-1).fit_transform(points)
    if method in ("lle", "lle12"):
        return LocallyLinearEmbedding(n_neighbors=12 if method == "lle12" else 10, n_components=2,
                                      eigen_solver="arpack", random_state=0, n_jobs=-1).fit_transform(points)
    if method in ("ltsa", "hessian", "modified"):
        return LocallyLinearEmbedding(n_neighbors=12, n_components=2, method=method, random_state=0,
                                      n_jobs=-1).fit_transform(points)
    return Isomap(n_neighbors=10, n_components=2, n_jobs=-1).fit_transform(points)


def embed_iris(path: str, out: str) -> None:
    """Reads the table with pandas and writes two principal components beside the labels."""
    import pandas as pd
    from sklearn.decomposition import PCA

    table = pd.read_csv(path, index_col=0)
    scores = PCA(n_components=2).fit_transform(table.select_dtypes("number"))
    pd.DataFrame(scores, table.index, ["axis_1", "axis_2"]).assign(Species=table["Species"]).to_csv(out)


def main(method: str, source: str, out: str) -> None:
    """Embeds a file, or each file of a folder into a file of that name."""
    if method == "iris":
        embed_iris(source, out)
        return
    paths = {source: out}
    if Path(source).is_dir():
        Path(out).mkdir(exist_ok=True)
        paths = {str(path): str(Path(out) / path.name) for path in Path(source).iterdir()}
    for path, coordinates in paths.items():
        np.savetxt(coordinates, embed(method, read(path)), delimiter=",", fmt="%.17g")


if __name__ == "__main__":
    main(*sys.argv[1:])
