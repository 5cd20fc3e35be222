"""The step of L-BFGS from recent moves and changes of the gradient."""

from collections.abc import Callable, Iterable

from mlcli.base.types import Array
from mlcli.core.arithmetic import dot


def quasi_newton_step(slope: Array, moves: Iterable[Array], bends: Iterable[Array],
                      first: Callable[[Array], Array]) -> Array:
    """Return H g for a gradient g, to be subtracted, with H the inverse Hessian of L-BFGS (Nocedal, 1980).

    Moves and changes of the gradient along them have the shape of g, the newest last; `first` is the product with the
    inverse Hessian without them.
    """
    rest, passed = slope.copy(), []
    for move, bend in zip(reversed([*moves]), reversed([*bends]), strict=True):
        curvature = dot(move, bend)
        share = dot(move, rest) / curvature
        rest -= share * bend
        passed.append((move, bend, curvature, share))
    step = first(rest)
    for move, bend, curvature, share in reversed(passed):
        step = step + (share - dot(bend, step) / curvature) * move
    return step
