"""The whole flow on one screen: read, prepare, fit, assess, write, certify."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlcli import native
from mlcli.base.machine.footprint import followed_by
from mlcli.base.machine.threads import threads_limited
from mlcli.base.rows.memo import recalling
from mlcli.base.rows.scratch import scratch_in
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import note, running, stage
from mlcli.certify.certificate import Certificate
from mlcli.config import build
from mlcli.config.run_config import RunConfig
from mlcli.data.options.wording import listed
from mlcli.data.prepare.prepare import Dropped, dropped_row
from mlcli.data.table.table import Table, coordinates
from mlcli.data.write.table import write_csv, write_table
from mlcli.engine.cache import Folder
from mlcli.engine.cluster.connect import clustered, used
from mlcli.engine.cluster.notes import note_unused
from mlcli.engine.resume import Resuming
from mlcli.errors import ConfigError, DataError, NumericalError
from mlcli.findings import FINDINGS
from mlcli.findings.dimension.choose import is_asked, rules_of, with_recommended_axes
from mlcli.findings.frame.files import write_document, write_text
from mlcli.methods import Model
from mlcli.pipeline.assess import assess, drawing_of
from mlcli.pipeline.certify import Record, certify
from mlcli.pipeline.read_run import contents_of, show
from mlcli.pipeline.reading import begun
from mlcli.pipeline.result import Run, facts, summary
from mlcli.pipeline.start import Start
from mlcli.publication.publish import writing
from mlcli.rundir import archive, names
from mlcli.rundir.cached import answers_of, caching
from mlcli.rundir.disk_space import LARGER, in_temporary_files, require_disk
from mlcli.rundir.draft import draft, failed_name
from mlcli.rundir.dropped import write_dropped
from mlcli.rundir.embedding import note_unnamed
from mlcli.rundir.journal import Journal, recording
from mlcli.rundir.kept import write_kept
from mlcli.rundir.manifest import hashed, manifest_of, write_manifest
from mlcli.rundir.plain import plain
from mlcli.rundir.resumed import owning, resumed_by, resuming


def run(config: RunConfig, *, force: bool = False, strict: bool = False, cache: Folder | None = None) -> dict[str, Any]:
    """Runs a configuration, writes its run directory and returns the summary; `strict` makes warnings errors.

    Results of stages are taken from a folder, and kept there, where one is given.
    """
    output = Path(config.output or "")
    with (recalling(), recording() as journal, clustered(config.compute) as cluster,
          owning(output, force=force) as claim, draft(output, force=force) as folder,
          threads_limited(config.compute.thread_count()), caching(cache, config.compute.thread_count()) as cached,
          resuming(claim, config.compute, results=cached is None) as resume, scratch_in(folder, output, LARGER)):
        result = compute(config, resume)
        findings = assess(result)
        with writing(output):
            known = write(folder, result, findings)
            if keep := config.report.products_to_keep():
                write_kept(folder, result.model.products, keep)
            certificate = certified(result, folder if config.report.writes("model") else None)
            with running("write"):
                files = hashed(folder, known)
                document = certificate_document(result, certificate, files)
                write_document(folder / names.CERTIFICATE, document)
            require_passed(certificate, output)
            note_unused(config.compute, cluster)
            if strict:
                refuse_warnings(journal)
            manifest = manifest_of({**facts(result, journal, certificate), **answers_of(cached), **resumed_by(resume),
                                    **used(cluster), "asked": build.fingerprint(config)})
            with running("write"):
                if config.report.writes("report"):
                    show(folder, contents_of(result, manifest, findings, document, folder))
                write_manifest(folder, manifest, files)
            claim.require()
    return summary(result, journal, certificate, str(output), findings)


def stream(config: RunConfig, out: BinaryIO, *, strict: bool = False) -> dict[str, Any]:
    """Runs a configuration and writes the embedding as CSV to an open file; `strict` makes warnings errors."""
    with (recalling(), recording() as journal, clustered(config.compute) as cluster,
          threads_limited(config.compute.thread_count()), in_temporary_files()):
        result, certificate = certified_run(config)
        note_unused(config.compute, cluster)
        if strict:
            refuse_warnings(journal)
        with running("write"):
            write_csv(result.embedding, out)
    return summary(result, journal, certificate, None)


def certified_run(config: RunConfig, given: Table | None = None) -> tuple[Run, Certificate]:
    """A run of a file, or of a table that is given, and its certificate; raises NumericalError where that failed."""
    result = compute(config, given=given)
    certificate = certified(result, None)
    require_passed(certificate, None)
    return result, certificate


def compute(config: RunConfig, resume: Resuming | None = None, given: Table | None = None) -> Run:
    """Reads, unless the table is given, prepares and fits; `resume` is told what is fitted."""
    config.require_fitting()
    if native.absence():
        note("N-NO-KERNELS", f"the computation takes longer, up to tenfold: {native.absence()}")
    start = begun(config, given)
    config = config.with_image(start.source.image, start.features)
    if is_asked(config.method):
        config = config.replace(method=with_recommended_axes(
            config.method, start.prepared.table.data(), lambda: rules_of(fitted(config, start, None))))
    return fitted(config, start, resume)


def fitted(config: RunConfig, start: Start, resume: Resuming | None) -> Run:
    """The fit of prepared rows, with the method's defaults clipped to them."""
    prepared, data = start.prepared, start.prepared.table.data()
    config.report.require_image(start.features)
    config.report.require_memory_rows(held=rows_of(prepared.table.values) is None)
    drawing = drawing_of(config, start)
    with prepared.table.rows_named():
        with labels_named(prepared.table):
            method = config.method.resolve(data)
        if config.output is not None:
            require_disk(config, method, prepared.table)
        with (followed_by(drawing),
              nullcontext() if resume is None else resume.fitting(lambda: (method, data, config.compute))):
            model = method.fit(data, config.compute)
    config.report.require_arrows(model.embedding.shape[1], loaded=model.loadings is not None)
    config = config.replace(method=method.with_components(model.embedding.shape[1]))
    dropped = (*prepared.dropped, *_left_out(model, prepared.table))
    table = prepared.table if model.kept is None else prepared.table.take(model.kept)
    table = table if table.rows else table.take(())
    embedding = coordinates(table, model.embedding)
    return Run(config=config, start=start, prepared=table, embedding=embedding, dropped=dropped, model=model)


