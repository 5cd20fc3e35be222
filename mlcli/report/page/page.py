"""The page report.html: the whole report of a run."""

from dataclasses import replace

from mlcli.findings import FINDINGS
from mlcli.findings.finding import Place
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.report.drawing.html import Part, document, join, side_by_side
from mlcli.report.page import embedding, provenance
from mlcli.report.page.provenance import fit


def page(run: FinishedRun, *, cutoff: float | None = None) -> str:
    """Return the page of a run, without scripts and without network.

    Loadings below the cutoff are blank; without one, the run's configuration has it. Factor analysis, a run of
    polychoric correlations and one without rows begin with loadings and fit.
    """
    sections = sections_of(run if cutoff is None else replace(run, cutoff=cutoff))
    shown = join([embedding.embedding(run), *sections[Place.PICTURE]])
    words = join([*sections[Place.WORDS], provenance.warnings(run), *sections[Place.ADVICE]])
    factors = [*sections[Place.COLUMNS], fit(run)]
    items = run.config.method.columns_model == "own noise" or run.manifest.get("fit", {}).get("polychoric")
    first = items or not run.embedding.values.size  # loadings, then scores
    parts = [*(factors if first else []), side_by_side(shown, words if words.text else None), *sections[Place.ROWS],
             *sections[Place.RESULT], *sections[Place.DECODER], *([] if first else factors), *sections[Place.DETAIL],
             provenance.what_was_run(run), provenance.certificate(run), provenance.timings(run),
             provenance.how_to_repeat(run)]
    return document(run.title, provenance.heading(run), join(parts))


def sections_of(run: FinishedRun) -> dict[Place, list[Part]]:
    """Return the sections of all findings of a run by their places."""
    sections: dict[Place, list[Part]] = {place: [] for place in Place}
    for name, finding in FINDINGS.items():
        for place, part in finding.sections(run.findings[name], run) if name in run.findings else ():
            sections[place].append(part)
    return sections
