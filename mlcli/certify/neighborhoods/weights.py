"""Costs on neighborhoods, computed again, of LLE with weights solved again: RᵀR Y = Y / λ, R = I - W."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, later, ratio
from mlcli.base.values.inputs import Spatial
from mlcli.certify.eigen import count_check
from mlcli.certify.graph import adjacency, neighbor_check
from mlcli.certify.neighborhoods.barycenters import reconstruction_error, residual_matrix
from mlcli.certify.neighborhoods.local_roots import Root, hessian_root, tangent_root
from mlcli.certify.neighborhoods.several_weights import several_weights_root
from mlcli.certify.subject import Subject, max_abs, tie_width
from mlcli.core.graph.search import Lists
from mlcli.core.metrics.points import is_euclidean

LOCAL = 1e-4  # seconds for a row with distances but no features
ROW, PAIR, GRAM = 2e-5, 2e-10, 4e-10  # seconds for a row, a column of a distance, and one of a product
APART = 1e5  # ratio of eigenvalues of M⁺ above which the solver computes them one after the other
ROOTS: Mapping[str, Callable[[Spatial, Lists, Any, int], Root]] = {
    "alignment": tangent_root, "hessian": hessian_root, "modified_reconstruction": several_weights_root}


def weight_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks of the rows of a cost's root: reconstruction weights, or functionals on tangent spaces."""
    similarity, kernel = subject.similarity, subject.chain.kernel
    width, columns = similarity.neighbors.usual, subject.data.values.shape[1]
    row = ROW if is_euclidean(subject.data) and kernel.name not in ROOTS else LOCAL
    if not subject.plan.allows(0.5, subject.size * (row + columns * (PAIR * subject.size + GRAM * width**2))):
        yield later("residual")
        return
    lists, _ = kernel.lists(subject.data, similarity.neighbors, subject.pieces)
    root = _root(subject, lists)  # the lists are proven by `neighbor_check`
    sizes = abs(root.matrix)
    norm = float(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())  # a bound of that of RᵀR
    costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    yield from _eigenproblem(subject, root, norm, costs)
    yield from _stated_costs(subject, root, norm)
    last, rounding = max_abs(costs), 10 * (norm * (subject.rounding + root.unsure) + root.spread)
    if not subject.plan.full:
        yield later("count")
    elif last > 2 * rounding:  # the last cost kept is not below the shift, but the constant vector's zero is
        yield count_check(lambda: -(root.matrix.T @ root.matrix).toarray(), subject.size, -last,
                          subject.embedding.shape[1], rounding / 10 + 1e-4 * last)
    yield neighbor_check(subject, adjacency(subject, lists.starts, lists.indices), "lists")


def _root(subject: Subject, lists: Lists) -> Root:
    """Return the root of the cost, computed again."""
    kernel = subject.chain.kernel
    if kernel.name in ROOTS:
        return ROOTS[kernel.name](subject.data, lists, kernel, subject.embedding.shape[1])
    matrix, rough = residual_matrix(subject.data, lists, subject.similarity.ridge)
    return Root(matrix, (EPS + rough) / subject.similarity.ridge)


def _eigenproblem(subject: Subject, root: Root, norm: float, costs: Array) -> Iterator[Check]:
    """Check RᵀR v = v / λ, with all rows of R."""
    coordinates, size, unsure = subject.embedding, subject.size, root.unsure
    image = root.matrix @ coordinates
    gaps = np.abs(root.matrix.T @ image - coordinates * costs)
    gaps = np.linalg.norm(np.maximum(gaps - root.slack(coordinates), 0.0), axis=0) / np.sqrt(size)
    # an iterative solver's residuals are relative to the largest λ, and grow by its ratio to the axis' own
    ratios = np.clip(subject.top * costs, 1.0, APART)
    precision = subject.rounding + unsure + subject.spectrum.tolerance * ratios
    solved = subject.spectrum.solved  # powers of the singular values of R, the roots of costs
    ties = tie_width(solved[solved > 0] ** -0.5, subject.rounding, coordinates.shape[1], power=2)
    yield ratio("residual", max_abs(gaps / (norm * precision + ties)), 1.0,
                "RᵀR v = v / λ, with the rows of R computed again")
    again = np.sum(image * image, axis=0) / size
    noise = norm * unsure**2 + root.noise(coordinates) / size  # rounding of the sum of squares
    relative = np.abs(again - costs) / (1e-4 * costs + 2 * np.sqrt(costs * noise) + noise)
    yield ratio("costs", max_abs(relative), 1.0, "‖R v‖² = 1 / λ, to a ten-thousandth")


def _stated_costs(subject: Subject, root: Root, norm: float) -> Iterator[Check]:
    """Check the costs among the figures of the fit, if any: of the coordinates as written, and of LLE's weights."""
    if "cost_of_coordinates" not in subject.model.fit:
        return
    sizes, stated = subject.chain.coordinates.sizes(subject.spectrum), subject.model.fit
    units = subject.embedding / np.sqrt(subject.size)
    found = float(np.sum(np.square(root.matrix @ units) @ sizes**2))
    noise = norm * root.unsure**2 * float(sizes @ sizes) + float(root.noise(units) @ sizes**2)
    yield ratio("cost of coordinates", abs(stated["cost_of_coordinates"] - found),
                1e-8 * found + 2 * np.sqrt(found * noise) + noise, "‖R Y‖² = the cost that the run states")
    if "cost_of_weights" not in stated:
        return
    unit = subject.data.unit**2
    found, size = reconstruction_error(subject.data, root.matrix)
    noise = size * root.unsure**2 + EPS * size * (not is_euclidean(subject.data))
    last = (unit**-1).number(float(np.finfo(np.float64).smallest_subnormal))  # digit of a cost near zero
    yield ratio("cost of weights", abs((unit**-1).number(stated["cost_of_weights"]) - found),
                1e-8 * found + 2 * np.sqrt(found * noise) + noise + last,
                "Σ ‖x - Σ w x‖² = the cost that the run states")
