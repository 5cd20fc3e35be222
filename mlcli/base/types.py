"""Names of the array types used everywhere."""

from collections.abc import Callable
from typing import Any

import numpy as np

# not numpy.typing.NDArray: since NumPy 2.5 that is an alias of its own, and `storage/fields.py` reads these types
Array = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Indices = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
AnyArray = np.ndarray[tuple[Any, ...], np.dtype[Any]]
RowsOf = Callable[[Indices], Array]  # finds the rows of some points in a matrix with a row for each (m x n)
