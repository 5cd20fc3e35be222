"""Variable genes and components of generated cells by scanpy 1.11: python make.py cells.h5ad, in this folder.

The file is that of `mlcli sample cells --rows 1000 --truth -o cells.h5ad`.
"""

import csv
import sys
from pathlib import Path

import numpy as np
import scanpy

KEPT, AXES, CELLS = 200, 10, 20  # genes, components, and cells whose scores are kept


def write(name: str, head: list[str], rows: list[list[object]]) -> None:
    with Path(f"{name}.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


cells = scanpy.read_h5ad(sys.argv[1])
cells.X = cells.X.astype(np.float64)
scanpy.pp.highly_variable_genes(cells, n_top_genes=KEPT, flavor="seurat")
chosen = cells[:, cells.var["highly_variable"]].copy()
scanpy.pp.pca(chosen, n_comps=AXES, svd_solver="arpack")
write("genes", ["gene", "means", "dispersions_norm"], [
    [name, *(f"{float(chosen.var[column][name]):.9g}" for column in ("means", "dispersions_norm"))]
    for name in chosen.var_names])
write("variances", ["component", "variance", "variance_ratio"], [
    [place + 1, *(f"{chosen.uns['pca'][name][place]:.12g}" for name in ("variance", "variance_ratio"))]
    for place in range(AXES)])
write("scores", ["cell", *(f"y{axis + 1}" for axis in range(AXES))], [
    [name, *(f"{value:.12g}" for value in row)]
    for name, row in zip(chosen.obs_names[:CELLS], chosen.obsm["X_pca"][:CELLS], strict=True)])
