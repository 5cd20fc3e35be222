"""Networks as plain arrays: their layers, the standard of their inputs, and forward passes in both directions.

Rows are centered and divided by one scale for all, so that columns count by their variation.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field, Strict

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import allocate, release_pages
from mlcli.base.rows.source import RowPass, rows_of
from mlcli.base.stages.stage import stage
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Features
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import uncentered
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import LARGEST_EXPONENT, Affine, Decoder, Projector
from mlcli.engine.executor import results
from mlcli.errors import DataError

FAINT = 1e-150  # deviations of a posterior without noise, whose logarithm is finite
Traced = Any  # an array that JAX follows
Layers = Sequence[tuple[Traced, Traced]]  # weights and biases, layer by layer
Units = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Strict(False)]  # of hidden layers
Hidden = Literal["tanh", "relu", "softplus", "logistic"]
Activation = Literal["tanh", "relu", "softplus", "logistic", "identity"]
SLOPES: Mapping[str, Callable[[Array], Array]] = {  # of the activations, at the sums
    "tanh": lambda sums: 1 - np.tanh(sums) ** 2, "relu": lambda sums: (sums > 0).astype(np.float64),
    "softplus": lambda sums: np.exp(-np.logaddexp(0.0, -sums)),
    "logistic": lambda sums: np.exp(-np.logaddexp(0.0, -sums) - np.logaddexp(0.0, sums)), "identity": np.ones_like}
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

    @classmethod
    def of(cls, layers: Layers, hidden: Hidden, last: Activation = "identity") -> "Network":
        """Return the network of trained layers, their arrays in double precision."""
        names: list[Activation] = [*[hidden] * (len(layers) - 1), last]
        return cls(tuple(DenseLayer(np.array(weights, dtype=np.float64), np.array(biases, dtype=np.float64), name)
                         for (weights, biases), name in zip(layers, names, strict=True)))

    def __call__(self, values: Array) -> Array:
        """Return the outputs (m x o) for inputs (m x i)."""
        for layer in self.layers:
            values = layer(values)
        return values

    def with_slopes(self, values: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return the outputs (m x o), and the function from slopes by these to slopes by the inputs (m x i)."""
        slopes = []
        for layer in self.layers:
            sums = values @ layer.weights + layer.biases
            values, slope = ACTIVATIONS[layer.activation](sums), SLOPES[layer.activation](sums)
            slopes.append(slope)

        def pull_back(by_outputs: Array) -> Array:
            for layer, slope in zip(self.layers[::-1], slopes[::-1], strict=True):
                by_outputs = (by_outputs * slope) @ layer.weights.T
            return by_outputs

        return values, pull_back

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


def initial_layers(sizes: Sequence[int], hidden: str, generator: np.random.Generator) -> list[tuple[Array, Array]]:
    """Return random weights and biases such that activations keep their size (Glorot and Bengio; He for relu)."""
    layers = []
    for before, after in pairwise(sizes):
        spread = np.sqrt(2 / before if hidden == "relu" else 2 / (before + after))
        layers.append((spread * generator.standard_normal((before, after)), np.zeros(after)))
    return layers


BLOCK = 1 << 19  # numbers of a block of rows
ROUNDING = 10 * float(np.finfo(np.float64).eps)  # of a column's size: deviations that small are none


