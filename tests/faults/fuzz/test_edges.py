"""No number at the edge of its range is a bug, nor makes a run that other commands reject."""

import random
from pathlib import Path

import pytest

from tests.faults.fuzz.edges import Edge, edges, faults, write_inputs

POLYNOMIAL = {"method": "kpca", "method.kernel": "polynomial"}
FOUND = [  # each was once a bug
    Edge("method.eigensolve.report", {"method": "mds"}, 1), Edge("method.kernel.gamma", POLYNOMIAL, 1e17),
    Edge("method.kernel.gamma", POLYNOMIAL, 1e40), Edge("method.kernel.degree", POLYNOMIAL, 2**31),
    Edge("method.kernel.coef0", {**POLYNOMIAL, "method": "chain"}, 1e150),
    Edge("method.constraint.hidden", {"method": "gplvm", "method.constraint": "mlp"}, 2**31),
    Edge("method.beta", {"method": "vae"}, 1e150), Edge("method.layers", {"method": "autoencoder"}, 2**31 - 1),
    Edge("compute.seed", {}, 2**53),
    Edge("method.decoder.rate", {"method": "diffusion", "method.decoder": "ridge"}, 1.79e308),
    Edge("method.nearest", {"method": "diffusion"}, 1),
    Edge("method.decoder.alpha", {"method": "kpca", "method.decoder": "ridge"}, 1.79e308),
    Edge("method.dof", {"method": "tsne"}, 5e-324), Edge("method.floor", {"method": "lgssm"}, 5e-324),
    Edge("method.rotation.power", {"method": "ppca", "method.rotation": "promax"}, 1e150),
    Edge("method.decoder.ridge", {"method": "isomap", "method.decoder": "barycentric"}, 1.79e308),
    Edge("method.descent.exaggeration", {"method": "tsne"}, 5e-324),
    Edge("method.local_connectivity", {"method": "umap"}, 1e150),
    Edge("method.metric.p", {"method": "lle", "method.metric": "minkowski"}, 1.79e308)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a test, with the tables that configurations name."""
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)


@pytest.mark.medium
@pytest.mark.parametrize("edge", FOUND, ids=lambda edge: f"{edge.path}={edge.value:g}")
def test_numbers_at_an_edge_that_were_bugs_are_none(edge: Edge) -> None:
    assert list(faults(edge)) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(16))
def test_every_number_at_every_edge(part: int) -> None:
    every = list(edges())
    random.Random(0).shuffle(every)
    assert [fault for edge in every[part::16] for fault in faults(edge)] == []
