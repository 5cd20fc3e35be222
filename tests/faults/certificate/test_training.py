"""The epoch whose weights are kept is the best of a training."""

import numpy as np
import pytest

from mlcli.base.values.quantity import Quantity
from mlcli.methods import Model
from mlcli.methods.networks.check import training_checks


def verdict(trace: list[float], best: int, validation: list[float] | None = None, *, rising: bool = False,
            epochs: int | None = None) -> str:
    """What the certificate says of a training whose weights are those of an epoch."""
    curves = {} if validation is None else {"validation": Quantity(np.array(validation))}
    model = Model(embedding=np.zeros((2, 1)), objective=Quantity(np.array(trace)), curves=curves,
                  fit={"epochs": epochs or len(trace), "best_epoch": best})
    training, stationarity = training_checks(model, rising=rising)
    assert stationarity.verdict == "skipped"
    return training.verdict


def test_the_epoch_of_the_best_held_out_objective_passes() -> None:
    assert verdict([3.0, 2.0, 1.0], 2, [3.0, 1.0, 2.0]) == "pass"
    assert verdict([-3.0, -2.0, -1.0], 2, [-3.0, -1.0, -2.0], rising=True) == "pass"
    assert verdict([3.0, 2.0, 1.0], 3) == "pass"


@pytest.mark.parametrize("best", [1, 3])
def test_weights_of_another_epoch_fail(best: int) -> None:
    assert verdict([3.0, 2.0, 1.0], best, [3.0, 1.0, 2.0]) == "fail"
    assert verdict([-3.0, -2.0, -1.0], best, [-3.0, -1.0, -2.0], rising=True) == "fail"


def test_epochs_that_are_not_those_of_the_trace_fail() -> None:
    assert verdict([3.0, 2.0], 2, epochs=3) == verdict([3.0, 2.0], 1) == verdict([3.0, 2.0], 3) == "fail"


def test_a_training_without_held_out_rows_that_learned_nothing_claims_nothing() -> None:
    assert verdict([1.0, 2.0], 2) == "skipped"
