"""Options of training a network: descent and stopping."""

from typing import Literal

import numpy as np

from mlcli.base.values.options import Options, option


class Learning(Options):
    """Options of training: Adam on minibatches, for a number of epochs or until validation gains nothing."""

    epochs: int = option(50, "Largest number of epochs (passes over the rows).", ge=1)
    batch: int = option(128, "Rows in a batch; the rest of an epoch that fills no batch is skipped.", ge=1)
    rate: float = option(1e-3, "Learning rate at the start.", gt=0)
    schedule: Literal["cosine", "constant"] = option(
        "cosine", "Schedule of the learning rate: falling to zero along a cosine, or constant.")
    decay: float = option(0.0, "Weight decay: the share by which weights shrink in a step, times the rate.", ge=0)
    validation: float = option(0.1, "Share of the rows that are held out for validation.", ge=0, lt=1)
    patience: int = option(10, "Training stops after this number of epochs without a better objective on the held-out "
                           "rows; the best weights are kept.", ge=1)
    precision: Literal["float32", "float64"] = option("float32", "Precision of the computation in training.")

    def rates(self, step: int, steps: int) -> float:
        """Return the learning rate of a step, out of `steps` in all."""
        return self.rate * (0.5 + 0.5 * float(np.cos(np.pi * step / steps)) if self.schedule == "cosine" else 1.0)
