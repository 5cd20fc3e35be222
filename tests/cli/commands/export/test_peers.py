"""Exported files in the programs that they are for: anndata, scanpy and scikit-bio.

These need not be installed: they are the dependency group `peers`. Without one its test is skipped.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands.export.cell_file import CELLS, GENES, values
from tests.journeys.memory.test_beyond_memory import embedded
from tests.journeys.support import Caller

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of the programs' own imports


@pytest.fixture
def scanpy() -> Any:
    """The program, which draws into memory."""
    pytest.importorskip("matplotlib").use("Agg")
    return pytest.importorskip("scanpy", reason="needs the dependency group peers")


def test_anndata_reads_and_scanpy_draws_a_new_file(mlcli: Caller, run: str, scanpy: Any) -> None:
    assert mlcli("export", run, "-o", "cells.h5ad").code == 0
    found = scanpy.read_h5ad("cells.h5ad")
    np.testing.assert_array_equal(found.obsm["X_pca"], embedded(run)[1])
    assert found.obs["kind"].isna().sum() == 6 and found.obs_names[3] == "p3"
    scanpy.pl.pca_variance_ratio(found, n_pcs=2, show=False)
    scanpy.pl.pca_loadings(found, components="1,2", n_points=3, show=False)
    scanpy.pl.pca(found, color="kind", show=False)


def test_scanpy_draws_and_computes_on_a_copy(mlcli: Caller, cells: Path, scanpy: Any) -> None:
    mlcli.bare("cells.h5ad", "--variable-genes", "5", "--flavor", "seurat_v3", "--set",
               "prepare.variable_genes.span=1", "-p", "3", "-o", "pca", "-q")
    mlcli.bare("pca", "-m", "umap", "-k", "6", "--set", "method.epochs=5", "-o", "umap", "-q")
    called = mlcli("export", "umap", "--into", "copy.h5ad")
    assert called.code == 0, called.err
    found = scanpy.read_h5ad("copy.h5ad")
    assert found.obs_names.tolist() == CELLS and found.var_names.tolist() == GENES
    assert found.var["highly_variable"].dtype == bool and found.var["highly_variable"].sum() == 5
    np.testing.assert_allclose((found.X - found.X.mean(axis=0)) @ found.varm["PCs"], found.obsm["X_pca"], atol=1e-10)
    np.testing.assert_array_equal(found.X, values())
    scanpy.pl.pca_variance_ratio(found, n_pcs=3, show=False)
    scanpy.pl.pca_loadings(found, components="1,2", n_points=3, show=False)
    scanpy.pl.embedding(found, "pca", color="kind", show=False)
    scanpy.pl.umap(found, color="kind", neighbors_key="neighbors", edges=True, show=False)
    again = found.copy()
    scanpy.pp.pca(again, n_comps=3)  # of the variable genes, as the copy marks them
    for name, value in found.uns["pca"]["params"].items():
        assert again.uns["pca"]["params"][name] == value
    np.testing.assert_allclose(again.uns["pca"]["variance"], found.uns["pca"]["variance"][:3], rtol=1e-6)
    scanpy.tl.umap(again, maxiter=5)
    assert np.isfinite(again.obsm["X_umap"]).all()


def test_scikit_bio_reads_what_is_written(mlcli: Caller, run: str) -> None:
    skbio = pytest.importorskip("skbio", reason="needs the dependency group peers")
    mlcli("export", run, "-o", "run.txt")
    found = skbio.OrdinationResults.read("run.txt")
    np.testing.assert_array_equal(found.samples.values, embedded(run)[1])
    assert found.features.shape == (3, 2) and found.samples.index[3] == "p3"
