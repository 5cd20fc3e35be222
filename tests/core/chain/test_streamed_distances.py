"""Classical scaling whose distances are computed anew in every pass gives what a matrix in memory gives."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.machine.threads import limit_threads
from mlcli.base.types import Array
from mlcli.core.chain import distance_chains
from mlcli.core.kernels import tiles
from tests.support import Notes, fit

AMOUNTS = np.random.default_rng(5).poisson(np.exp(np.random.default_rng(6).normal(
    np.linspace(0, 3, 300)[:, None] * np.linspace(-1, 1, 20), 1.0))).astype(float)
METRICS = ["euclidean", "braycurtis", "ruzicka", "hellinger", "cosine", "canberra"]


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance_chains, "fits_in_memory", lambda size, compute: False)
    monkeypatch.setattr(distance_chains, "COPIED", 1e12)
    monkeypatch.setattr(tiles, "TILE", 32)


def placed(metric: str, **options: Any) -> Any:
    return fit("mds", AMOUNTS, metric=metric, **options)


@pytest.mark.parametrize("metric", METRICS)
def test_streamed_scaling_is_scaling(metric: str, request: pytest.FixtureRequest) -> None:
    whole = placed(metric, eigensolve={"solver": "krylov", "components": 3})
    request.getfixturevalue("streamed")
    with Notes() as notes:
        model = placed(metric, eigensolve={"components": 3})
    assert "F-STREAMED" in notes.codes
    assert np.abs(model.spectrum.values[:3] / whole.spectrum.values[:3] - 1).max() < 1e-10
    assert np.abs(model.embedding - whole.embedding).max() < 1e-6 * np.abs(whole.embedding).max()
    assert model.spectrum.trace == pytest.approx(whole.spectrum.trace, rel=1e-12)
    assert model.spectrum.solved_frobenius == pytest.approx(whole.spectrum.solved_frobenius, rel=1e-12)
    assert np.abs(model.project(AMOUNTS) - model.embedding).max() < 1e-6 * np.abs(model.embedding).max()


@pytest.mark.usefixtures("streamed")
def test_threads_change_no_bit() -> None:
    def coordinates(threads: int) -> Array:
        with limit_threads(threads):
            return np.asarray(placed("braycurtis").embedding)

    assert coordinates(1).tobytes() == coordinates(3).tobytes()


@pytest.mark.parametrize(("rows", "metric", "options", "held"), [
    (8000, "braycurtis", {}, True), (9000, "braycurtis", {}, False), (9000, "canberra", {}, True),
    (60_000, "canberra", {}, False), (9000, "braycurtis", {"correction": "lingoes"}, True),
    (9000, "euclidean", {"eigensolve": {"components": "all"}}, True), (9000, "euclidean", {}, False)])
def test_many_distances_are_not_held(rows: int, metric: str, options: dict[str, Any], held: bool) -> None:
    from mlcli.base.values.compute import Compute
    from mlcli.base.values.inputs import Features
    from mlcli.core.metrics.distances import with_metric
    from mlcli.methods import METHODS

    data = Features(np.ones((rows, 2)), [], [])
    method = METHODS["mds"].model_validate({"name": "mds", "metric": metric, **options})
    kind = type(method.composition(with_metric(method.metric, data), Compute(memory_limit="16GB"))).__name__
    assert kind == ("PairwiseChain" if held else "StreamedChain")
