"""Rows that are images: pictures of some over the embedding, and axes as images."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Arrays, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.findings.images.sections import Thumbnails
    from mlcli.report.drawing.html import Part

ARRAYS = File("thumbnails.npz", Arrays("mlcli.findings.images.sections:Thumbnails"))


class ImagesFinding(Finding["Thumbnails"]):
    """Some rows as images."""

    name = "images"
    files = (ARRAYS,)
    needs = ("spectrum",)  # for the shares in the labels of the axes

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "Thumbnails | None":
        """Return some rows; of a table read in blocks, rows that are in memory."""
        image, source = result.config.report.picture, result.source
        if image is None or not (result.config.report.writes("report") and result.embedding.values.size
                                 and source.rows):
            return None
        from mlcli.findings.images.sections import thumbnails_of

        return thumbnails_of(result, image)

    def read(self, folder: Path, run: "FinishedRun") -> "Thumbnails | None":
        """Return the rows of thumbnails.npz."""
        from mlcli.findings.frame.files import read_arrays

        report = run.config.report
        return read_arrays(ARRAYS, folder, {"n": len(run.embedding.values)},
                           lambda columns: report.image is not None and report.draws(columns))

    def sections(self, value: "Thumbnails", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return pictures over the embedding."""
        from mlcli.findings.images.sections import over_plane

        return [(Place.ROWS, over_plane(run))]
