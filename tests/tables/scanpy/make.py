"""Variable genes by scanpy 1.11 of generated counts: python tests/tables/scanpy/make.py, where scanpy is installed."""

import csv
from pathlib import Path

import anndata
import numpy as np
import scanpy
from scipy import sparse

HERE = Path(__file__).parent
CELLS, GENES = 60, 300
KEPT = 40  # genes

random = np.random.default_rng(0)
means = np.exp(random.normal(-0.5, 1.5, GENES))
spread = random.gamma(2.0, 0.5, GENES) + 0.05
depths = np.exp(random.normal(0, 0.3, (CELLS, 1)))
counts = random.poisson(means * random.gamma(1 / spread, spread, (CELLS, GENES)) * depths)
counts[:, 7] = 0  # a gene without counts
counts[:, 9] = counts[::-1, 8]  # two of the same variance
names = [f"gene{number}" for number in range(GENES)]
data = anndata.AnnData(sparse.csr_matrix(np.log1p(counts)), layers={"counts": sparse.csr_matrix(counts.astype(float))})
data.var_names = names



def write(name: str, rows: list[list[object]]) -> None:
    with (HERE / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


write("counts", [["", *names], *([f"cell{row}", *line] for row, line in enumerate(counts))])
for name, options in {"seurat": {"flavor": "seurat", "n_top_genes": KEPT}, "cutoffs": {"flavor": "seurat"},
                      "seurat_v3": {"flavor": "seurat_v3", "n_top_genes": KEPT, "layer": "counts"}}.items():
    found = scanpy.pp.highly_variable_genes(data, inplace=False, **options)
    columns = [column for column in found.columns if found[column].dtype.kind == "f"]
    numbers = zip(names, found["highly_variable"], found[columns].to_numpy(float), strict=True)
    write(name, [["", "highly_variable", *columns], *(
        [gene, int(chosen), *("" if number != number else f"{number:.17g}" for number in row)]
        for gene, chosen, row in numbers)])
