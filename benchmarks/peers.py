"""What a user of a peer writes today: read the file, embed it, write the coordinates."""

import sys

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
    if method == "nmds":
        from scipy.spatial.distance import pdist, squareform
        from sklearn.manifold import MDS

        return MDS(2, metric="precomputed", metric_mds=False, n_init=1, init="classical_mds",
                   normalized_stress=True).fit_transform(squareform(pdist(points, "braycurtis")))
    from sklearn.manifold import Isomap, LocallyLinearEmbedding

    if method == "lle":
        return LocallyLinearEmbedding(n_neighbors=10, n_components=2, eigen_solver="arpack", random_state=0,
                                      n_jobs=-1).fit_transform(points)
    if method in ("ltsa", "hessian", "modified"):
        return LocallyLinearEmbedding(n_neighbors=12, n_components=2, method=method, random_state=0,
                                      n_jobs=-1).fit_transform(points)
    return Isomap(n_neighbors=10, n_components=2, n_jobs=-1).fit_transform(points)


if __name__ == "__main__":
    np.savetxt(sys.argv[3], embed(sys.argv[1], read(sys.argv[2])), delimiter=",", fmt="%.17g")
