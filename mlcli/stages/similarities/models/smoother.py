"""The states of a sequence as its rows."""

from dataclasses import replace
from typing import ClassVar

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.stages.latent.kalman import Sequence, StateSpace, smooth
from mlcli.stages.similarities.base import Similarity


@stored("smoother", means="d")
@frozen
class Smoother(Similarity):
    """The states of a sequence given all its rows: the linear-Gaussian state-space model."""

    rowwise: ClassVar[bool] = False  # a state depends on the rows before and after it
    means: Array  # d
    model: StateSpace

    def rows(self, new: Array) -> Array:
        """Return the smoothed states (m x K) of successive rows, started from the model's prior."""
        varying = self.model.noise > 0
        if not varying.any():
            return np.zeros((len(new), len(self.model.transition)))
        model = replace(self.model, loadings=self.model.loadings[varying], noise=self.model.noise[varying])
        return smooth(Sequence.of((new - self.means)[:, varying]), model).means

    def width(self, given: int) -> int:
        """Return the number of states."""
        return len(self.model.transition)
