"""report.html: all that a run reports on one page, drawn from the files of its directory."""

from mlcli.report import embedded, measured, record, results
from mlcli.report.contents import Contents
from mlcli.report.decoder import sections as decoder
from mlcli.report.html import document, joined, side_by_side
from mlcli.report.images import sections as images
from mlcli.report.stability.section import stability


def page(run: Contents, *, label: str | None = None, cutoff: float | None = None) -> str:
    """Return the page of a run, without scripts and without network; colors are by `label`, or by every label column.

    Loadings below the cutoff are blank; without one, the run's configuration says it.
    """
    cutoff = run.config.report.cutoff if cutoff is None else cutoff
    image = run.config.report.picture
    shown = joined([embedded.embedding(run, label), results.spectrum(run)])
    said = joined([measured.in_words(run), record.warnings(run), results.dimension(run)])
    factors, rows = [results.loadings(run, cutoff), results.fit(run)], bool(run.embedding.values.size)
    parts = [*([] if rows else factors), side_by_side(shown, said if said.text else None), images.over_plane(run),
             measured.quality(run), stability(run),
             side_by_side(decoder.plane(run, image), decoder.reconstructions(run, image)), *(factors if rows else []),
             images.axes(run, image), results.trace(run), record.what_was_run(run), record.certificate(run),
             record.timings(run), record.repeating(run)]
    return document(run.title, record.heading(run), joined(parts))