@frozen
class Standard:
    """The means of columns and one scale for all."""

    means: Array  # d
    scale: float  # the root of the mean variance of the columns that vary; 1 where none does, or rows stay as they are
    varying: int  # of the columns

    @classmethod
    def of(cls, points: Array) -> "Standard":
        """Return the means and the scale of points (n x d)."""
        if (rows := rows_of(points)) is not None:
            assert rows.moments is not None
            moments = rows.moments.plain
            return cls._of_variances(moments.means, moments.squares / len(rows))
        blocks = row_blocks(len(points), BLOCK, points.shape[1])
        means = np.sum(list(in_order(lambda rows: points[rows].sum(axis=0), blocks)), axis=0) / len(points)
        rest = np.sum(list(in_order(lambda rows: (points[rows] - means).sum(axis=0), blocks)), axis=0) / len(points)
        means = means + rest
        variances = np.sum(list(in_order(lambda rows: np.square(points[rows] - means).sum(axis=0), blocks)),
                           axis=0) / len(points)
        return cls._of_variances(means, variances)

    @classmethod
    def _of_variances(cls, means: Array, variances: Array) -> "Standard":
        vary = variances > np.square(ROUNDING * means)
        scale = float(np.sqrt(variances[vary].mean())) if vary.any() else 1.0
        return cls(means, scale, int(vary.sum()))

    @classmethod
    def plain(cls, columns: int) -> "Standard":
        """Return the standardization that changes nothing."""
        return cls(np.zeros(columns), 1.0, columns)

    def require_variation(self) -> None:
        """Raise DataError where all rows are equal."""
        if not self.varying:
            raise DataError("NO-VARIATION", "all rows are equal up to rounding",
                            hint="give rows that differ")

    def transform(self, points: Array, rows: Indices, kind: str) -> AnyArray:
        """Return some rows (m indices of n x d points) standardized (m x d), of dtype `kind`."""
        return ((points[rows] - self.means) / self.scale).astype(kind)


@frozen
class StandardRows:
    """The rows of a second view, and their standard."""

    points: Array  # n x e
    standard: Standard
    exponent: int  # of the unit of the points

    @classmethod
    def of(cls, data: Features) -> "StandardRows":
        """Return the rows of a view; raises DataError where all are equal."""
        standard = Standard.of(data.values)
        if not standard.varying:
            raise DataError("NO-VARIATION", "all rows of the second view are equal up to rounding",
                            where="input.view", hint="give a view whose rows differ")
        return cls(data.values, standard, data.unit.exponent)


@stored("encoder", means="d")
@frozen
class Encoder(Similarity):
    """The outputs of a network for rows that are centered and divided by one scale."""

    keeps_distances: ClassVar[bool] = False
    means: Array  # d
    scale: float
    network: Network

    def rows(self, new: Array) -> Array:
        """Return the outputs for an (m, d) array of new points, an (m, c) array."""
        return self.network((new - self.means) / self.scale)

    def width(self, given: int) -> int:
        """Return the number of outputs; 0 where the network has another number of inputs."""
        return self.network.outputs if self.network.inputs == given else 0

    def rounding(self, new: Array) -> Array:
        """Return errors of the outputs (m x c), by the largest weights of each layer; activations do not amplify."""
        wrong = EPS * (np.abs(new).max(axis=1) + np.abs(self.means).max(initial=0.0)) / self.scale
        for layer in self.network.layers:
            wrong = wrong * np.abs(layer.weights).sum(axis=0).max(initial=0.0) + EPS * len(layer.weights)
        return np.repeat(wrong[:, None], self.network.outputs, axis=1)


@stored("network_decoder", means="d", signs="p")
@frozen
class NetworkDecoder(Decoder):
    """The outputs of a network, scaled and shifted back to features. Raises ValueError for parts that do not fit."""

    means: Array  # d
    scale: float
    signs: Array  # p: of the coordinates, before the network sees them
    network: Network

    def __post_init__(self) -> None:
        if (self.network.inputs, self.network.outputs) != (self.signs.size, self.means.size):
            raise ValueError("the network leads from coordinates to features")

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        return self.means + self.scale * self.network(embedding * self.signs)

    @property
    def affine(self) -> Affine | None:
        """This map, where the network is one layer without activation; else None."""
        first, *others = self.network.layers
        if others or first.activation != "identity":
            return None
        return Affine(self.means + self.scale * first.biases, self.scale * (self.signs[:, None] * first.weights).T)


@stored("view-decoder", means="o", signs="p")
@frozen
class ViewDecoder(NetworkDecoder):
    """The outputs of a network as features of the second view, in a unit of that view."""

    view: ClassVar[int] = 2
    exponent: int  # of the unit, a power of two

    def __post_init__(self) -> None:
        """Raise ValueError for parts that do not fit, and for a unit beyond the range of numbers and their squares."""
        super().__post_init__()
        if abs(self.exponent) > LARGEST_EXPONENT:
            raise ValueError("units are powers of two in the range of numbers")

    @property
    def affine(self) -> None:
        """None: its directions are not of the columns that are placed."""
        return None

    @property
    def unit(self) -> Unit:
        """The unit of the second view."""
        return Unit(self.exponent)


