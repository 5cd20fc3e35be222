"""report.html: all that a run reports on one page, drawn from the files of its directory."""

from mlcli.findings.contents import Contents
from mlcli.findings.decoded import sections as decoder
from mlcli.findings.images import sections as images
from mlcli.findings.stability.section import stability
from mlcli.report.drawing.html import document, joined, side_by_side
from mlcli.report.page import embedding, provenance, quality, results


def page(run: Contents, *, label: str | None = None, cutoff: float | None = None) -> str:
    """Return the page of a run, without scripts and without network; colors are by `label`, or by every label column.

    Loadings below the cutoff are blank; without one, the run's configuration says it.
    """
    cutoff = run.config.report.cutoff if cutoff is None else cutoff
    image = run.config.report.picture
    shown = joined([embedding.embedding(run, label), results.spectrum(run)])
    said = joined([quality.in_words(run), provenance.warnings(run), results.dimension(run)])
    factors, rows = [results.loadings(run, cutoff), results.fit(run)], bool(run.embedding.values.size)
    parts = [*([] if rows else factors), side_by_side(shown, said if said.text else None), images.over_plane(run),
             quality.quality(run), stability(run),
             side_by_side(decoder.plane(run, image), decoder.reconstructions(run, image)), *(factors if rows else []),
             images.axes(run, image), results.trace(run), provenance.what_was_run(run), provenance.certificate(run),
             provenance.timings(run), provenance.repeating(run)]
    return document(run.title, provenance.heading(run), joined(parts))
