"""Pictures of some rows over the plane of an embedding: spread evenly, without overlap."""

import io

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.config.report_options import Image
from mlcli.findings.frame.result import Result
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.figures.scatter import MOST, panel_of, plane, sample_rows

AREA = 37.4**2  # square pixels of a picture
SIDES = 13.6, 102.0  # smallest and largest side in pixels
GAP = 4.25  # pixels between two pictures, and between a picture and its point
MOST_PICTURES = 80


@stored("thumbnails", within={"rows": "n"}, rows="m", values="md")
@frozen
class Thumbnails:
    """Some rows with their features, in the input's units or, after a transform without an inverse, in its units."""

    rows: Indices  # m: row numbers in the embedding, in the order of their choice
    values: Array  # m x d, NaN where a cell is missing

    def require_sense(self) -> None:
        """Raise ValueError where the numbers cannot be drawn, or are more than a run writes."""
        if not self.values.size or np.isinf(self.values).any() or len(self.rows) > MOST_PICTURES:
            raise ValueError("it is empty or too large, or holds a number that is not finite")

    def npz(self) -> bytes:
        """Return the content of thumbnails.npz."""
        buffer = io.BytesIO()
        np.savez(buffer, rows=self.rows, values=self.values)
        return buffer.getvalue()


def thumbnails_of(result: Result, image: Image) -> Thumbnails | None:
    """Return some rows of a run as images; of a table read in blocks, rows that are in memory."""
    table, embedding, sample = result.prepared, result.model.embedding, result.sample()
    rows = choose_rows(embedding if sample is None else take_rows(embedding, sample), image, result.config.compute.seed)
    rows = rows if sample is None else sample[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        found = Thumbnails(rows, result.start.undone(table.take(rows).values))
    return found if not np.isinf(found.values).any() else None


def box_of(image: Image) -> tuple[float, float]:
    """Return width and height of a picture in pixels, in the proportions of the image."""
    ratio = image.columns / image.rows
    wide, tall = (float(np.clip(np.sqrt(AREA * part), *SIDES)) for part in (ratio, 1 / ratio))
    return wide, tall


def choose_rows(embedding: Array, image: Image, seed: int) -> Indices:
    """Return the rows of an embedding, an (n, p) array, with pictures over its first two axes, an (m,) array.

    Farthest-point sampling, in the metric whose unit ball is an image with its gap: each row is the farthest from all
    before it, until an image covers every other row. Then no two pictures overlap, and no more find room.
    Of very many rows, a sample is searched.
    """
    rows = sample_rows(len(embedding), MOST, seed)
    rows = np.arange(len(embedding)) if rows is None else rows
    places = to_pixels(plane(embedding), panel_of(embedding))[rows] / (np.array(box_of(image)) + GAP)
    picked = [int(np.argmin(_distances(places, places.mean(axis=0))))]
    nearest = _distances(places, places[picked[0]])
    while nearest.max() >= 1 and len(picked) < MOST_PICTURES:
        picked.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, _distances(places, places[picked[-1]]))
    return rows[picked].astype(np.int64)


def _distances(places: AnyArray, place: AnyArray) -> Array:
    """Return Chebyshev distances from every place to one."""
    return np.asarray(np.abs(places - place).max(axis=1))
