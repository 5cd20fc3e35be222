"""A run from its input to its output: read, prepare, fit, compute the findings, write, certify."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlcli import native
from mlcli.base.rows.memo import forget
from mlcli.base.stages.stage import note, running, stage
from mlcli.base.types import Array
from mlcli.config import build
from mlcli.config.run_config import RunConfig
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.data.options.formats import FORMATS, OWN
from mlcli.data.prepare.columns import warn_beside_lists, warn_of_codes, warn_of_dominant, warn_of_samples
from mlcli.data.prepare.missing import MODELS, warn_of_gaps
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.data.write.table import write_csv
from mlcli.engine.cache import Folder
from mlcli.engine.cluster.address import note_unused
from mlcli.errors import ConfigError
from mlcli.findings import FINDINGS
from mlcli.findings.frame.files import write_document, write_text
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import Result, Start
from mlcli.findings.spectrum.table import spectrum_facts
from mlcli.pipeline.certify import Certificate, certificate_of, document_of, require_passed
from mlcli.pipeline.fit import fit, plan_fit
from mlcli.pipeline.process import ALONE, Process
from mlcli.pipeline.read_run import finished_run_of, show
from mlcli.pipeline.reading import read_start
from mlcli.pipeline.session import Session
from mlcli.rundir import archive, names
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.embedding import write_dropped, write_embedding
from mlcli.rundir.journal import Journal
from mlcli.rundir.kept import write_kept
from mlcli.rundir.manifest import hashed, manifest_of, write_manifest

LEADING = 10  # eigenvalues reported at the end
NO_FORMATS = (*OWN, "array", "run")  # of other packages: the program's own, an array in memory, and a run


def run(config: RunConfig, process: Process = ALONE, *, force: bool = False, strict: bool = False,
        cache: Folder | None = None) -> dict[str, Any]:
    """Run a configuration, write its run directory and return the summary.

    `force` replaces an earlier run, `strict` makes warnings errors, `cache` keeps results of stages for other runs.
    """
    output, asked = Path(config.output or ""), build.fingerprint(config)
    config = as_parent(config)
    with Session.open(config, process) as session, session.output(force=force, cache=cache) as folder:
        result = with_scores(compute(session))
        findings = assess(result)
        forget("graph", "near graph")  # with the neighbor lists that are the key of the first: some GB of many points
        arrays = write(folder, result, findings)
        certificate = certificate_of(result, folder if config.report.writes("model") else None)
        files, document = write_certificate(folder, result, certificate, arrays)
        require_passed(certificate, output)
        note_unused(config.compute, session.cluster)
        session.journal.require_no_warnings(strict)
        manifest = manifest_of({**facts(result, session.journal, certificate), **session.facts,
                                "asked": asked})
        seal(folder, finished_run_of(result, manifest, findings, document, folder), files)
        session.require_lock()
    return summary(result, session.journal, certificate, str(output), findings)


def stream(config: RunConfig, out: BinaryIO, process: Process = ALONE, *, strict: bool = False) -> dict[str, Any]:
    """Run a configuration and write the embedding as CSV to an open file; `strict` makes warnings errors."""
    if config.report.setting("calibration") is not None:
        raise ConfigError("UNUSED", "calibration has no effect: standard output takes the embedding alone",
                          where="report.calibration", hint="leave it out, or give a directory (-o)")
    config = as_parent(config)
    with Session.open(config, process) as session, in_temporary_files():
        result = compute(session)
        certificate = certificate_of(result, None)
        require_passed(certificate)
        note_unused(config.compute, session.cluster)
        session.journal.require_no_warnings(strict)
        with running("write"):
            write_csv(result.embedding, out)
    return summary(result, session.journal, certificate, None)


def as_parent(config: RunConfig) -> RunConfig:
    """Return a configuration that adds rows to the map of a run with the method and preparation of that; others as is.
    """
    if config.onto is None:
        return config
    from mlcli.pipeline.onto import with_parents_options

    return with_parents_options(config)


def compute(session: Session, given: Table | None = None) -> Result:
    """Read, unless the table is `given`, prepare, plan and fit."""
    return fit(plan_of(session, given), session)


def plan_of(session: Session, given: Table | None = None) -> FitPlan:
    """Read, unless the table is `given`, and prepare; return the plan of the fit, its number of axes chosen."""
    config = session.config
    config.require_fitting()
    for said in config.conversions:
        note("N-SYNONYM", said)
    if native.absence():
        note("N-NO-KERNELS", f"the computation may take up to 10 times longer: {native.absence()}")
    start, planned = read_start(config, session.process, given)
    _warn_of_columns(config, start)
    _warn_of_gaps(config, start)
    plan = plan_fit(config, start, planned)
    if FINDINGS["dimension"].precedes_fit(config):
        from mlcli.findings.dimension.rules import rules_of, with_recommended_axes

        method = with_recommended_axes(config.method, plan.data, lambda: rules_of(fit(plan), long=True))
        plan = plan_fit(plan.config.replace(method=method), start)
    return plan


def with_scores(result: Result) -> Result:
    """Return a run with its model for later use where rows were held out, whose scores are a finding as well."""
    if result.config.report.setting("calibration") is None:
        return result
    from mlcli.findings.frame.off_manifold import score_model

    with running("calibration"):
        return replace(result, scored=score_model(result))


def assess(result: Result) -> dict[str, Any]:
    """Return the values of all findings that the run has, by name."""
    found: dict[str, Any] = {}
    for finding in result.config.report.wanted():
        value = finding.compute(result, {name: found[name] for name in finding.needs if name in found})
        if value is not None:
            found[finding.name] = value
    return found


def _warn_of_columns(config: RunConfig, start: Start) -> None:
    """Warn of columns that decide the result although they may not be meant to."""
    first, coded = start.reduced, list[str]()
    if start.run is None and not config.input.columns and start.source.kind == "features":
        warn_beside_lists(start.source.columns)
        warn_of_samples(start.source.columns)
    if config.method.domain != "answers":
        for view in start.source.views:
            coded += warn_of_codes(view) if view.kind == "features" else []
    if start.run is None and (first is not None or config.method.weighs_columns):
        table = start.prepared.table if first is None else first.given.table
        if table.kind == "features":
            warn_of_dominant(table, coded)


def _warn_of_gaps(config: RunConfig, start: Start) -> None:
    """Warn a method of sequences of rows that are left out between others: its steps are not equal then."""
    name, places = config.method.name, start.source.places
    if not config.method.ordered:
        return
    if config.input.rows is not None and places is not None and (np.diff(places) != 1).any():
        note("W-GAPS", f"{name} takes rows as a sequence, and {config.input.rows:,} rows drawn at random leave gaps: "
             "choose consecutive rows, as by {input.where=COLUMN <= VALUE}")
    gone = np.isin(start.source.numbers, [lost.row for lost in start.prepared.dropped])
    way = "model" if name in MODELS else "mean"
    warn_of_gaps(start.prepared.table.ids, np.flatnonzero(~gone), f"{{prepare.missing={way}}} keeps all rows")


def write(folder: Path, result: Result, findings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """All files of a run but its certificate and run.json, which hold the hashes of the others, and its report.

    Returns size and hash of the model's arrays, which are compared with the file when the certificate loads it.
    """
    config, arrays = result.config, dict[str, dict[str, Any]]()
    with running("write"):
        if result.source.rows:
            write_embedding(result.embedding, folder, config.report.formats)
        write_text(folder / names.CONFIG, build.write(config))
        for name, value in findings.items():
            FINDINGS[name].write(value, folder, result)
        if result.dropped:
            write_dropped(folder / names.DROPPED, result.dropped)
        if result.start.reduced is not None:
            np.save(folder / names.SCORES, result.method_input.values)
        if config.report.writes("model"):
            from mlcli.findings.frame.off_manifold import score_model

            scored = result.scored or score_model(result)
            model = {**vars(scored.model), "unfolded": result.model.unfolded}
            for name in ("onto", "files"):  # without them as in the models of earlier versions
                if not model[name]:
                    del model[name]
            arrays[names.ARRAYS] = archive.save(folder, model)
    if products := config.report.products_to_keep():
        write_kept(folder, result.model.products, products)
    return arrays


@stage("write")
def write_certificate(folder: Path, result: Result, certificate: Certificate, known: Mapping[str, dict[str, Any]],
                      ) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Write certificate.json; returns sizes and hashes of all other files, and its content.

    Those that are `known` are not read again.
    """
    files = hashed(folder, known)
    document = document_of(certificate, result, files)
    write_document(folder / names.CERTIFICATE, document)
    return files, document


