"""A random walk between points or between clusters of them, and potential distances after some steps of it.

Source: Moon and others, "Visualizing structure and transitions in high-dimensional biological data", 2019.
"""

from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.distances import CACHED, inner_products, squared_distances
from mlcli.stages.graph.walks.clusters import memberships

if TYPE_CHECKING:
    from scipy import sparse

POWERS = 100  # of the walk, whose entropy is computed
ROUNDING = 1e-13  # of potentials, relative to their size
FLOOR = 1e-7  # added to probabilities ahead of their logarithm


@frozen
class Walk:
    """Probabilities P of a walk between L nodes (L x L), and those from each of n points to the nodes (n x L)."""

    steps: Array
    entries: "sparse.csr_array | None"  # None: the nodes are the points


def walk_between(kernel: "sparse.csr_array", clusters: Indices | None) -> Walk:
    """Return the walk of a symmetric kernel (n x n), between points or between the clusters (n).

    From a cluster it goes to a point, by the sum of the kernel over its members, and from there to a cluster, by the
    sum over members again.
    """
    if clusters is None:
        return Walk(shares(kernel).toarray(), None)
    joint = memberships(clusters, int(clusters.max()) + 1) @ kernel
    entries = shares(joint.T)
    return Walk((shares(joint) @ entries).toarray(), entries)


def shares(matrix: "sparse.sparray") -> "sparse.csr_array":
    """Return a matrix with rows divided by their sums."""
    from scipy import sparse

    rows = sparse.csr_array(matrix)
    return sparse.csr_array(sparse.diags_array(1 / rows.sum(axis=1)) @ rows)


def entropy_curve(steps: Array) -> Array:
    """Return the von Neumann entropy of P, P², ..., an array of `POWERS` numbers, in nats.

    That is the entropy of the shares of σ, σ², ..., with σ the singular values of P (n x n), as in the program of the
    authors of the method.
    """
    products = inner_products(steps.T, steps.T)
    with single_threaded_blas():  # the same bits for any number of threads
        squares = np.linalg.eigvalsh(products)[::-1]
    return entropies(np.sqrt(np.maximum(squares, 0.0)))


def entropies(values: Array) -> Array:
    """Return the entropy of the shares of the powers 1, 2, ... of singular values (n, descending), in nats."""
    powers = (values / values[0]) ** np.arange(1, POWERS + 1)[:, None]
    parts = powers / powers.sum(axis=1, keepdims=True)
    logs = np.log(parts, out=np.zeros_like(parts), where=parts > 0)
    return np.asarray(-(parts * logs).sum(axis=1))


def knee(curve: Array) -> int:
    """Return the place in a curve (m >= 3) where two lines of least squares fit best, one up to it and one from it.

    As in the program of the authors of the method, the second line is fitted from one place before on, the fit is
    measured by absolute errors, and the first of equal ones counts. Of two straight lines it is their corner, or at
    times the place after it.
    """
    places = np.arange(len(curve), dtype=np.float64)
    errors = [line_error(places[: place + 1], curve[: place + 1]) + line_error(places[place - 1:], curve[place - 1:], 1)
              for place in range(1, len(curve) - 1)]
    return 1 + int(np.argmin(errors))


def line_error(places: Array, values: Array, first: int = 0) -> float:
    """Return the sum of absolute errors, from the `first` on, of the line of least squares through values (m >= 2)."""
    moved = places - places.mean()
    slope = (moved @ values) / (moved @ moved)
    return float(np.abs(values - values.mean() - slope * moved)[first:].sum())


def power(steps: Array, time: int) -> Array:
    """Return P^t (n x n) by squares, the same for any number of threads."""
    result, square = None, steps
    while True:
        if time & 1:
            result = square if result is None else inner_products(result, square.T)
        time >>= 1
        if not time:
            return np.asarray(result)
        square = inner_products(square, square.T)


def potential(probabilities: Array, gamma: float) -> Array:
    """Return the potentials of probabilities p (m x n): -log(p + 1e-7) for γ = 1, else p^c / c, c = (1 - γ) / 2."""
    found, exponent = np.empty_like(probabilities), (1 - gamma) / 2

    def fill(rows: slice) -> None:
        if exponent == 0:
            found[rows] = -np.log(probabilities[rows] + FLOOR)
        else:
            found[rows] = probabilities[rows] ** exponent / exponent

    each(fill, row_blocks(len(found), CACHED, max(found.shape[1], 1)))
    return found


def potential_distances(steps: Array, time: int, gamma: float) -> Array:
    """Return the Euclidean distances (n x n) of the rows of potentials after `time` steps of a walk (n x n)."""
    potentials = potential(power(steps, time), gamma)
    found = squared_distances(potentials, potentials)
    np.sqrt(found, out=found)
    found[found <= noise(potentials)] = 0.0
    return found


def noise(potentials: Array) -> float:
    """Return the distance of two rows of potentials (n x n) up to which it is rounding of probabilities."""
    return ROUNDING * float(np.sqrt(np.einsum("ij,ij->i", potentials, potentials).max(initial=0.0)))