@contextmanager
def labels_named(table: Table) -> Iterator[None]:
    """An error of more axes than there are columns names the columns that are labels."""
    try:
        yield
    except ConfigError as error:
        if error.code != "E-COMPONENTS" or not table.labels:
            raise
        raise error.changed(hint=f"{error.hint}; columns of labels are no numbers: {listed(list(table.labels), 20)}"
                            ) from error


@stage("write")
def write(folder: Path, result: Run, findings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """All files of a run but its certificate and run.json, which hold the hashes of the others.

    Returns size and hash of the model's arrays, which are compared with the file when the certificate loads it.
    """
    config, model = result.config, result.model
    note_unnamed(result.embedding, config.report.formats)
    for format in config.report.formats if result.source.rows else ():
        write_table(result.embedding, folder / names.embedding(format), format)
    write_text(folder / names.CONFIG, build.write(config))
    for name, value in findings.items():
        FINDINGS[name].write(value, folder, result)
    if result.dropped:
        write_dropped(folder / names.DROPPED, result.dropped)
    if result.start.reduced is not None:
        np.save(folder / names.SCORES, result.given.values)
    if config.report.writes("model"):
        model_of_run = result.start.finished(config.input, result.embedding, model.projector)
        return {names.ARRAYS: archive.save(folder, {**vars(model_of_run), "unfolded": model.unfolded})}
    return {}


def certified(result: Run, folder: Path | None) -> Certificate:
    """What was computed, and written where there is a folder, checked by other means."""
    record = Record(result.config, result.start, result.embedding, result.model, result.dropped)
    certificate = certify(record, folder)
    if doubtful := [check.name for check in certificate.checks if check.verdict == "warn"]:
        note("W-CERTIFICATE", f"more rounding than expected, see certificate.json: {', '.join(doubtful)}",
             checks=doubtful)
    if certificate.verdict == "unchecked":
        note("N-UNCHECKED", "the certificate checked rows and files, and no number of the result: nothing but the fit "
             "itself computes these")
    return certificate


def require_passed(certificate: Certificate, output: Path | None) -> None:
    """Refuses a result whose certificate failed; raises NumericalError."""
    if failed := certificate.failed:
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise NumericalError("CERTIFICATE", f"the result is wrong: the check of {failed[0].name}{more} failed "
                             f"({failed[0].how}: {failed[0].value:.3g}, allowed {failed[0].tolerance:.3g})",
                             where="" if output is None else str(failed_name(output)),
                             hint="run `mlcli doctor`; if it finds nothing, this is a bug: please report it with "
                             "certificate.json")


def certificate_document(result: Run, certificate: Certificate, files: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The content of certificate.json: the checks, and hashes of the input and of all files that hold no paths."""
    document, origin = certificate.document(), result.source.source
    hashes: dict[str, Any] = {"input": {"sha256": origin.sha256 if origin else None},
                              "files": {name: known for name, known in files.items() if name != names.CONFIG}}
    if other := result.source.view and result.source.view.source:
        hashes["input"]["view"] = {"sha256": other.sha256}
    if labels := result.source.labels_source:
        hashes["input"]["labels"] = {"sha256": labels.sha256}
    return dict(plain({**document, "facts": {**document["facts"], **hashes}}))


def refuse_warnings(journal: Journal) -> None:
    """Makes an error of the first warning; raises NumericalError where something did not converge, else DataError."""
    warnings = journal.noted("W-")
    stopped = [warning for warning in warnings if warning["code"] == "W-UNCONVERGED"]
    for warning in stopped or warnings:
        raise (NumericalError if stopped else DataError)(
            "STRICT", f"{warning['code']}: {warning['message']}", where="--strict",
            hint="remedy its cause, or leave --strict out")


def _left_out(model: Model, table: Table) -> list[Dropped]:
    """The rows that the policy for a graph in pieces left out."""
    if model.kept is None:
        return []
    outside = np.setdiff1d(np.arange(len(table.ids)), model.kept)
    return [dropped_row(table, row, "outside the largest piece of the neighbor graph") for row in outside.tolist()]