@stage("write")
def seal(folder: Path, run: FinishedRun, files: Mapping[str, dict[str, Any]]) -> None:
    """Write the report and run.json, which names every file with its size and hash, of `files` those that are known."""
    if run.config.report.writes("report"):
        show(folder, run)
    write_manifest(folder, dict(run.manifest), files)


def facts(result: Result, journal: Journal, certificate: Certificate) -> dict[str, Any]:
    """Return the facts of a run for run.json, besides versions and file hashes."""
    source, config, spectrum = result.source, result.config, result.model.spectrum
    threads = config.compute.allowed_threads()
    view: dict[str, Any] = {}
    for section, table in reversed([*zip(config.input.views, source.parts[1:], strict=True)]):
        view = {"view": {**table.facts(section.path), **view}}
    files = [file.format for table in source.parts for file in (table.source, table.labels_source) if file is not None]
    formats = [FORMATS.plugin(name) for name in dict.fromkeys(files) if name not in NO_FORMATS]
    added = [plugin.facts() for plugin in (*config.plugins(), *formats) if plugin is not None]
    return {
        "method": config.method.name,
        **({"plugins": added} if added else {}),
        "input": {**source.parts[0].facts(config.input.path), **view}, **result.start.facts,
        **({} if result.start.onto is None else {"onto": {
            **result.start.onto.facts, **({"fit_rows": result.start.onto.fit_rows} if result.model.added else {}),
            **({} if result.start.onto.weight is None else {"moved": moves_of(
                result.start.onto.distances(result.embedding.values))}),
            "m2": None if result.model.registration is None else result.model.registration.m2}}),
        "embedding": {"rows": len(result.embedding.ids), "components": len(result.embedding.columns),
                      "dropped": len(result.dropped),
                      "ids": "invented" if isinstance(result.embedding.ids, RowNumbers) else "given"},
        **({} if spectrum is None else
           {"spectrum": {"ranked_by": config.method.ranks_by(), **spectrum_facts(spectrum)}}),
        "fit": dict(result.model.fit),
        "certificate": certificate.verdict,
        "seed": config.compute.seed, "threads": threads.count, "threads_source": threads.source,
        "seconds": journal.seconds, "stages": journal.stages,
        "warnings": journal.noted("W-"), "notes": journal.noted("N-"), "facts": journal.noted("F-"),
    }


def moves_of(distances: Array) -> dict[str, float]:
    """Return the median and the largest of distances (m) from former places."""
    return {"median": float(np.median(distances)), "largest": float(distances.max())}


def summary(result: Result, journal: Journal, certificate: Certificate, output: str | None,
            findings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the summary of a run that is reported at its end, as text and as JSON."""
    spectrum, kept = result.model.spectrum, len(result.embedding.columns)
    ranks = {} if spectrum is None else {**leading(spectrum, kept), "scree": leading(spectrum, LEADING)}
    told = facts(result, journal, certificate)
    return {"run": output, "components": kept, **ranks,
            **{key: fact for name, finding in FINDINGS.items()  # of findings that the run lacks as well
               for key, fact in finding.facts((findings or {}).get(name)).items()},
            **told, "input": {**told["input"], "path": result.config.input.path}}  # as it was given


def leading(spectrum: Spectrum, count: int) -> dict[str, Any]:
    """The first eigenvalues and their shares of the trace; null where that is unknown."""
    shares = spectrum.proportions[:count]
    return {"eigenvalues": spectrum.eigenvalues[:count].tolist(),
            "proportions": shares.tolist() if np.isfinite(shares).all() else None}
