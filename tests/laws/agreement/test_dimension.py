"""Broken stick, Kaiser, variance kept and Velicer's MAP against R, on correlation matrices."""

import numpy as np
import pytest

from mlcli.findings.dimension.spectral import average_partials, broken_stick_shares
from tests.findings.dimension.support import counts, found, standardized, with_correlation
from tests.laws.agreement.tables import facts, read

SUMMARY = facts("scree/summary.json")


def points(name: str) -> np.ndarray:
    if name == "USArrests":
        return standardized(read("data/USArrests.csv"))
    return with_correlation(read("scree/ability_correlation.csv"), 112)


@pytest.mark.parametrize("name", SUMMARY)
def test_eigenvalues_pieces_and_counts(name: str) -> None:
    table, expected = read(f"scree/{name}.csv", names=False), SUMMARY[name]
    document = found("pca", points(name))
    size = len(table)
    assert size * broken_stick_shares(size) == pytest.approx(table[:, 1], abs=1e-10)
    assert np.array(document["rules"]["broken_stick"]["figures"]["expected_shares"]) * size == pytest.approx(
        table[:, 1], abs=1e-10)
    assert document["rules"]["kaiser"]["figures"]["over_mean"] == pytest.approx(table[:, 0], abs=1e-10)
    said = counts(document)
    assert said["kaiser"] == expected["kaiser_gt1_or_mean"]
    assert said["broken_stick"] == expected["broken_stick_leading"]
    assert said["variance_95"] == expected["n95"]
    kept = document["rules"]["variance_95"]["figures"]["cumulative"]
    assert kept == pytest.approx(table[expected["n95"] - 1, 2], abs=1e-10)


@pytest.mark.parametrize("name", SUMMARY)
def test_velicer(name: str) -> None:
    """R's table starts at one axis; none at all is looked at as well here."""
    rule = found("pca", points(name))["rules"]["velicer_map"]
    assert rule["figures"]["average_squared_partial_correlations"][1:] == pytest.approx(
        SUMMARY[name]["velicer_map"], abs=1e-10)
    assert rule["components"] == SUMMARY[name]["velicer_map_argmin"]


def test_partials_by_their_definition() -> None:
    """What is left of a column once axes are partialled out is its residual on the scores."""
    values = points("ability")
    scores = values @ np.linalg.eigh(np.corrcoef(values.T))[1][:, ::-1]
    expected = []
    for count in range(5):
        left = values - scores[:, :count] @ np.linalg.lstsq(scores[:, :count], values, rcond=None)[0]
        correlations = np.corrcoef(left.T)
        expected.append((correlations[~np.eye(6, dtype=bool)] ** 2).mean())
    assert average_partials(np.corrcoef(values.T)) == pytest.approx(expected, rel=1e-10)
