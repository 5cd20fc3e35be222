"""Names of genes and cells that lie beside a Matrix Market file, as Cell Ranger writes them."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from mlcli.base.types import Array
from mlcli.data.options.input import Input
from mlcli.data.read.new_rows import RunInput, read_new
from mlcli.data.read.table import read
from mlcli.errors import ConfigError, DataError
from mlcli.runs.input import file_state
from tests.data.helpers import noted, refused
from tests.wording import Wording

COUNTS = np.arange(12.0).reshape(3, 4)  # genes x cells
GENES, CELLS = ("g1", "g2", "g3"), ("AAC-1", "AAG-1", "CTT-1", "GTT-1")


def folder(path: Path, values: Array = COUNTS, cells: tuple[str, ...] = CELLS, genes: tuple[str, ...] = GENES,
           prefix: str = "", packed: bool = True) -> str:
    """The files that Cell Ranger writes: since its version 3 packed."""
    features, end = ("features", ".gz") if packed else ("genes", "")
    files = {"barcodes.tsv": "".join(f"{cell}\n" for cell in cells).encode(),
             f"{features}.tsv": "".join(f"ENSG{row}\t{gene}\tGene Expression\n"
                                        for row, gene in enumerate(genes)).encode()}
    for name, content in files.items():
        (path / f"{prefix}{name}{end}").write_bytes(gzip.compress(content) if packed else content)
    matrix = path / f"{prefix}matrix.mtx"
    mmwrite(matrix, sparse.coo_matrix(values))
    if packed:
        (path / f"{prefix}matrix.mtx.gz").write_bytes(gzip.compress(matrix.read_bytes()))
        matrix.unlink()
    return str(path)


def cells_of(path: str, **options: Any) -> Input:
    return Input(path=path, transpose=True, **options)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("prefix", ["", "GSM12_"])
def test_a_folder_leads_to_its_matrix_and_the_names_beside_it(tmp_path: Path, prefix: str, packed: bool,
                                                              wording: Wording) -> None:
    path = folder(tmp_path, prefix=prefix, packed=packed)
    for asked in (path, f"{path}/{prefix}matrix.mtx{'.gz' * packed}"):
        with noted() as notes:
            table = read(cells_of(asked))
        assert (table.ids, table.columns) == (CELLS, GENES) and table.values.tolist() == COUNTS.T.tolist()
        assert wording(notes.message("N-NAMES-BESIDE")) == []
    genes = read(Input(path=path))
    assert (genes.ids, genes.columns) == (GENES, CELLS) and genes.values.tolist() == COUNTS.tolist()


def test_cells_may_be_the_rows_of_the_matrix(tmp_path: Path) -> None:
    table = read(Input(path=folder(tmp_path, COUNTS.T)))
    assert (table.ids, table.columns) == (CELLS, GENES)


def test_genes_whose_names_repeat_are_called_by_their_ids(tmp_path: Path) -> None:
    assert read(cells_of(folder(tmp_path, genes=("g", "g", "h")))).columns == ("ENSG0", "ENSG1", "ENSG2")


def test_names_that_are_not_as_many_are_not_used(tmp_path: Path, wording: Wording) -> None:
    path = folder(tmp_path, cells=CELLS[:3])
    with noted() as notes:
        assert read(cells_of(path)).columns == ("x1", "x2", "x3")
    assert wording(notes.message("N-NAMES-UNUSED")) == []


def test_labels_are_joined_by_the_names(tmp_path: Path) -> None:
    labels = tmp_path / "meta.csv"
    labels.write_text("cell,kind\n" + "".join(f"{cell},{cell[0]}\n" for cell in reversed(CELLS)))
    path = folder(tmp_path / "10x" if (tmp_path / "10x").mkdir() is None else tmp_path)
    joined: dict[str, Any] = {"labels": {"path": str(labels)}}
    assert read(cells_of(path, **joined)).labels == {"kind": ("A", "A", "C", "G")}
    assert "--transpose" in refused(path, DataError, "LABELS-DIFFER", **joined).hint


def test_a_changed_file_of_names_is_another_input(tmp_path: Path) -> None:
    path = folder(tmp_path)
    for asked in (path, f"{path}/matrix.mtx.gz"):
        known = read(cells_of(asked)).facts(asked)
        assert file_state(asked, known) == "unchanged"
        names = tmp_path / "barcodes.tsv.gz"
        before = names.read_bytes()
        names.write_bytes(gzip.compress(b"AAC-1\nAAG-1\nCTT-1\nTTT-1\n"))
        assert file_state(asked, known) == "changed"
        names.write_bytes(before)


def test_new_cells_are_read_alike(tmp_path: Path) -> None:
    path = folder(tmp_path)
    new = read_new(cells_of(path), RunInput(GENES[::-1]))
    assert new.ids == CELLS and new.values.tolist() == COUNTS[::-1].T.tolist()


def test_what_does_not_fit(tmp_path: Path) -> None:
    path = folder(tmp_path)
    refused(path, ConfigError, "FORMAT", id_column="AAC-1")
    (tmp_path / "features.tsv.gz").write_bytes(gzip.compress(b"a\tb\nc\nd\te\n"))
    assert "features.tsv.gz" in refused(path, DataError, "NAMES").where
