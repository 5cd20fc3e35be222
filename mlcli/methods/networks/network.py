"""Feed-forward networks as plain arrays, for projection and reconstruction after training."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, Strict

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array

Units = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Strict(False)]  # of hidden layers
Hidden = Literal["tanh", "relu", "softplus", "logistic"]
Activation = Literal["tanh", "relu", "softplus", "logistic", "identity"]
ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "tanh": np.tanh, "relu": lambda sums: np.maximum(sums, 0.0), "softplus": lambda sums: np.logaddexp(sums, 0.0),
    "logistic": lambda sums: np.exp(-np.logaddexp(0.0, -sums)), "identity": lambda sums: sums}


@stored("layer")
@frozen
class DenseLayer:
    """A layer of units: the activation of x W + b. Raises ValueError where its arrays do not fit together."""

    weights: Array  # units before x units
    biases: Array  # units
    activation: Activation

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.biases.shape != self.weights.shape[1:]:
            raise ValueError("a layer has a bias for each of its units")

    def __call__(self, values: Array) -> Array:
        """Return the activations (m x units) for values (m x i) of the units before."""
        return ACTIVATIONS[self.activation](values @ self.weights + self.biases)


@stored("network")
@frozen
class Network:
    """A sequence of layers. Raises ValueError where there is none, or two do not fit together."""

    layers: tuple[DenseLayer, ...]

    def __post_init__(self) -> None:
        if not self.layers or any(len(right.weights) != len(left.biases) for left, right in pairwise(self.layers)):
            raise ValueError("each layer has as many weights to a unit as there are units before it")

    def __call__(self, values: Array) -> Array:
        """Return the outputs (m x o) for inputs (m x i)."""
        for layer in self.layers:
            values = layer(values)
        return values

    @property
    def inputs(self) -> int:
        """The number of inputs, i."""
        return len(self.layers[0].weights)

    @property
    def outputs(self) -> int:
        """The number of outputs, o."""
        return len(self.layers[-1].biases)

    @property
    def width(self) -> int:
        """Units of the widest layer, inputs included."""
        return max(self.inputs, *(len(layer.biases) for layer in self.layers))


def linear(weights: Array) -> Network:
    """Return a network of one linear layer with weights (i x o), without biases."""
    return Network((DenseLayer(weights, np.zeros(weights.shape[1]), "identity"),))
