"""Estimates of second derivatives on tangent spaces, whose squares are the cost of Hessian eigenmaps."""

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.inputs import Spatial
from mlcli.stages.algebra.compressed_rows import CompressedRows
from mlcli.stages.algebra.stacks import left_singular, residuals
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.tangents import Part, local_root, with_constants

FLAT = 1e-10  # share of the products' size up to which they add nothing to affine functions


def hessian_root(data: Spatial, lists: Lists, dimension: int, ridge: float) -> CompressedRows:
    """Return the root R ((n p (p + 1) / 2) x n) of the Hessian cost on tangent spaces of a `dimension` p.

    For each neighborhood, the rows are an orthonormal basis of what products of two tangent coordinates add to affine
    functions of them: estimates of second derivatives. A point that is in no neighborhood has a row of reconstruction
    weights, with a `ridge`; two equal points a row of their difference. Source: Donoho and Grimes, 2003.
    """
    return local_root(data, lists, dimension, second_derivatives, ridge, differences(lists))


def differences(lists: Lists) -> list[Part]:
    """Return a row for each two neighbors at distance zero, that takes their values to their difference.

    No function of tangent coordinates tells them apart, so without it their values could differ at no cost.
    """
    equal = np.flatnonzero(lists.lengths == 0)
    if not len(equal):
        return []
    left, right = lists.rows[equal], lists.indices[equal]
    pairs = np.unique(np.column_stack([np.minimum(left, right), np.maximum(left, right)]), axis=0)
    return [(np.tile([[1.0, -1.0]], (len(pairs), 1, 1)), pairs)]


def second_derivatives(coordinates: Array) -> Array:
    """Return orthonormal rows (m x p (p + 1) / 2 x k) that span what products of coordinates (m x k x p) add to affine
    functions.

    Rows are zero where the products add fewer dimensions: where one of them is an affine function on the members.
    """
    left, right = np.triu_indices(coordinates.shape[2])
    products = coordinates[:, :, left] * coordinates[:, :, right]
    added, sizes = left_singular(residuals(products, with_constants(coordinates)), "products of tangent coordinates")
    there = sizes > FLAT * np.linalg.norm(products, axis=(1, 2))[:, None]
    return np.where(there[:, :, None], added.transpose(0, 2, 1), 0.0)