def encoder_and_decoder(standard: Standard, networks: tuple[Network, Network],
                        other: "StandardRows | None" = None) -> tuple[Encoder, NetworkDecoder]:
    """Return the encoder and the decoder for two networks trained on rows in this standard.

    The decoder leads to the rows of the `other` view where there is one.
    """
    inward, outward = networks
    encoder, signs = Encoder(standard.means, standard.scale, inward), np.ones(outward.inputs)
    if other is None:
        return encoder, NetworkDecoder(standard.means, standard.scale, signs, outward)
    return encoder, ViewDecoder(other.standard.means, other.standard.scale, signs, outward, other.exponent)


def codes_of(outputs: Array) -> tuple[Array, Array]:
    """Return means and standard deviations (m x p each) of q(z | x) from the encoder's outputs (m x 2p)."""
    means, logs = np.split(outputs, 2, axis=1)
    return means, np.exp(logs / 2)


class RowSum(Protocol):
    """A sum over rows that is computed while they are encoded; it can be pickled."""

    @property
    def width(self) -> int:
        """Numbers per row in memory at once."""

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """Return the sums over (b, d) rows, the first of them numbered `first`, with their (b, c) outputs."""


@frozen
class Errors:
    """Σ ‖x̂ - x‖² of the reconstruction, over the squared scale."""

    encoder: Encoder
    decoder: NetworkDecoder
    other: "StandardRows | None" = None  # what the decoder leads to, where that is another view

    @property
    def width(self) -> int:
        """Units of the widest layer."""
        return self.decoder.network.width

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """Return the sum over (b, d) rows, the first of them numbered `first`, with (b, c) outputs, a (1,) array."""
        wanted = rows if self.other is None else self.other.points[first : first + len(rows)]
        back = self.decoder(outputs[:, : len(self.decoder.signs)])
        return np.sum(((back - wanted) / self.decoder.scale) ** 2, keepdims=True).ravel()


@stage("coordinates")
def encode_rows(encoder: Encoder, points: Array, measure: RowSum) -> tuple[Array, Array]:
    """Return the encoder's outputs for (n, d) points, an (n, c) array, and the sums of a measure over them.

    Runs over a few rows at a time, on all threads.
    """
    width = max(encoder.network.width, measure.width)
    if (rows := rows_of(points)) is not None:
        return _gather(Encoding(rows, encoder, measure, width), allocate(len(rows), encoder.network.outputs))
    outputs = np.empty((len(points), encoder.network.outputs))

    def block(rows: slice) -> Array:
        outputs[rows] = encoder.rows(points[rows])
        return measure(rows.start, points[rows], outputs[rows])

    sums = list(in_order(block, row_blocks(len(points), BLOCK, width), progress=True))
    return outputs, np.sum(sums, axis=0)


@frozen
class Encoding(RowPass):
    """A pass for the outputs of rows, and the sums of a measure."""

    encoder: Encoder
    measure: RowSum
    width: int  # numbers per row in memory at once

    def work(self, number: int) -> list[tuple[int, Array, Array]]:
        """Return outputs and sums of the parts of a block, each with the position of its first row."""
        found = []
        for first, part in self.rows.parts(number):
            for some in row_blocks(len(part), BLOCK, self.width):
                outputs = self.encoder.rows(part[some])
                found.append((first + some.start, outputs, self.measure(first + some.start, part[some], outputs)))
        return found


def _gather(source: Encoding, outputs: Array) -> tuple[Array, Array]:
    """Collect the outputs in the order of rows, and add up the measure."""
    total: Array | float = 0.0
    with closing(results(source)) as every:
        for block in every:
            for first, some, sums in block:
                outputs[first : first + len(some)] = some
                total = total + sums
            release_pages()
    return outputs, np.asarray(total)


def projector_of(encoder: Encoder, decoder: NetworkDecoder, signs: Array) -> Projector:
    """Return the projector by the encoder's first outputs times `signs`, a (p,) array, and back by the decoder."""
    axes = np.eye(encoder.network.outputs, len(signs)) * signs
    return Projector(encoder, uncentered(len(axes)), axes, replace(decoder, signs=signs))
