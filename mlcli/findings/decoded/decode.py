"""Decodes the contents of decoded.npz: some rows, a grid of the latent plane, and the decoder's deviations over it."""

from collections.abc import Callable
from dataclasses import replace
from math import isqrt

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stages.stage import note, running
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.quantiles import quantiles
from mlcli.base.values.scaling import Unit
from mlcli.config.run_config import RunConfig
from mlcli.core.similarities.projector import Projector
from mlcli.data.table.table import Table
from mlcli.findings.frame.result import Result
from mlcli.methods import Model
from mlcli.report.figures.scatter import panel_of, sample_rows

ROWS = 8  # number of rows with reconstructions
CANDIDATES = 2_000  # number of rows from which these are chosen
IMAGES, LINES = 10, 5  # places along each axis of the grid: of images, of profiles
CELLS = 2**18  # pixels of all images of the grid together, about
FEWEST = 3  # places along an axis where images are large
SHADES = 60, 65  # cells of the background across and up, at most


@stored("decoded", within={"rows": "n"}, rows="m", originals="md", reconstructed="md", errors="m", plane="gd",
        ends="at", deviations="uv")
@frozen
class Decoded:
    """Rows with their reconstructions, and the features of places on the plane of the first two axes.

    Features are in the input's units, or as a transform without an inverse left them.
    """

    rows: Indices  # m: row numbers in the embedding, from the smallest error to the largest
    originals: Array  # m x d, NaN where a cell is missing
    reconstructed: Array  # m x d
    errors: Array  # m: distance to the reconstruction, in the units of the prepared data
    plane: Array  # s² x d: from the upper left, y2 downward and y1 to the right; s x d where there is one axis
    ends: Array  # 2 x 2: the first and the last place of the grid on each axis; 1 x 2
    deviations: Array | None = None  # cells up x across: posterior standard deviations over the scatter plot's panel

    @property
    def side(self) -> int:
        """Number of places along an axis of the grid."""
        return len(self.plane) if len(self.ends) == 1 else isqrt(len(self.plane))

    def require_sense(self) -> None:
        """Raise ValueError where the numbers cannot be drawn, or are more than a run writes."""
        for name, value in vars(self).items():
            fine = value is None or (~np.isinf(value) if name == "originals" else np.isfinite(value)).all()
            if not fine or (value is not None and not value.size):
                raise ValueError(f"{name} is empty, or holds a number that is not finite")
        many = len(self.rows) > ROWS or self.side > IMAGES or len(self.plane) != self.side ** len(self.ends)
        if many or self.ends.shape not in ((1, 2), (2, 2)):
            raise ValueError("its rows or its grid are of another size")
        if self.deviations is not None and (self.deviations.shape[0] > SHADES[1] or self.deviations.shape[1] > SHADES[0]
                                            or self.deviations.min() < 0):
            raise ValueError("deviations are below zero, or more than a run writes")


BLOCK = 2**20  # numbers in a block of decoding
WORK = 2**12  # numbers for the deviation of a place, about
INNER = 0.02, 0.98  # quantiles of the embedding between which the grid lies
Map = Callable[[AnyArray], Array]


def decode_result(result: Result) -> Decoded | None:
    """Return the decoded rows and places of a run; of a table read in blocks, from rows that are in memory."""
    model, (start, table), sample = result.model, result.decoded, result.sample()
    if not result.source.rows:
        table = result.method_input
    if sample is None:
        return decode_rows(model, table, start.undone, start.features, result.config)
    some = replace(model, embedding=take_rows(model.embedding, sample))
    shown = decode_rows(some, table.take(sample), start.undone, start.features, result.config)
    return shown and replace(shown, rows=sample[shown.rows])


def decode_rows(model: Model, table: Table, features: Map, width: int, config: RunConfig) -> Decoded | None:
    """Return the decoded rows and places of a model; None where there is no decoder, or nothing to show.

    The table holds the prepared rows that were embedded; `features` maps such rows back to features, `width` of them.
    """
    if not (table.rows and model.projector.decode and config.draws_decoder(width)):
        return None
    with running("reconstruct"), np.errstate(over="ignore", invalid="ignore"):
        found = _decode(model.projector, model.embedding, table.values, features, config)
    try:
        found.require_sense()
    except ValueError:
        note("N-NOT-DRAWN", "the report shows no decoded rows: their features are outside the range of double "
             "precision")
        return None
    return found


