"""The step of L-BFGS, against the inverse Hessian that it stands for."""

import numpy as np

from mlcli.core.quasi_newton import quasi_newton_step
from tests.core.test_minimize import SIZES

RANDOM = np.random.default_rng(3)


def test_the_step_is_that_of_the_matrix_after_all_updates() -> None:
    """Against the update of the whole inverse Hessian (Nocedal and Wright, 6.17), of a quadratic function."""
    moves = RANDOM.standard_normal((4, 20))
    bends, slope, first = 2 * SIZES * moves, RANDOM.standard_normal(20), 0.3
    hessian = first * np.eye(20)
    for move, bend in zip(moves, bends, strict=True):
        turn = np.eye(20) - np.outer(move, bend) / (move @ bend)
        hessian = turn @ hessian @ turn.T + np.outer(move, move) / (move @ bend)
    found = quasi_newton_step(slope, moves, bends, lambda rest: first * rest)
    assert np.allclose(found, hessian @ slope, rtol=1e-10, atol=1e-12)
    newest = quasi_newton_step(bends[-1], moves, bends, lambda rest: first * rest)
    assert np.allclose(newest, moves[-1], rtol=1e-12, atol=1e-13)  # what the gradient changed by leads back
