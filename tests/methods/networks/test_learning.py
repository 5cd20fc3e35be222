"""Rows fed to a training from a file: each once in an epoch, none of those held out, in an order by lot."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.methods.networks import learning
from mlcli.methods.networks.learning import Learning, TrainingRows, training_rows
from mlcli.methods.networks.network import Standard
from tests.data.helpers import noted

VALUES = np.random.default_rng(0).standard_normal((700, 3)) * [1, 2, 3] + 50
LEARNING = Learning(batch=32, precision="float64")


@pytest.fixture(params=["parquet", "npy", "memory"])
def rows(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingRows:
    monkeypatch.setattr(learning, "POOL", 500)
    monkeypatch.setattr("mlcli.data.formats.npy.BLOCK", 300)
    monkeypatch.setattr("mlcli.data.formats.block_file.PART", 60)
    monkeypatch.setattr("mlcli.data.formats.columns.FEWEST", 20)
    path = tmp_path / f"t.{request.param}"
    if request.param == "parquet":
        parquet.write_table(pa.table({f"x{place}": column for place, column in enumerate(VALUES.T)}), path,
                            row_group_size=90)
    elif request.param == "npy":
        np.save(path, VALUES)
    else:
        return of(VALUES)
    with noted():
        return of(read(Input(path=str(path), stream="always"), streams=True).values)


def of(points: Array) -> TrainingRows:
    return training_rows(points, Standard.of(points), LEARNING, Compute())


def test_each_row_that_is_not_held_out_is_seen_once_in_an_epoch(rows: TrainingRows) -> None:
    assert len(rows.held) == 70 and rows.learned == 630
    learned = rows.standard.transform(VALUES, np.setdiff1d(np.arange(700), rows.held), "float64")
    known = {row.tobytes() for row in learned}
    orders = []
    for epoch in range(2):
        batches = list(rows.batches(epoch, 32))
        assert len(batches) == rows.steps(32) == 630 // 32 and {len(batch) for batch in batches} == {32}
        seen = [row.tobytes() for row in np.concatenate(batches)]
        assert len(set(seen)) == len(seen) and known.issuperset(seen)
        orders.append(seen)
        assert seen == [row.tobytes() for batch in rows.batches(epoch, 32) for row in batch]  # the same again
    assert orders[0] != orders[1]
    places = {row.tobytes(): place for place, row in enumerate(learned)}
    order = np.array([places[row] for row in orders[0]])
    assert abs(np.corrcoef(order[:-1], order[1:])[0, 1]) < 0.7  # neighbors in the file are not neighbors in training
    assert len(list(rows.batches(0, 10_000))) == 1


def test_a_file_has_the_standard_of_its_rows(rows: TrainingRows) -> None:
    expected = Standard.of(VALUES)
    assert np.allclose(rows.standard.means, expected.means, rtol=1e-14)
    assert rows.standard.scale == pytest.approx(expected.scale, rel=1e-13) and rows.standard.varying == 3
