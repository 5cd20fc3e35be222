"""The stored result of an unfolding: the learned kernel and the dual weights that bound it."""

from mlcli.base.frozen import frozen
from mlcli.base.stored import result, stored
from mlcli.base.types import Array, Indices


@result("unfolded")
@stored("unfolded", factor="uf", left="m", right="m", counted="w", weights="w", basis="ub",
        within={"left": "u", "right": "u", "counted": "m"})
@frozen
class Unfolded:
    """A learned kernel K = F Fᵀ and the weights that bound the trace of all others, in the units of the computation.

    The bound is over kernels V R Vᵀ: of a face that all kernels with these distances lie in, or of a
    Laplacian basis. Pairs that others imply, such as those of equal points, have no weight.
    """

    factor: Array  # n x r
    left: Indices  # m: pairs of points whose distances are constrained
    right: Indices  # m
    counted: Indices  # m', the pairs that have a weight, by their places among the m
    weights: Array  # m'
    basis: Array | None  # V (n x r), orthonormal and mean-free; None: all mean-free vectors
    penalty: float | None = None  # κ of a program over a Laplacian basis
