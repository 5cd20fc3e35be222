"""A small file of AnnData: three kinds of cells, with results of another program."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy import sparse

from mlcli.base.types import Array

CELLS, GENES = [str(row) for row in range(60)], [f"g{column}" for column in range(8)]  # names as anndata numbers them
KINDS = ["a", "b", "c"]
TEXT, NUMBER, ARRAY = ("string", "0.2.0"), ("numeric-scalar", "0.2.0"), ("array", "0.2.0")
MAP, ROWS = ("dict", "0.1.0"), ("csr_matrix", "0.1.0")


def marked(member: Any, kind: tuple[str, str]) -> Any:
    member.attrs["encoding-type"], member.attrs["encoding-version"] = kind
    return member


def values() -> Array:
    """Counts of three kinds of cells, with zeros."""
    generator = np.random.default_rng(3)
    means = generator.gamma(2.0, 3.0, (3, len(GENES)))
    return generator.poisson(means[np.arange(len(CELLS)) % 3]).astype(np.float64)


def write_cells(path: Path) -> None:
    """A compressed matrix, a sparse layer, raw counts with one more gene, kinds of cells, and scores."""
    table = values()
    with h5py.File(path, "w") as file:
        marked(file, ("anndata", "0.1.0"))
        marked(file.create_dataset("X", data=table, chunks=(7, 3), compression="gzip"), ARRAY)
        for name, names in (("obs", CELLS), ("var", GENES), ("raw/var", [*GENES, "lost"])):
            frame = marked(file.create_group(name), ("dataframe", "0.2.0"))
            frame.attrs["_index"], frame.attrs["column-order"] = "_index", ["kind"] if name == "obs" else []
            marked(frame.create_dataset("_index", data=names), ("string-array", "0.2.0"))
        kind = marked(file["obs"].create_group("kind"), ("categorical", "0.2.0"))
        kind.attrs["ordered"] = False
        marked(kind.create_dataset("categories", data=KINDS), ("string-array", "0.2.0"))
        marked(kind.create_dataset("codes", data=np.arange(len(CELLS), dtype=np.int8) % 3), ARRAY)
        file["raw/X"] = np.column_stack([table, table[:, 0] ** 2])
        layer = marked(file.create_group("layers/double"), ROWS)
        doubled = sparse.csr_array(2 * table)
        layer.attrs["shape"] = doubled.shape
        for part in ("data", "indices", "indptr"):
            layer[part] = getattr(doubled, part)
        marked(file["layers"], MAP)
        marked(marked(file.create_group("obsm"), MAP).create_dataset("X_pca", data=table[:, :2]), ARRAY)
        marked(marked(file.create_group("uns"), MAP).create_dataset("title", data="counts"), TEXT)
