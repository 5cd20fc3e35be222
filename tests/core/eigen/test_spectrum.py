"""The bounds on the negative mass hold for every spectrum cut short, and some spectra reach them."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.eigen.spectrum import bounded_mass, mass_of, share_of_sizes

RANDOM = np.random.default_rng(0)
SPECTRA = {
    "normal": RANDOM.standard_normal(60),
    "decaying, few negative": np.geomspace(1, 1e-6, 80) * np.where(np.arange(80) % 7 == 3, -1, 1),
    "one large negative": np.append(np.linspace(2, 0.1, 30), -9.0),
    "all positive": RANDOM.random(40),
    "all negative but one": np.append(-RANDOM.random(40), 1.0),
    "with zeros": np.append(RANDOM.standard_normal(20), np.zeros(20)),
    "small top": np.append([3.0, 0.01, 0.01], -RANDOM.random(25)),
    "two sizes": np.repeat([1.0, -1.0], 15),
}


def cut(values: Array, kept: int, slack: float = 0.0) -> tuple[float, float]:
    values = np.sort(values)[::-1]
    return bounded_mass(values[:kept], float(values.sum()), float(np.linalg.norm(values)), len(values) - kept, slack)


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("slack", [0.0, 1e-9, 1e-3])
def test_the_truth_lies_between_the_bounds_wherever_the_spectrum_is_cut(name: str, slack: float) -> None:
    values, widths = SPECTRA[name], []
    for kept in range(1, len(values) + 1):
        least, most = cut(values, kept, slack)
        rounding = 1e-6 * np.abs(values).sum()
        assert least - rounding <= mass_of(values) <= most + rounding, kept
        widths.append(most - least)
    if slack == 0:
        assert widths[-1] <= 1e-6 * np.abs(values).sum()


def test_random_spectra_of_every_shape() -> None:
    for _ in range(2000):
        values = RANDOM.standard_normal(RANDOM.integers(2, 30)) ** RANDOM.integers(1, 6) + RANDOM.normal()
        least, most = cut(values, int(RANDOM.integers(1, len(values))))
        rounding = 1e-6 * np.abs(values).sum()
        assert least - rounding <= mass_of(values) <= most + rounding


@pytest.mark.parametrize(("values", "kept"), [
    (np.r_[5.0, np.repeat([1.0, -1.0], 6)], 1),       # sizes all alike: Cauchy and Schwarz
    (np.r_[2.0, 2.0, 2.0, np.full(4, -3.0)], 1),       # positives at the cap, negatives all alike
])
def test_the_upper_bound_is_reached(values: Array, kept: int) -> None:
    assert cut(values, kept)[1] == pytest.approx(mass_of(values), rel=1e-12)


@pytest.mark.parametrize(("values", "kept"), [
    (np.r_[4.0, 4.0, 4.0, -7.0], 1),                   # positives at the cap, one negative
    (np.r_[4.0, -1.0, -2.0, -3.0], 2),                 # nothing positive is left
])
def test_the_lower_bound_is_reached(values: Array, kept: int) -> None:
    assert cut(values, kept)[0] == pytest.approx(mass_of(values), rel=1e-12)


def test_nothing_is_bounded_without_the_norm() -> None:
    least, most = bounded_mass(np.array([2.0, 1.0]), 4.0, float("nan"), 3, 0.0)
    assert least == 0 and np.isnan(most)


def test_the_share_is_of_all_sizes() -> None:
    assert share_of_sizes(2.0, 8.0) == pytest.approx(2 / 12)
    assert np.isnan(share_of_sizes(0.0, 0.0))
