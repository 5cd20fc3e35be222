"""Projection and reconstruction by the forward pass of a network."""

from contextlib import closing
from dataclasses import replace
from typing import ClassVar, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import allocate, release_pages
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import stage
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.core.centering import uncentered
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Affine, Decoder, Projector
from mlcli.engine.executor import results
from mlcli.methods.networks.network import Network
from mlcli.methods.networks.standard import Standard

BLOCK = 1 << 19  # activations of a layer in memory, per thread


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


def encoder_and_decoder(standard: Standard, networks: tuple[Network, Network]) -> tuple[Encoder, NetworkDecoder]:
    """Return the encoder and the decoder for two networks trained on rows in this standard."""
    inward, outward = networks
    return (Encoder(standard.means, standard.scale, inward),
            NetworkDecoder(standard.means, standard.scale, np.ones(outward.inputs), outward))


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

    @property
    def width(self) -> int:
        """Units of the widest layer."""
        return self.decoder.network.width

    def __call__(self, first: int, rows: Array, outputs: Array) -> Array:
        """Return the sum over (b, d) rows with (b, c) outputs, a (1,) array."""
        back = self.decoder(outputs[:, : len(self.decoder.signs)])
        return np.sum(((back - rows) / self.encoder.scale) ** 2, keepdims=True).ravel()


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
class Encoding:
    """The outputs for rows in a file, and the sums of a measure: a source of blocks."""

    points: Rows
    encoder: Encoder
    measure: RowSum
    width: int  # numbers per row in memory at once

    @property
    def blocks(self) -> int:
        """Number of blocks of work."""
        return self.points.blocks

    def work(self, number: int) -> list[tuple[int, Array, Array]]:
        """Return outputs and sums of the parts of a block, each with the position of its first row."""
        found = []
        for first, part in self.points.parts(number):
            for some in row_blocks(len(part), BLOCK, self.width):
                outputs = self.encoder.rows(part[some])
                found.append((first + some.start, outputs, self.measure(first + some.start, part[some], outputs)))
        return found

    def stop(self) -> None:
        """Do nothing: blocks are short."""


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
