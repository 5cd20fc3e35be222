"""report.html: all that a run reports on one page, drawn from the files of its directory."""

from mlcli.report import record, results
from mlcli.report.contents import Contents
from mlcli.report.decoder import sections as decoder
from mlcli.report.html import document, joined


def page(run: Contents, *, title: str | None = None, label: str | None = None,
         image: tuple[int, ...] | None = None) -> str:
    """The page of a run, without scripts and without network; colors are by `label`, or by every label column.

    Decoded rows are images of the shape `image`, or as the run's configuration says.
    """
    image = image or run.config.report.image
    parts = [record.warnings(run), results.embedding(run, label), decoder.plane(run, image), results.spectrum(run),
             results.dimension(run), results.quality(run), decoder.reconstructions(run, image), results.fit(run),
             results.loadings(run), results.trace(run), record.what_was_run(run), record.certificate(run),
             record.timings(run), record.repeating(run)]
    return document(title or run.name, record.heading(run), joined(parts))
