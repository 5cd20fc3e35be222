r"""What the values of a computation are called: the one table of names, formulas, sentences and arrays of steps.

A value is found by what computed it: the name of a stage's function, of a composition's stage, or of a value that the
mathematics gives between them; with the kernel's or the method's name after a slash, or that of the way in which
kernels are weighed, where it means something else there. A value that is not in the table and belongs to a composition
is shown under its docstring, if it is an array. `mathml.py` describes the notation of the formulas.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.products import Square, materialize
from mlcli.base.values.scaling import Unit

POINTS, COLUMNS, AXES, GROUPS = "points", "columns", "axes", "groups"  # whose names rows or columns of an array have


@frozen
class Units:
    """The units of a computation's numbers; each is a power of two, so that plain numbers are the run's own."""

    values: Unit  # of the table
    lengths: Unit  # of distances
    kernel: Unit  # of the matrix whose spectrum ranks axes
    coordinates: Unit
    none: Unit = Unit()  # of numbers without one


@frozen
class Values:
    """An array of a step, before its rows and columns have names: those of points, columns, axes or groups, or others.
    """

    symbol: str
    values: Array
    rows: str | Sequence[str] = POINTS
    columns: str | Sequence[str] = POINTS


Arrays = Callable[[Any, Units], list[Values]]


@frozen
class Entry:
    """A step in words."""

    name: str
    formula: str
    sentence: str
    arrays: Arrays = lambda value, units: []  # those of a copied value
    symbols: str = ""  # what the letters mean that steps up to the kernel do not name before it


def sparse(starts: Indices, indices: AnyArray, values: Array) -> Array:
    """Return a square matrix in compressed rows as a whole one, NaN where it has no entry."""
    count = len(starts) - 1
    found = np.full((count, count), np.nan)
    found[np.repeat(np.arange(count), np.diff(starts)), indices] = values
    return found


def squared(symbol: str, name: str = "values") -> Arrays:
    """Return a function for distances of all pairs, given their squares."""
    return lambda value, units: [Values(symbol, np.sqrt((getattr(units, name) ** 2).plain(np.array(value))))]


def pairs(symbol: str, unit: str = "none") -> Arrays:
    """Return a function for a matrix of all pairs of points in a unit."""
    return lambda value, units: [Values(symbol, getattr(units, unit).plain(np.array(value)))]


def graph(symbol: str, unit: str = "none") -> Arrays:
    """Return a function for the lengths of a graph or of neighbor lists."""
    return lambda value, units: [Values(symbol, getattr(units, unit).plain(
        sparse(value.starts, value.indices, value.lengths)))]


def _edges(value: Any, units: Units) -> list[Values]:
    weights = sparse(value.graph.starts, value.graph.indices, value.weights)
    return [Values("W", weights), Values("√d", value.scale[:, None].copy(), POINTS, ("√d",))]


def _root(value: Any, units: Units) -> list[Values]:
    """Return W = I - R of a cost whose root R has a row for each point, where the method makes it."""
    product = value.products.get("weights") if value.products else None
    if product is None:
        return []
    made = materialize(product)
    assert not isinstance(made, Square)
    return [Values("W", sparse(made.starts, made.indices, made.values))]


def _dense(value: Any, units: Units) -> list[Values]:
    return [Values("K", units.kernel.plain(np.array(value.matrix)))]


def _streamed(value: Any, units: Units) -> list[Values]:
    return [Values("K", units.kernel.plain(np.array(value.rows(np.arange(value.size)))))]


def _factored(value: Any, units: Units) -> list[Values]:
    side = units.kernel.plain(np.array(value.side))
    centered = np.array(value.factor)
    for mean in value.means:
        centered = centered - mean
    by_columns = value.by_columns
    return [Values("X̃", units.values.plain(centered), POINTS, COLUMNS),
            Values("C" if by_columns else "K", side, *((COLUMNS, COLUMNS) if by_columns else (POINTS, POINTS)))]


def _product(value: Any, units: Units) -> list[Values]:
    return [Values("K", units.kernel.plain(value.factor @ value.factor.T))]


def cost(symbol: str) -> Arrays:
    """Return a function for the cost RᵀR of a root."""
    return lambda value, units: [Values(symbol, value.root.dense().T @ value.root.dense())]


def _walk(value: Any, units: Units) -> list[Values]:
    return [Values("W", sparse(value.graph.starts, value.graph.indices, value.weights))]


def _white(value: Any, units: Units) -> list[Values]:
    return [Values("U", np.array(value.points), POINTS, AXES)]


def _moments(value: Any, units: Units) -> list[Values]:
    moments = value.moments
    matrix = moments.matrix if hasattr(moments, "matrix") else moments.factor.T @ moments.factor
    return [Values("S", np.array(matrix), COLUMNS, COLUMNS)]


def _estimate(value: Any, units: Units) -> list[Values]:
    return [Values("Λ", np.array(value.state.loadings), COLUMNS, AXES),
            Values("ψ", np.array(value.state.uniquenesses)[:, None], COLUMNS, ("ψ",))]


def _conditional(value: Any, units: Units) -> list[Values]:
    lists, shares = value
    return [Values("p", sparse(lists.starts, lists.indices, shares))]


def _precisions(value: Any, units: Units) -> list[Values]:
    return [Values("P", sparse(value.starts, value.indices, value.values))]


def _process(value: Any, units: Units) -> list[Values]:
    covariance, points = value
    return [Values("K", covariance(points, points))]


def _inertia(value: Any, units: Units) -> list[Values]:
    return [Values("λ", value.inertias[:, None].copy(), AXES, ("λ",)), Values("V", np.array(value.axes), COLUMNS, AXES)]


def _compared(value: Any, units: Units) -> list[Values]:
    return [Values("RV", np.array(value.cosines), GROUPS, GROUPS),
            Values("λ", value.eigenvalues[:, None].copy(), GROUPS, ("λ",))]


def _weights(value: Any, units: Units) -> list[Values]:
    return [Values("w", np.array(value[1])[:, None], GROUPS, ("w",))]


def _combined(value: Any, units: Units) -> list[Values]:
    columns = tuple(f"z{number}" for number in range(1, len(value.directions) + 1))
    return [Values("Λ", value.eigenvalues[:, None].copy(), AXES, ("λ",)),
            Values("V", np.array(value.directions), columns, AXES)]


def _unmixing(value: Any, units: Units) -> list[Values]:
    return [Values("B", np.array(value.directions), AXES, AXES),
            Values("J", np.array(value.negentropy)[:, None], AXES, ("J",))]


def _parts(value: Any, units: Units) -> list[Values]:
    return [Values("H", units.values.plain(np.array(value.parts)), AXES, COLUMNS),
            Values("W", np.array(value.weights), POINTS, AXES)]


def _first_parts(value: Any, units: Units) -> list[Values]:
    return [] if value is None else [Values("W", value.weights.T.copy(), POINTS, AXES)]


def _constraints(value: Any, units: Units) -> list[Values]:
    return [Values("Z", np.array(value.columns), POINTS, value.names), Values("Q", np.array(value.basis), POINTS, AXES)]


def _redundancy(value: Any, units: Units) -> list[Values]:
    found = value[0]
    many = found.directions.shape[1]
    return [Values("λ", (units.values**2).plain(np.array(found.squares))[:, None], AXES, ("λ",)),
            Values("V", np.array(found.directions[:, :many]), COLUMNS, AXES)]


def _distance_redundancy(value: Any, units: Units) -> list[Values]:
    return [Values("λ", units.kernel.plain(np.array(value.values))[:, None], AXES, ("λ",)),
            Values("U", np.array(value.vectors), POINTS, AXES)]


def _discriminants(value: Any, units: Units) -> list[Values]:
    return [Values("A", (units.values**-1).plain(np.array(value.scaling)), COLUMNS, AXES),
            Values("ratio", np.array(value.ratios)[:, None], AXES, ("ratio",))]


def _class_means(value: Any, units: Units) -> list[Values]:
    names = [f"class {number}" for number in range(1, len(value) + 1)]
    return [Values("m", units.values.plain(np.array(value)), names, COLUMNS)]


def _styles(value: Any, units: Units) -> list[Values]:
    return [Values(f"A{number}", units.values.plain(np.array(factor)), COLUMNS, AXES)
            for number, factor in enumerate(value.factors, start=1)]


def _style_axes(value: Any, units: Units) -> list[Values]:
    return [Values(symbol, np.array(vectors), [f"{called} {place}" for place in range(1, len(vectors) + 1)], AXES)
            for symbol, called, vectors in (("A", "style", value.state.styles), ("B", "content", value.state.contents))]


def _slow(value: Any, units: Units) -> list[Values]:
    return [Values("Δ", np.array(value.slowness)[:, None], AXES, ("Δ",)),
            Values("B", np.array(value.directions), AXES, AXES)]


def _canonical(value: Any, units: Units) -> list[Values]:
    return [Values("ρ", np.array(value.correlations)[:, None], AXES, ("ρ",)),
            Values("A", np.array(value.first), AXES, AXES), Values("B", np.array(value.second), AXES, AXES)]


def _variates(value: Any, units: Units) -> list[Values]:
    return [Values("λ", np.array(value.values)[:, None], AXES, ("λ",)),
            Values("V", np.array(value.vectors), AXES, AXES)]


def _states(value: Any, units: Units) -> list[Values]:
    if not hasattr(value.state, "model"):
        return []
    model = value.state.model
    return [Values("A", np.array(model.transition), AXES, AXES), Values("C", np.array(model.loadings), COLUMNS, AXES)]


def _lengths(value: Any, units: Units) -> list[Values]:
    return [Values("δ", units.lengths.plain(value.lengths[np.ix_(value.places, value.places)]))]


def _potentials(value: Any, units: Units) -> list[Values]:
    return [Values("δ", value.lengths[np.ix_(value.places, value.places)])]


def _starts(value: Any, units: Units) -> list[Values]:
    names = [str(number) for number in range(1, len(value.stresses) + 1)]
    return [Values("σ", np.array(value.stresses)[None, :], ("stress",), names)] if len(names) > 1 else []


def _affinity(value: Any, units: Units) -> list[Values]:
    found = value.toarray()
    return [Values("K", np.where(found == 0, np.nan, found))]


def _steps_of_walk(value: Any, units: Units) -> list[Values]:
    walk, _, time, _ = value
    if walk.entries is not None:  # between clusters
        return []
    return [Values("P", walk.kernel.toarray() / walk.sums[:, None]), Values("t", np.array([[float(time)]]), ("time",),
                                                                              ("t",))]


def _start(value: Any, units: Units) -> list[Values]:
    return [Values("Y", np.array(value), POINTS, AXES)]


def _moved(value: Any, units: Units) -> list[Values]:
    curve = value.curve
    return [Values("a, b", np.array([[curve.a, curve.b]]), ("curve",), ("a", "b"))]


COST = "The costs of all neighborhoods in one matrix. It is symmetric, and a constant vector costs nothing."

NORMS = {  # of a kernel in a sum: formula, and in words
    "eigenvalue": ("s_g = λ_1(K_g)", "its norm s, by which it is divided, is its largest eigenvalue λ₁"),
    "frobenius": ("s_g = ‖K_g‖", "its norm s, by which it is divided, is the root of the sum of its squared entries"),
    "none": ("s_g = 1", "its norm s is 1: it is not divided")}
WEIGHTS = {  # of a kernel in a sum, by whether they are those of the RV coefficients
    True: (r"\mathrm{RV} w = μ w, \quad \sum_g w_g = 1", "The weights w are the first eigenvector of the RV "
           "coefficients (of eigenvalue μ), divided by its sum: the more a kernel is like the others, the larger."),
    False: (r"w_g = 1", "The weight w of each is 1, unless the run gives another; that of a supplementary group is "
            "0.")}


def weights_key(norm: str, *, averaged: bool) -> str:
    """Return the name of a way to divide and weigh the kernels of a sum."""
    return f"{norm}, {'by RV' if averaged else 'alike'}"


def _weighing(norm: str, *, averaged: bool) -> Entry:
    """Return the step that divides and weighs the kernels of a sum."""
    (size, divided), (weight, weighed) = NORMS[norm], WEIGHTS[averaged]
    return Entry("Norms and weights", rf"{size}, \quad {weight}", weighed, _weights,
                 symbols=f"K with an index is the kernel of a group g of columns; {divided}. {weighed}")


TABLE: Mapping[str, Entry] = {
    **{f"{composition}.weighted/{weights_key(norm, averaged=averaged)}": _weighing(norm, averaged=averaged)
       for composition in ("TablesComposition", "DissimilaritiesComposition", "SumChain")
       for norm in NORMS for averaged in WEIGHTS},
    "search_neighbors": Entry(
        "Nearest neighbors", r"N_i = \{ j ≠ i : d_{ij} ≤ d_{i(k)} \}",
        "Each row has distances to its k nearest other rows. The table is not symmetric: a row that is near to another "
        "need not be among its own neighbors in return.", graph("d", "lengths"),
        symbols="dᵢⱼ is the distance of rows i and j, k the number of neighbors, d with (k) the distance to the k-th "
        "nearest row, and N holds the neighbors of a row."),
    "graph": Entry(
        "Neighbor graph", r"G_{ij} = d_{ij} \text{ if } j ∈ N_i \text{ or } i ∈ N_j",
        "The lists become a graph, which is symmetric: two rows are joined if one is a neighbor of the other (of a "
        "mutual graph: if both are). An empty cell is no edge.", graph("G", "lengths"),
        symbols="G has the lengths of the edges between neighbors i and j, which are their distances d."),
    "paths": Entry(
        "Shortest paths", r"D_{ij} = \min_{i = a_0, …, a_m = j} \sum_{s=1}^{m} G_{a_{s-1} a_s}",
        "The length of the shortest way between two rows along the edges of the graph, instead of straight through "
        "space: the distance on the surface.", pairs("D", "lengths"),
        symbols="D has the lengths of shortest paths. A path a from i to j has any number m of steps s, each along an "
        "edge; the minimum is over all paths."),
    "PairwiseChain.squared": Entry(
        "Distances", "D_{ij} = d(x_i, x_j)",
        "How far apart every two rows are, by the chosen metric. The matrix is symmetric, with zeros on the "
        "diagonal.", squared("D", "lengths"),
        symbols="D holds the distances d of rows x, in the metric of the run; i and j are two rows."),
    "DiffusionChain.squared": Entry(
        "Distances", "D_{ij} = d(x_i, x_j)",
        "How far apart every two rows are.", squared("D", "lengths"),
        symbols="D holds the distances d of rows x, in the metric of the run; i and j are two rows."),
    "uncentered/gower": Entry(
        "Kernel before centering", r"A_{ij} = -\frac{1}{2} D_{ij}^2",
        "Squared distances times -1/2: inner products, but for terms of one row each, which centering takes away.",
        pairs("A", "kernel"),
        symbols="D holds the dissimilarities of points i and j (of rows their distances, on a graph lengths of paths). "
        "A are inner products, but for terms of one row each."),
    "uncentered/dbrda": Entry(
        "Kernel before centering", r"A_{ij} = -\frac{1}{2} D_{ij}^2",
        "Squared dissimilarities times -1/2.", pairs("A", "kernel"),
        symbols="D holds the dissimilarities of points i and j. A are inner products, but for terms of one row each."),
    "uncentered/gaussian": Entry(
        "Kernel before centering", r"A_{ij} = \exp(-γ d_{ij}^2)",
        "Two rows are as similar as they are near: 1 on the diagonal, almost 0 far away.", pairs("A", "kernel"),
        symbols="d is the distance of rows i and j (on a graph the length of a path), γ the rate of the kernel "
        "(kernel.rate), and A has its values."),
    "uncentered/laplacian": Entry(
        "Kernel before centering", r"A_{ij} = \exp(-γ d_{ij})",
        "Two rows are as similar as they are near: 1 on the diagonal, almost 0 far away.", pairs("A", "kernel"),
        symbols="d is the distance of rows i and j (on a graph the length of a path), γ the rate of the kernel "
        "(kernel.rate), and A has its values."),
    "uncentered/polynomial": Entry(
        "Kernel before centering", "A_{ij} = (c + γ x_i^⊤ x_j)^p",
        "A power of the inner product of two rows: the inner product of all their monomials.", pairs("A", "kernel"),
        symbols="x are the rows, i and j two of them; γ is the factor (kernel.gamma), c the constant (kernel.coef0), p "
        "the degree (kernel.degree), and A has the values of the kernel."),
    "uncentered/sigmoid": Entry(
        "Kernel before centering", r"A_{ij} = \tanh(c + γ x_i^⊤ x_j)",
        "A bounded function of the inner product of two rows.", pairs("A", "kernel"),
        symbols="x are the rows, i and j two of them; γ is the factor (kernel.gamma), c the constant (kernel.coef0), "
        "and A has the values of the kernel."),
    "uncentered/cosine": Entry(
        "Kernel before centering", r"A_{ij} = \frac{x_i^⊤ x_j}{|x_i| |x_j|}",
        "The cosine of the angle between two rows.", pairs("A", "kernel"),
        symbols="x are the rows, i and j two of them, |x| their lengths, and A has the values of the kernel."),
    "uncentered/linear": Entry(
        "Kernel before centering", "A_{ij} = x_i^⊤ x_j",
        "The inner product of every two rows.", pairs("A", "kernel"),
        symbols="x are the rows, i and j two of them, and A has the values of the kernel."),
    "uncentered": Entry(
        "Kernel before centering", "A_{ij} = k(x_i, x_j)",
        "How similar every two rows are.", pairs("A", "kernel"),
        symbols="x are the rows, i and j two of them; k is the function that the run chose as its kernel, and A has "
        "its values."),
    "kernel:Dense": Entry(
        "Kernel after centering", r"K = H A H, \quad H = I - \frac{1}{n} 1 1^⊤",
        "The means of rows and of columns are taken away, which moves the origin to the mean of the rows. Each row and "
        "each column now sums to zero.", _dense,
        symbols="A are the similarities before centering. H takes the means of rows and of columns away: I is the "
        "identity matrix, 1 the column of n ones, and n the number of rows. K is the kernel."),
    "kernel:Dense/diffusion": Entry(
        "Matrix of the walk", "K = S^{-1} W S^{-1} - v_1 v_1^⊤",
        "Affinities over the roots of their sums, less the first eigenpair, which is the same for any data. The walk "
        "from row to row has the same eigenvalues.", _dense,
        symbols="W has the affinities of rows, which fall with their distance, S on its diagonal the roots of their "
        "sums. v₁ is the first eigenvector, of eigenvalue 1; that of the walk is constant. K is the kernel."),
    "kernel:Dense/uncentered": Entry(
        "Kernel", "K_{ij} = k(x_i, x_j)",
        "The kernel is solved as it is: this chain does not center.", _dense,
        symbols="x are the rows, i and j two of them; k is the function that the run chose, and K the kernel."),
    "kernel:Streamed": Entry(
        "Kernel after centering", r"K = H A H, \quad H = I - \frac{1}{n} 1 1^⊤",
        "The kernel, which is computed row by row and never stored.", _streamed),
    "kernel:Factored": Entry(
        "Covariance of the columns",
        r"\tilde{X} = H X, \quad C = \tilde{X}^⊤ \tilde{X}, \quad K = \tilde{X} \tilde{X}^⊤",
        "The columns, centered: their means are taken away. Products of every two of them are the matrix whose "
        "eigenvectors are the axes; over the divisor (n, or n - 1), its entries are variances and "
        "covariances.", _factored,
        symbols="X has the n rows, H takes the means of the columns away, and X̃ has the centered rows. C are products "
        "of the columns, and K, the kernel, those of the rows."),
    "kernel:Dual": Entry(
        "Products of the rows", r"\tilde{X} = H X, \quad K = \tilde{X} \tilde{X}^⊤",
        "The columns, centered: their means are taken away. There are fewer rows than columns, so that products of "
        "rows are solved: they have the same eigenvalues as those of the columns.", _factored,
        symbols="X has the n rows, H takes the means of the columns away, and X̃ has the centered rows. K, the kernel, "
        "are products of the rows."),
    "kernel:Factored/unfolding": Entry(
        "Learned kernel",
        r"\max \mathrm{tr} K, \quad K ⪰ 0, \quad \sum_{ij} K_{ij} = 0, \quad K_{ii} + K_{jj} - 2 K_{ij} = G_{ij}^2",
        "The kernel of largest trace whose rows are as far apart as neighbors are: rows are pulled apart as far as "
        "edges allow.", _product,
        symbols="K is the kernel, tr K the sum of its diagonal, and K ⪰ 0 says that no eigenvalue of it is negative. "
        "The last condition holds for neighbors i and j, at the distance G."),
    "kernel:Inverse": Entry(
        "Cost of an embedding", r"M = R^⊤ R, \quad K = M^{+}",
        COST, cost("M"),
        symbols="M has the costs as a product of its root R, and its pseudoinverse K is the kernel."),
    "kernel:Inverse/reconstruction": Entry(
        "Cost of an embedding", r"M = (I - W)^⊤ (I - W), \quad K = M^{+}",
        COST + " Its smallest eigenvectors keep the weights best; they are the largest of its inverse K.", cost("M"),
        symbols="M has the costs of coordinates: W holds the weights w, and I is the identity matrix. Its "
        "pseudoinverse K is the kernel."),
    "kernel:Inverse/alignment": Entry(
        "Cost of an embedding", r"M = \sum_i S_i (I - T_i T_i^⊤) S_i^⊤, \quad K = M^{+}",
        COST + " T spans the tangent space of a neighborhood S, with its mean: coordinates cost nothing that are "
        "linear in it.", cost("M"),
        symbols="M has the costs of coordinates. Sᵢ puts the neighbors of row i in their places among all rows, Tᵢ is "
        "an orthonormal basis of their tangent space and of the constants, and I the identity matrix. The "
        "pseudoinverse K of M is the kernel."),
    "kernel:Inverse/modified_reconstruction": Entry(
        "Cost of an embedding", r"M = \sum_i S_i W_i W_i^⊤ S_i^⊤, \quad K = M^{+}",
        COST + " Each neighborhood has several weight vectors, the columns of W.", cost("M"),
        symbols="M has the costs of coordinates. Sᵢ puts row i and its neighbors in their places among all rows, and "
        "the columns of Wᵢ are weight vectors of the neighborhood. The pseudoinverse K of M is the kernel."),
    "kernel:Inverse/hessian": Entry(
        "Cost of an embedding", r"M = \sum_i S_i H_i H_i^⊤ S_i^⊤, \quad K = M^{+}",
        COST + " H estimates second derivatives on the tangent space: coordinates cost nothing that are linear on the "
        "surface.", cost("M"),
        symbols="M has the costs of coordinates. Sᵢ puts the neighbors of row i in their places among all rows, and Hᵢ "
        "estimates second derivatives from them. The pseudoinverse K of M is the kernel."),
    "kernel:Inverse/graph_laplacian": Entry(
        "Laplacian", r"L = S^{-1} (D - W) S^{-1}, \quad K = L^{+}",
        "Sums of weights on the diagonal less the weights, over the roots of the sums (S = 1 where it is not "
        "normalized). Its smallest eigenvectors change least along the edges.", cost("L"),
        symbols="L is the Laplacian: W holds the weights w, and D their sums dᵢ on its diagonal. S has the roots of "
        "these sums, or is the identity matrix (normalized: false). The pseudoinverse K of L is the kernel."),
    "kernel:LinearInverse": Entry(
        "Cost of an embedding", r"M = R^⊤ R, \quad Y = \tilde{X} A",
        COST + " Only coordinates that are linear in the columns are allowed.", cost("M")),
    "kernel:NormalizedAffinities": Entry(
        "Matrix of the walk", "K = S^{-1} W S^{-1} - v_1 v_1^⊤",
        "Affinities along the edges of the graph.", _walk,
        symbols="W has the affinities of rows that are nearest neighbors, S on its diagonal the roots of their sums. "
        "v₁ is the first eigenvector, of eigenvalue 1; that of the walk is constant. K is the kernel."),
    "LocalChain.root/reconstruction": Entry(
        "Weights of neighbors", r"\min_W \sum_i | x_i - \sum_{j ∈ N_i} w_{ij} x_j |^2, \quad \sum_j w_{ij} = 1",
        "Each row as a weighted mean of its neighbors, as well as that is possible. The weights in a row of the table "
        "sum to one.", _root,
        symbols="x are the rows, and w the weights of the neighbors j of row i; the matrix W holds them all."),
    "LinearComposition.of_graph/npe": Entry(
        "Weights of neighbors", r"\min_W \sum_i | x_i - \sum_{j ∈ N_i} w_{ij} x_j |^2, \quad \sum_j w_{ij} = 1",
        "Each row as a weighted mean of its neighbors. The weights in a row of the table sum to one.", _root),
    "weighted": Entry(
        "Weights of edges", r"w_{ij} = 1 \text{ or } \exp(-γ d_{ij}^2), \quad d_i = \sum_j w_{ij}",
        "Each edge has a weight, and each row the root of the sum of its weights.", _edges,
        symbols="wᵢⱼ is the weight of the edge from i to j, dᵢⱼ its length, γ the rate (weights.rate), and dᵢ, with "
        "one index, the sum of the weights at i."),
    "whiten": Entry(
        "White coordinates", r"U = \tilde{X} T, \quad \frac{1}{n} U^⊤ U = I",
        "The centered rows in coordinates that are uncorrelated and of variance one.", _white),
    "conditional affinities": Entry(
        "Affinities of each row",
        r"p_{j|i} = \frac{\exp(-β_i d_{ij}^2)}{\sum_{k ≠ i} \exp(-β_i d_{ik}^2)}, \quad -\sum_j p_{j|i} \log p_{j|i} = "
        r"\log \text{ perplexity}",
        "How likely row i would choose row j as its neighbor. Each row has a width of its own, by which it has as many "
        "neighbors as the perplexity says; the affinities in a row sum to one.", _conditional),
    "TSNEComposition.affinities": Entry(
        "Joint affinities", r"p_{ij} = \frac{p_{j|i} + p_{i|j}}{2 n}",
        "The mean of both directions. The matrix is symmetric, and all of it sums to "
        "one.", lambda value, units: _precisions(value[0], units)),
    "fuzzy_graph": Entry(
        "Memberships",
        r"v_{j|i} = \exp(-\frac{\max(0, d_{ij} - ρ_i)}{σ_i}), \quad w_{ij} = v_{j|i} + v_{i|j} - v_{j|i} v_{i|j}",
        "How far j belongs to the neighborhood of i: one for the nearest, less for the others, by a width of its own "
        "for each row. Both directions are joined as the probability that one of the two edges exists.", graph("w")),
    "TSNEComposition.start": Entry(
        "Start", "Y_0",
        "The first coordinates: small, and in the directions that the option start says.", _start),
    "UMAPComposition.start": Entry(
        "Start", "Y_0",
        "The first coordinates, which the option start chooses: usually the smooth vectors of the graph, with a little "
        "noise.", _start),
    "UMAPComposition.layout": Entry(
        "Membership in the layout", r"q_{ij} = \frac{1}{1 + a |y_i - y_j|^{2b}}",
        "The curve that turns distances in the layout into memberships. Edges pull their ends together, and random "
        "pairs push each other apart, so that q follows w.", _moved),
    "StressComposition.pairs": Entry(
        "Dissimilarities", "δ_{ij} = d(x_i, x_j)",
        "How far apart every two rows are. The layout is to have these distances, or distances in their "
        "order.", _lengths),
    "StressComposition.runs": Entry(
        "Stress of each start", "σ",
        "How badly the distances of the layout fit, from each of the starts. The layout of least stress is "
        "kept.", _starts),
    "PHATEComposition.kernel": Entry(
        "Affinities", r"K_{ij} = \frac{1}{2} \exp(-(d_{ij} / ε_i)^α) + \frac{1}{2} \exp(-(d_{ij} / ε_j)^α)",
        "Two rows are as similar as they are near, by widths of their own.", _affinity),
    "PHATEComposition.walk": Entry(
        "Steps of a walk", r"P = D^{-1} K, \quad P^t",
        "The probability that a walk goes from one row to another in one step, each row of the table summing to one; "
        "and how many steps are taken.", _steps_of_walk),
    "PHATEComposition.pairs": Entry(
        "Potential distances", r"δ_{ij} = | \log P^t_i - \log P^t_j |",
        "How differently walks from two rows end after t steps (with gamma 1, by logarithms). The layout is to have "
        "these distances.", _potentials),
    "moments": Entry(
        "Correlations of the columns", r"S = \frac{1}{n} Z^⊤ Z",
        "The covariance of the columns, each over its deviation (with equal noise, over one deviation for all): what "
        "the factors are to explain.", _moments),
    "Iterate.__call__/fa": Entry(
        "Loadings and uniquenesses", "S ≈ Λ Λ^⊤ + Ψ",
        "The loadings Λ of the largest likelihood, before they are rotated, and what each column has for itself, ψ: "
        "the share of its variance that no factor explains.", _estimate),
    "Iterate.__call__/lgssm": Entry(
        "Dynamics", r"s_{t+1} = A s_t + q_t, \quad x_t = C s_t + r_t",
        "How the state moves from one row to the next, and how the columns follow from it.", _states),
    "products of views": Entry(
        "Correlations between the views", r"C = \frac{1}{n} U_1^⊤ U_2",
        "Products of the white coordinates of both views. Within a view nothing is correlated any "
        "more.", lambda value, units: [Values("C", np.array(value), AXES, AXES)]),
    "canonical": Entry(
        "Canonical correlations", r"C = A \mathrm{diag}(ρ) B^⊤",
        "The singular values are correlations of pairs of directions, one in each view, the largest "
        "first.", _canonical),
    "group_variates": Entry(
        "Variates of all views", r"\frac{1}{n} U^⊤ U = V Λ V^⊤",
        "Directions that all views have in common, from the white coordinates side by side.", _variates),
    "class means": Entry(
        "Means of the classes", r"m_c = \frac{1}{n_c} \sum_{i ∈ c} x_i - \bar{x}",
        "The mean of each class, less that of all rows; classes are in alphabetical order.", _class_means),
    "discriminants": Entry(
        "Discriminants", r"\max_a \frac{a^⊤ B a}{a^⊤ W a}",
        "Directions in which the means of classes differ most, relative to the spread within the classes; and that "
        "ratio.", _discriminants),
    "style_factors": Entry(
        "Factors of the styles", r"\bar{x}^{sc} ≈ A^s b^c",
        "For each style a matrix that turns the vector of a content into a row, from the means of every style with "
        "every content.", _styles),
    "Iterate.__call__/bilinear": Entry(
        "Axes of styles and of contents", r"\max_{A, B} \sum_k ‖A^⊤ M_k B‖^2",
        "Orthonormal vectors over styles and over contents between which the means of all columns k have the largest "
        "squares; those of either are computed from the others, in turn.", _style_axes),
    "RDAComposition.constraints": Entry(
        "Constraints", "Z = Q R",
        "The columns of the second view, centered and of length one, and an orthonormal basis of what they can "
        "explain.", _constraints),
    "DBRDAComposition.constraints": Entry(
        "Constraints", "Z = Q R",
        "The columns of the second view, centered and of length one, and an orthonormal basis of what they can "
        "explain.", _constraints),
    "RDAComposition.axes": Entry(
        "Constrained axes, and the rest", r"Q Q^⊤ \tilde{X} = U \sqrt{Λ} V^⊤",
        "Principal components of what the constraints explain, and then of what they leave.", _redundancy),
    "DBRDAComposition.products": Entry(
        "Kernel after centering", r"G = H A H, \quad H = I - \frac{1}{n} 1 1^⊤",
        "The means of rows and of columns are taken away. Each row now sums to "
        "zero.", lambda value, units: _dense(value[0], units)),
    "DBRDAComposition.axes": Entry(
        "Constrained axes, and the rest", "Q Q^⊤ G Q Q^⊤ = U Λ U^⊤",
        "Eigenvectors of what the constraints explain, and then of what they leave.", _distance_redundancy),
    "residuals": Entry(
        "Standardized residuals", r"S_{ij} = \frac{p_{ij} - r_i c_j}{\sqrt{r_i c_j}}",
        "How much more often row and column meet than their totals let expect, in units of "
        "chance.", lambda value, units: [Values("S", np.array(value), POINTS, COLUMNS)]),
    "principal_inertias": Entry(
        "Principal inertias", r"S = U \sqrt{Λ} V^⊤",
        "The squared singular values, and the directions of the columns.", _inertia),
    "table_products": Entry(
        "Kernels compared",
        r"\mathrm{RV}_{gh} = \frac{\mathrm{tr}(K_g K_h)}{‖K_g‖ ‖K_h‖}, \quad K_g = \frac{1}{n} Z_g Z_g^⊤",
        "The cosine of each pair of kernels, at one where both tell the rows apart alike; and the largest eigenvalue "
        "of each.", _compared,
        symbols="K with an index is the kernel of a group of columns, g or h (under famd of one column). Z has the "
        "group's columns, standardized, and for each category one of zeros and ones, centered and over the root of its "
        "share; n is the number of rows. tr is the sum of the diagonal, and ‖K‖ the root of the sum of squared "
        "entries. RV is 1 for kernels alike up to a factor."),
    "combined rows": Entry(
        "Rows of all tables",
        r"K = \sum_g \frac{w_g}{s_g} K_g = \frac{1}{n} Z Z^⊤, "
        r"\quad Z = (\sqrt{w_1 / s_1} Z_1, \sqrt{w_2 / s_2} Z_2, ...)",
        "The standardized columns side by side, each group's times the root of its weight w over its norm s: their "
        "inner products are the sum of the kernels.",
        lambda value, units: [Values("Z", np.array(value), POINTS, tuple(
            f"z{number}" for number in range(1, value.shape[1] + 1)))],
        symbols="K is the kernel, and Z the columns of all groups g = 1, 2, ... side by side."),
    "SumChain.compared": Entry(
        "Kernels compared", r"\mathrm{RV}_{gh} = \frac{\mathrm{tr}(K_g K_h)}{‖K_g‖ ‖K_h‖}",
        "The cosine of each pair of kernels, at one where both tell the rows apart alike; and the largest eigenvalue "
        "of each over the number of rows.", _compared,
        symbols="K with an index is the kernel of a table, g or h, tr the sum of the diagonal, and ‖K‖ the root of the "
        "sum of squared entries. RV is 1 for kernels alike up to a factor."),
    "DissimilaritiesComposition.compared": Entry(
        "Kernels compared",
        r"\mathrm{RV}_{gh} = \frac{\mathrm{tr}(K_g K_h)}{‖K_g‖ ‖K_h‖}, \quad K_g = -\frac{1}{2 n} H D_g^2 H",
        "The cosine of each pair of kernels, at one where both tell the points apart alike; and the largest eigenvalue "
        "of each.", _compared,
        symbols="K with an index is the kernel of a matrix of dissimilarities D, g or h; D² has the squares of single "
        "entries, H takes the means of rows and of columns away, and n is the number of points. tr is the sum of the "
        "diagonal, and ‖K‖ the root of the sum of squared entries. RV is 1 for kernels alike up to a factor."),
    "combined kernel": Entry(
        "Sum of kernels", r"K = \sum_g \frac{w_g}{s_g} K_g",
        "The kernel of each table, centered, times its weight w over its norm s, added up; of matrices of "
        "dissimilarities, K_g = -H D_g² H / 2n.",
        lambda value, units: [Values("K", np.array(value), POINTS, POINTS)],
        symbols="K is the kernel, and K with an index that of a table g, centered."),
    "combined_axes": Entry(
        "Axes of the sum", r"\sum_g \frac{w_g}{s_g} K_g = \frac{1}{n} Z Z^⊤, \quad Z = \sqrt{n} U \sqrt{Λ} V^⊤",
        "The squared singular values, and the directions of the columns; coordinates are Z V.", _combined),
    "slow_features": Entry(
        "Slow features", r"Δ = \frac{1}{n - 1} \sum_t (y_{t+1} - y_t)^2",
        "Directions in the white coordinates that change least from one row to the next; and how much they "
        "change.", _slow),
    "ICAComposition.found": Entry(
        "Independent directions", r"S = U B^⊤, \quad \max J(s)",
        "The rotation of the white coordinates by which they are farthest from normal; J is their "
        "negentropy.", _unmixing),
    "NMFComposition.first": Entry(
        "Start", "X ≈ W H",
        "The first weights.", _first_parts),
    "NMFComposition.placed": Entry(
        "Parts", r"X ≈ W H, \quad W ≥ 0, H ≥ 0",
        "Each row is a sum of the parts, none of them taken away.", _parts),
    "principal_scores": Entry(
        "Start", r"Y_0 = U \sqrt{Λ}",
        "The scores on principal components, with which the iteration begins.", _start),
    "process": Entry(
        "Covariance of the latent points", "K_{ij} = k(y_i, y_j)",
        "The fitted covariance function of every two latent points, by which columns are smooth functions of the "
        "coordinates.", _process),
    # The first step, the spectrum, the iteration, and what the model says of the end; `record.py` has their arrays.
    "rows": Entry(
        "Rows", "X = (x_1, …, x_n)^⊤",
        "The rows that the method gets, as the file has them after the options of prepare."),
    "rows:covariance": Entry(
        "Covariance", "C",
        "The covariance of the columns, as the file has it."),
    "rows:dissimilarities": Entry(
        "Dissimilarities", "D_{ij}",
        "How far apart every two points are, as the file has it."),
    "rows:kernel": Entry(
        "Kernel", "A_{ij}",
        "The inner product of every two points, as the file has it."),
    "rows:graph": Entry(
        "Edges", "G_{ij}",
        "The edges of the graph, as the file has them."),
    "spectrum": Entry(
        "Eigenvalues and eigenvectors", "K = V Λ V^⊤",
        "The kernel as a sum of axes, the largest first. Eigenvectors have length one and are perpendicular; negative "
        "eigenvalues, of distances that no points in space have, make no axes."),
    "spectrum:inverse": Entry(
        "Eigenvalues and eigenvectors", r"M v = \frac{1}{λ} v",
        "Eigenvectors of the cost, the cheapest first, without the constant one; λ are the eigenvalues of its inverse "
        "K, so that the largest come first."),
    "spectrum:columns": Entry(
        "Eigenvalues and eigenvectors", r"C u = λ u, \quad K = V Λ V^⊤",
        "Directions u in which the columns vary most, the largest first, and the rows along them over their length, v. "
        "Eigenvalues over the divisor of the covariance are variances."),
    "spectrum:linear": Entry(
        "Eigenvalues and eigenvectors", r"\tilde{X}^⊤ M \tilde{X} a = \frac{1}{λ} \tilde{X}^⊤ D \tilde{X} a",
        "Directions of the columns along which coordinates cost least, relative to their variance (D = I without "
        "weights); V has the rows along them."),
    "iteration": Entry(
        "Iteration", "",
        "The objective is improved step by step."),
    "iteration/tsne": Entry(
        "Descent",
        r"Y_{t+1} = Y_t - η \frac{∂ C}{∂ Y} + α (Y_t - Y_{t-1}), \quad \frac{∂ C}{∂ y_i} = 4 \sum_j (p_{ij} - q_{ij}) "
        r"\frac{y_i - y_j}{1 + |y_i - y_j|^2}",
        "Each point is pulled to those that it has affinity with, and pushed from all others; in the first steps the "
        "pull is exaggerated. The objective is the divergence of the affinities q in the layout from p."),
    "iteration/umap": Entry(
        "Epochs", r"y_i ← y_i + α \sum_j (w_{ij} \text{ pull} - \text{push})",
        "In each epoch edges are drawn by their memberships and pull their ends together; for each, random points are "
        "pushed away. The objective is the mean cost of the edges drawn."),
    "iteration/smacof": Entry(
        "Majorization",
        r"Y_{t+1} = V^{+} B(Y_t) Y_t, \quad σ^2 = \frac{\sum_{ij} (δ_{ij} - d_{ij})^2}{\sum_{ij} δ_{ij}^2}",
        "Each step (a Guttman transform) moves to the minimum of a parabola above the stress, which therefore never "
        "rises."),
    "iteration/sammon": Entry(
        "Majorization",
        r"Y_{t+1} = V^{+} B(Y_t) Y_t, \quad σ = \frac{1}{\sum δ_{ij}} \sum_{ij} \frac{(δ_{ij} - d_{ij})^2}{δ_{ij}}",
        "Stress in which small dissimilarities count as much as large ones, improved step by step."),
    "iteration/nmds": Entry(
        "Descent", r"σ^2 = \frac{\sum_{ij} (\hat{d}_{ij} - d_{ij})^2}{\sum_{ij} d_{ij}^2}",
        "Stress is what keeps distances from the order of the dissimilarities: d with a hat are the numbers in that "
        "order that are nearest to the distances."),
    "iteration/phate": Entry(
        "Majorization", r"σ^2 = \frac{\sum_{ij} (δ_{ij} - d_{ij})^2}{\sum_{ij} δ_{ij}^2}",
        "The stress of the potential distances, improved step by step."),
    "iteration/fa": Entry(
        "Likelihood", r"\log L = -\frac{n}{2} (\log |Σ| + \mathrm{tr} Σ^{-1} S), \quad Σ = Λ Λ^⊤ + Ψ",
        "The log-likelihood of the factor model after each step."),
    "iteration/nmf": Entry(
        "Iteration", "X ≈ W H",
        "The error of the product after each step: W and H are improved in turn, and stay at or above zero."),
    "iteration/ib": Entry(
        "Annealing", r"I(T; X) - β I(T; Y), \quad p(t | x) ∝ p(t) e^{-β D}",
        "The objective at each value of β: first as it rises and clusters split, then as it falls again."),
    "iteration/ica": Entry(
        "Iteration", "J(s)",
        "The negentropy of all components after each step."),
    "ranks": Entry(
        "What ranks the axes", "λ_1, λ_2, …",
        "The numbers in spectrum.csv of a run, and their shares of the whole."),
    "shepard": Entry(
        "Dissimilarities and distances", r"δ_{ij}, d_{ij}, \hat{d}_{ij}",
        "Some pairs of rows by ascending dissimilarity: the dissimilarity, the distance in the layout, and what it "
        "should be."),
    "loadings": Entry(
        "Loadings", "",
        "How each column goes with each axis: the numbers in loadings.csv of a run."),
    "loadings/ib": Entry(
        "Clusters", "p(y | t)",
        "The shares of the columns in each cluster: the numbers in loadings.csv of a run."),
    "loadings/pca": Entry(
        "Loadings", r"L = u \sqrt{λ}",
        "The directions, each as long as the deviation along it (as they are under method.loadings=unit): the numbers "
        "in loadings.csv of a run."),
    **dict.fromkeys(("loadings/fa", "loadings/ppca", "loadings/lgssm"), Entry(
        "Loadings", r"x = \bar{x} + L y + ε",
        "How columns follow from the axes, up to noise: the numbers in loadings.csv of a run.")),
    **dict.fromkeys(("loadings/lda", "loadings/lpp", "loadings/npe", "loadings/lltsa", "loadings/random"), Entry(
        "Coefficients", r"y = L^⊤ (x - \bar{x})",
        "How coordinates follow from the columns, also those of new rows: the numbers in loadings.csv of a run.")),
    "map": Entry(
        "Map", r"y = A^⊤ (x - \bar{x})",
        "How coordinates follow from the columns, also those of new rows."),
    "network": Entry(
        "Weights of the encoder", r"y = a(… a(\tilde{x}^⊤ W_1 + b_1) W_2 + b_2 …)",
        "How strongly each unit of a layer counts in those of the next; the first layer are the columns, over one "
        "scale."),
    "coordinates": Entry(
        "Coordinates", "Y = (y_1, …, y_n)^⊤",
        "The rows on the axes: what mlcli embed writes for them, to the last digit."),
    "coordinates:roots": Entry(
        "Coordinates", r"Y = V \sqrt{Λ}",
        "The eigenvectors, each as long as the root of its eigenvalue: the rows on the axes, as mlcli embed writes "
        "them to the last digit."),
}
