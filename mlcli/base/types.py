"""Names of the array types used everywhere."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
AnyArray = NDArray[Any]
