"""The pairs of the Shepard diagram are true distances, drawn evenly, the same for the same seed."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.values.inputs import Dissimilarities, Features
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.quality import KINDS, PAIRS
from mlcli.findings.quality.measure import quality
from mlcli.findings.quality.measures import AnchorPairs, Shepard
from tests.support import distances


def test_few_points_give_every_pair_with_its_distances() -> None:
    points = np.random.default_rng(0).standard_normal((20, 3))
    found = quality(Features(points, []), points[:, :2], generator=np.random.default_rng(0)).pairs
    upper = np.triu_indices(20, 1)
    assert np.allclose(found, np.column_stack([distances(points)[upper], distances(points[:, :2])[upper]]))


@pytest.mark.parametrize("sample", ["auto", 50])
def test_many_points_give_a_thousand_seeded_pairs(sample: int | str) -> None:
    points = np.random.default_rng(0).standard_normal((400, 3)) * 2.0**700
    found = [quality(Features(points, []), points, sample=sample, generator=np.random.default_rng(seed)).pairs
             for seed in (1, 1, 2)]
    assert found[0].shape == (1000, 2) and np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert np.allclose(found[0][:, 0], found[0][:, 1], rtol=1e-5) and (found[0] > 0).all()


def test_given_dissimilarities_are_the_distances_to_keep() -> None:
    given = distances(np.random.default_rng(0).standard_normal((30, 2))) ** 1.5
    found = quality(Dissimilarities(given, []), np.zeros((30, 1)), generator=np.random.default_rng(0)).pairs
    assert np.allclose(np.sort(found[:, 0]), np.sort(given[np.triu_indices(30, 1)])) and not found[:, 1].any()


def test_no_point_is_paired_with_itself_and_all_points_occur() -> None:
    pairs = AnchorPairs.draw(np.arange(100), 100, np.random.default_rng(0))
    assert (pairs.first != pairs.second).all() and (np.diff(pairs.first) >= 0).all()
    assert set(pairs.first.tolist()) == set(pairs.second.tolist()) == set(range(100))


def test_the_table_reads_back_to_the_same_bits(tmp_path: Path) -> None:
    pairs = np.random.default_rng(0).random((5, 2)) * 1e-300
    PAIRS.write(tmp_path, CsvColumns(dict(zip(KINDS, pairs.T, strict=True))))
    lines = (tmp_path / PAIRS.name).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "distance,embedded"
    assert np.array_equal([[float(cell) for cell in line.split(",")] for line in lines[1:]], pairs)


def test_ranks_take_little_more_memory_than_the_numbers() -> None:
    generator = np.random.default_rng(0)
    sums = {name: generator.random((250, 2000), dtype=np.float32) for name in ("kept", "embedded")}
    measure = Shepard.of(2001, 250)
    tracemalloc.start()
    try:
        measure.pooled(sums)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * sum(values.nbytes for values in sums.values())