def _decode(projector: Projector, embedding: Array, points: Array, features: Map, config: RunConfig) -> Decoded:
    """Return the decoded numbers, some of which may be out of range; features in the input's units."""
    seed, width, decode, decode_rows = config.compute.seed, points.shape[1], projector.decode, projector.decode_rows
    assert decode is not None and decode_rows is not None
    rows, errors = _spread(decode_rows, points, embedding, seed)
    ends = quantiles(embedding[:, :2], INNER).T
    originals = features(points[rows])
    plane = _map_places(decode, _grid(embedding, ends, _side(originals.shape[1], config.report.image)), width)
    return Decoded(rows=rows, originals=originals, errors=errors, plane=features(plane), ends=ends,
                   reconstructed=features(_map_places(decode_rows, embedding[rows], width)),
                   deviations=_deviations(projector, embedding))


def _map_places(function: Map, places: AnyArray, width: int) -> Array:
    """Return a function of places, or of row numbers, block by block, each on one thread."""
    def work(rows: slice) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(places[rows])

    return np.concatenate(list(in_order(work, row_blocks(len(places), BLOCK, width))))


def _spread(decode: Map, points: Array, embedding: Array, seed: int) -> tuple[Indices, Array]:
    """Return rows from the smallest to the largest reconstruction error, at even steps of rank, with their errors."""
    some = sample_rows(len(embedding), CANDIDATES, seed)
    some = np.arange(len(embedding)) if some is None else some.astype(np.int64)

    def distances(rows: Indices) -> Array:
        """Return the distances of rows (m,) to their reconstructions, an (m,) array."""
        off = points[rows] - decode(embedding[rows])
        off = np.where(np.isnan(points[rows]), 0.0, off)  # the error is over cells that are not missing
        unit = Unit.of(off)
        return unit.plain(np.linalg.norm(unit.measured(off), axis=1))

    errors = _map_places(distances, some, points.shape[1])
    order = np.argsort(errors, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(ROWS, len(order))).round().astype(np.int64)]
    return some[chosen], errors[chosen]


def _side(columns: int, image: tuple[int, ...] | None) -> int:
    """Return the number of places along an axis of the grid: fewer of large images."""
    return LINES if image is None else int(np.clip(np.sqrt(CELLS / columns), FEWEST, IMAGES))


def _grid(embedding: Array, ends: Array, side: int) -> Array:
    """Return places of a grid between the ends of the first axes, others at their means: y2 downward, y1 rightward."""
    across, *up = (np.linspace(low, high, side) for low, high in ends)
    return _at_means(embedding, *np.meshgrid(across, *(axis[::-1] for axis in up)))


def _at_means(embedding: Array, *axes: Array) -> Array:
    """Return places with these values on the first axes, and the embedding's means on the others."""
    places = np.repeat(embedding.mean(axis=0)[None], axes[0].size, axis=0)
    places[:, : len(axes)] = np.column_stack([axis.ravel() for axis in axes])
    return places


def _deviations(projector: Projector, embedding: Array) -> Array | None:
    """Return posterior standard deviations at the centers of cells of the scatter plot's panel; None without any."""
    if embedding.shape[1] < 2 or projector.deviation(embedding[:1]) is None:
        return None
    panel = panel_of(embedding)
    left, right, top, bottom = panel.edges
    wide = SHADES[0]
    tall = max(1, round(wide * (bottom - top) / (right - left)))
    x, y = ((np.arange(count) + 0.5) / count for count in (wide, tall))
    places = _at_means(embedding, *np.meshgrid(panel.x.low + x * (panel.x.high - panel.x.low),
                                               panel.y.high - y * (panel.y.high - panel.y.low)))
    return _map_places(lambda some: np.asarray(projector.deviation(some)), places, WORK).reshape(tall, wide)
