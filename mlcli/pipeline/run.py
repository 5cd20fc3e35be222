"""A run from its input to its output: read, prepare, fit, compute the findings, write, certify."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mlcli import native
from mlcli.base.stages.stage import note, running, stage
from mlcli.config import build
from mlcli.config.run_config import RunConfig
from mlcli.data.prepare.columns import warn_of_codes, warn_of_dominant
from mlcli.data.table.table import Table
from mlcli.data.write.table import write_csv, write_table
from mlcli.engine.cache import Folder
from mlcli.engine.cluster.notes import note_unused
from mlcli.findings import FINDINGS
from mlcli.findings.dimension.rules import has_auto_axes, rules_of, with_recommended_axes
from mlcli.findings.frame.files import write_document, write_text
from mlcli.findings.frame.result import Result, Start
from mlcli.pipeline.certify import certificate_of, document_of, require_passed
from mlcli.pipeline.fit import fit, plan_fit
from mlcli.pipeline.process import ALONE, Process
from mlcli.pipeline.read_run import finished_run_of, show
from mlcli.pipeline.reading import read_start
from mlcli.pipeline.result import facts, summary
from mlcli.pipeline.session import Session
from mlcli.rundir import archive, names
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.embedding import note_unnamed
from mlcli.rundir.kept import write_kept
from mlcli.rundir.manifest import hashed, manifest_of, write_manifest


def run(config: RunConfig, process: Process = ALONE, *, force: bool = False, strict: bool = False,
        cache: Folder | None = None) -> dict[str, Any]:
    """Run a configuration, write its run directory and return the summary.

    `force` replaces an earlier run, `strict` makes warnings errors, `cache` keeps results of stages for other runs.
    """
    output = Path(config.output or "")
    with Session.open(config, process) as session, session.output(force=force, cache=cache) as folder:
        result = compute(session)
        findings = assess(result)
        config_text = build.write(result.config)
        arrays = write(folder, result, findings, config_text)
        if products := config.report.products_to_keep():
            write_kept(folder, result.model.products, products)
        certificate = certificate_of(result, folder if config.report.writes("model") else None)
        with running("write"):
            files = hashed(folder, arrays)
            document = document_of(certificate, result, files)
            write_document(folder / names.CERTIFICATE, document)
        require_passed(certificate, output)
        note_unused(config.compute, session.cluster)
        session.journal.require_no_warnings(strict)
        manifest = manifest_of({**facts(result, session.journal, certificate), **session.facts,
                                "asked": build.fingerprint(config)})
        with running("write"):
            if config.report.writes("report"):
                show(folder, finished_run_of(result, manifest, findings, document, folder, config_text=config_text))
            write_manifest(folder, manifest, files)
        session.require_lock()
    return summary(result, session.journal, certificate, str(output), findings)


def stream(config: RunConfig, out: BinaryIO, process: Process = ALONE, *, strict: bool = False) -> dict[str, Any]:
    """Run a configuration and write the embedding as CSV to an open file; `strict` makes warnings errors."""
    with Session.open(config, process) as session, in_temporary_files():
        result = compute(session)
        certificate = certificate_of(result, None)
        require_passed(certificate)
        note_unused(config.compute, session.cluster)
        session.journal.require_no_warnings(strict)
        with running("write"):
            write_csv(result.embedding, out)
    return summary(result, session.journal, certificate, None)


def compute(session: Session, given: Table | None = None) -> Result:
    """Read, unless the table is `given`, prepare and fit."""
    config = session.config
    config.require_fitting()
    for said in config.conversions:
        note("N-SYNONYM", said)
    if native.absence():
        note("N-NO-KERNELS", f"the computation may take up to 10 times longer: {native.absence()}")
    start, planned = read_start(config, session.process, given)
    _warn_of_columns(config, start)
    planned = plan_fit(config.with_image(start.source.image, start.features), start, planned)
    if not has_auto_axes(config.method):
        return fit(planned, session)
    method = with_recommended_axes(config.method, planned.data, lambda: rules_of(fit(planned), long=True))
    return fit(plan_fit(planned.config.replace(method=method), start), session)


def assess(result: Result) -> dict[str, Any]:
    """Return the values of all findings that the run has, by name."""
    found: dict[str, Any] = {}
    for finding in result.config.report.wanted():
        value = finding.compute(result, needed(finding.needs, found))
        if value is not None:
            found[finding.name] = value
    return found


def needed(names: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of some findings, of those that are there."""
    return {name: found[name] for name in names if name in found}


def _warn_of_columns(config: RunConfig, start: Start) -> None:
    """Warn of columns that decide the result although they may not be meant to."""
    first, coded = start.reduced, list[str]()
    if config.method.domain != "answers":
        for view in start.source.views:
            coded += warn_of_codes(view) if view.kind == "features" else []
    if start.run is None and (first is not None or config.method.weighs_columns):
        table = start.prepared.table if first is None else first.given.table
        if table.kind == "features":
            warn_of_dominant(table, coded)


@stage("write")
def write(folder: Path, result: Result, findings: Mapping[str, Any], config_text: str) -> dict[str, dict[str, Any]]:
    """All files of a run but its certificate and run.json, which hold the hashes of the others.

    Returns size and hash of the model's arrays, which are compared with the file when the certificate loads it.
    """
    config = result.config
    note_unnamed(result.embedding, config.report.formats)
    for format in config.report.formats if result.source.rows else ():
        write_table(result.embedding, folder / names.embedding(format), format)
    write_text(folder / names.CONFIG, config_text)
    for name, value in findings.items():
        FINDINGS[name].write(value, folder, result)
    if result.dropped:
        from mlcli.rundir.dropped import write_dropped

        write_dropped(folder / names.DROPPED, result.dropped)
    if result.start.reduced is not None:
        np.save(folder / names.SCORES, result.method_input.values)
    if config.report.writes("model"):
        return {names.ARRAYS: archive.save(folder, {**vars(result.finished()), "unfolded": result.model.unfolded})}
    return {}
