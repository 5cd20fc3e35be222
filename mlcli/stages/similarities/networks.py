"""Projection and reconstruction by the forward pass of a network."""

from contextlib import closing
from dataclasses import replace
from typing import ClassVar, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import let_go, room
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import stage
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.engine.executor import results
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.neural.network import Network
from mlcli.stages.neural.standard import Standard
from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.decoders import Affine, Decoder
from mlcli.stages.similarities.projector import Projector

BLOCK = 1 << 19  # activations of a layer that a thread holds


@stored("encoder", means="d")
@frozen
class Encoder(Similarity):
    """The outputs of a network that sees centered rows over one scale."""

    keeps_distances: ClassVar[bool] = False
    means: Array  # d
    scale: float
    network: Network

    def rows(self, new: Array) -> Array:
        """The outputs for new points (m x c)."""
        return self.network((new - self.means) / self.scale)

    def width(self, given: int) -> int:
        """One for each output; none where the network takes other rows."""
        return self.network.outputs if self.network.inputs == given else 0

    def rounding(self, new: Array) -> Array:
        """The rounding of the inputs through the largest weights of each layer, whose activations do not stretch."""
        wrong = EPS * (np.abs(new).max(axis=1) + np.abs(self.means).max(initial=0.0)) / self.scale
        for layer in self.network.layers:
            wrong = wrong * np.abs(layer.weights).sum(axis=0).max(initial=0.0) + EPS * len(layer.weights)
        return np.repeat(wrong[:, None], self.network.outputs, axis=1)


@stored("network_decoder", means="d", signs="p")
@frozen
class NetworkDecoder(Decoder):
    """The outputs of a network, brought back from what it learned to reproduce. Raises ValueError for unfit parts."""

    means: Array  # d
    scale: float
    signs: Array  # p: of the coordinates, before the network sees them
    network: Network

    def __post_init__(self) -> None:
        if (self.network.inputs, self.network.outputs) != (self.signs.size, self.means.size):
            raise ValueError("the network leads from coordinates to features")

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        return self.means + self.scale * self.network(embedding * self.signs)

    @property
    def affine(self) -> Affine | None:
        """This map, where it has one layer without activation."""
        first, *others = self.network.layers
        if others or first.activation != "identity":
            return None
        return Affine(self.means + self.scale * first.biases, self.scale * (self.signs[:, None] * first.weights).T)


def pair(standard: Standard, networks: tuple[Network, Network]) -> tuple[Encoder, NetworkDecoder]:
    """The way of rows through two networks that saw them so, and back."""
    inward, outward = networks
    return (Encoder(standard.means, standard.scale, inward),
            NetworkDecoder(standard.means, standard.scale, np.ones(outward.inputs), outward))


class Measure(Protocol):
    """What is summed over rows while they are placed; it can be pickled."""

    @property
    def width(self) -> int:
        """Numbers of a row that it holds at once."""

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """The sums over some rows, the first of them by its number, with the encoder's outputs for them."""


@frozen
class Errors:
    """Σ ‖x̂ - x‖² of what comes back, over the squared scale."""

    encoder: Encoder
    decoder: NetworkDecoder

    @property
    def width(self) -> int:
        """Units of the widest layer."""
        return self.decoder.network.width

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """The sum over some rows."""
        back = self.decoder(outputs[:, : len(self.decoder.signs)])
        return np.sum(((back - rows) / self.encoder.scale) ** 2, keepdims=True).ravel()


@stage("coordinates")
def placed(encoder: Encoder, points: Array, measure: Measure) -> tuple[Array, Array]:
    """The encoder's outputs for all points (n x c), and the sums of a measure over them.

    A few rows at a time, on all threads.
    """
    width = max(encoder.network.width, measure.width)
    if (rows := rows_of(points)) is not None:
        return _placed_rows(Passing(rows, encoder, measure, width), room(len(rows), encoder.network.outputs))
    outputs = np.empty((len(points), encoder.network.outputs))

    def block(rows: slice) -> Array:
        outputs[rows] = encoder.rows(points[rows])
        return measure(rows.start, points[rows], outputs[rows])

    sums = list(in_order(block, row_blocks(len(points), BLOCK, width), progress=True))
    return outputs, np.sum(sums, axis=0)


@frozen
class Passing:
    """The outputs for rows in a file, and the sums of a measure: a source of blocks."""

    points: Rows
    encoder: Encoder
    measure: Measure
    width: int  # numbers of a row that are held at once

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.points.blocks

    def work(self, number: int) -> list[tuple[int, Array, Array]]:
        """Those of a block, each with the place of its first row."""
        found = []
        for first, part in self.points.parts(number):
            for some in row_blocks(len(part), BLOCK, self.width):
                outputs = self.encoder.rows(part[some])
                found.append((first + some.start, outputs, self.measure(first + some.start, part[some], outputs)))
        return found

    def stop(self) -> None:
        """Blocks are short."""


def _placed_rows(source: Passing, outputs: Array) -> tuple[Array, Array]:
    """The outputs put in their places, and the sums of the measure."""
    total: Array | float = 0.0
    with closing(results(source)) as every:
        for block in every:
            for first, some, sums in block:
                outputs[first : first + len(some)] = some
                total = total + sums
            let_go()
    return outputs, np.asarray(total)


def projector_of(encoder: Encoder, decoder: NetworkDecoder, signs: Array) -> Projector:
    """New points by the encoder's first outputs, their signs turned; back by the decoder."""
    axes = np.eye(encoder.network.outputs, len(signs)) * signs
    return Projector(encoder, uncentered(len(axes)), axes, replace(decoder, signs=signs))
