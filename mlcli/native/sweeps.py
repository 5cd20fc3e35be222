"""Sweeps of coordinate descent over the weights of non-negative parts in sparse rows."""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels

LANES = 8  # numbers of a row of parts are padded to these, as the kernel takes them


def pad_parts(values: Array) -> Array:
    """Return an (m, p) array with columns of zeros behind its own, up to a multiple of the kernel's lanes."""
    padded = np.zeros((len(values), values.shape[1] + -values.shape[1] % LANES))
    padded[:, : values.shape[1]] = values
    return padded


def sweep_rows(entries: tuple[Indices, AnyArray, Array], parts: Array, gram: Array, sweeps: int,
               weights: Array) -> tuple[Array, Array]:
    """Return weights (m x p) of sparse rows after sweeps over them, and the products of the rows with these (d x p).

    `entries` are the rows' starts (m + 1), and columns (int32) and values of their entries; `parts` is Hᵀ (d x p) and
    `gram` H Hᵀ (p x p). Each weight goes to the minimum of ‖x - w H‖² over itself alone, or to zero, as often as there
    are `sweeps` (Cichocki and Phan, 2009). Raises ValueError for entries out of range.
    """
    count = parts.shape[1]
    improved, padded = pad_parts(weights), pad_parts(parts)
    square, products = np.zeros((padded.shape[1], padded.shape[1])), np.zeros_like(padded)
    square[:count, :count] = gram
    kernels().sweep_rows(*entries, padded, square, count, sweeps, improved, products)
    return improved[:, :count], products[:, :count]
