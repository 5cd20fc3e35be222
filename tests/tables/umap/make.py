"""Fuzzy graphs, curves and radii of umap-learn 0.5.12: run it in this folder with a Python that has umap-learn."""

import csv
import json
from pathlib import Path

import numpy as np
from umap import UMAP
from umap.umap_ import discrete_metric_simplicial_set_intersection, find_ab_params, fuzzy_simplicial_set

with Path("../../../sample_data/us_arrests.csv").open(encoding="utf-8") as stream:
    points = np.array([row[1:] for row in list(csv.reader(stream))[1:]], dtype=float)
lengths = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
classes = np.arange(50) % 5 - 1  # the first of them unknown


def write(name, graph):
    """Write the edges of a graph, each once."""
    upper = np.triu(graph.toarray().astype(float))
    rows, columns = np.nonzero(upper)
    Path(f"{name}.csv").write_text("".join(["row,column,membership\n", *(
        f"{row},{column},{upper[row, column]:.9g}\n" for row, column in zip(rows, columns, strict=True))]))


CASES = {"union": (15, 1.0, 1.0), "between": (7, 1.5, 0.5), "both": (7, 2.0, 0.0)}
for name, (count, connectivity, mix) in CASES.items():
    order = np.argsort(lengths, axis=1, kind="stable")[:, :count]  # a point itself first
    graph, widths, nearest = fuzzy_simplicial_set(
        points, count, None, "euclidean", knn_indices=order, knn_dists=np.take_along_axis(lengths, order, 1),
        local_connectivity=connectivity, set_op_mix_ratio=mix)
    write(name, graph)
    if name == "between":
        for weight, apart in ((0.0, 2.5), (0.5, 5.0), (1.0, 1e12)):  # as UMAP.fit does
            write(f"classes_{weight:g}", discrete_metric_simplicial_set_intersection(
                graph.copy(), classes, far_dist=apart))  # which it changes
curves = {f"{min_dist} {spread}": [float(value) for value in find_ab_params(spread, min_dist)]
          for min_dist, spread in ((0.1, 1.0), (0.0, 1.0), (0.5, 1.0), (0.25, 2.0), (0.99, 1.0))}
Path("curves.json").write_text(json.dumps(curves, indent=1) + "\n")
model = UMAP(n_neighbors=15, n_epochs=200, output_dens=True, random_state=0).fit(points)
Path("radii.csv").write_text("radius\n" + "".join(f"{radius:.9g}\n" for radius in model.rad_orig_))
