"""Names of the array types used everywhere."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
AnyArray = NDArray[Any]
RowsOf = Callable[[Indices], Array]  # finds the rows of some points in a matrix with a row for each (m x n)
