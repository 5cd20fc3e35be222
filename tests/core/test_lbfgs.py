"""L-BFGS in a fixed order: what its steps fulfil."""

import numpy as np
import pytest

from mlcli.core.lbfgs import FALL, FLAT, Along, Place, lowest, search
from tests.core.test_minimize import CENTER, FAR, quadratic, rosenbrock


@pytest.mark.parametrize("first", [1e-6, 0.01, 1.0, 50.0])
def test_a_step_falls_as_far_as_wolfe_asks_and_its_slope_is_flatter(first: float) -> None:
    for function, start in ((quadratic, FAR), (rosenbrock, np.array([-1.2, 1.0]))):
        here = Place.at(function, start)
        found = search(function, here, -first * here.slope / np.linalg.norm(here.slope))
        assert found is not None
        share, promised = np.linalg.norm(found.values - here.values), -float(np.linalg.norm(here.slope))
        assert found.objective <= here.objective + FALL * share * promised
        assert abs(found.slope @ here.slope / promised) <= -FLAT * promised


def test_no_place_is_found_where_the_objective_only_rises() -> None:
    here = Place.at(quadratic, CENTER)
    assert search(quadratic, here, np.ones(20)) is None


@pytest.mark.parametrize("ends", [(0.0, 1.0), (1.0, 0.0), (0.4, 3.0)])
def test_the_lowest_place_of_a_cubic_is_found_exactly(ends: tuple[float, float]) -> None:
    """(s - 0.7)² (s + 2), whose minimum is at 0.7."""
    def cubic(share: float) -> Along:
        return Along(share, (share - 0.7) ** 2 * (share + 2), (share - 0.7) * (3 * share + 3.3))

    assert lowest(*map(cubic, ends)) == pytest.approx(0.7, rel=1e-12)


def test_a_line_has_no_lowest_place_and_numbers_out_of_range_none() -> None:
    assert lowest(Along(0.0, 1.0, -1.0), Along(2.0, -1.0, -1.0)) == 1.0
    assert lowest(Along(0.0, 1.0, -1e200), Along(2.0, 1e300, 1e250)) == 1.0
