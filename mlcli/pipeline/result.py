"""Facts of the result of a run, for run.json and for the summary at its end."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlcli.core.eigen.spectrum import Spectrum
from mlcli.data.options.formats import FORMATS, OWN
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.findings import FINDINGS
from mlcli.findings.frame.result import Result
from mlcli.findings.spectrum.table import spectrum_facts
from mlcli.pipeline.certificate import Certificate
from mlcli.rundir.journal import Journal

LEADING = 10  # eigenvalues reported at the end
NO_FORMATS = (*OWN, "array", "run")  # of other packages: the program's own, an array in memory, and a run


def facts(result: Result, journal: Journal, certificate: Certificate) -> dict[str, Any]:
    """Return the facts of a run for run.json, besides versions and file hashes."""
    source, config, spectrum = result.source, result.config, result.model.spectrum
    threads = config.compute.allowed_threads()
    view: dict[str, Any] = {}
    for section, table in reversed([*zip(config.input.views, source.views[1:], strict=True)]):
        view = {"view": {**table.facts(section.path), **view}}
    files = [file.format for table in source.views for file in (table.source, table.labels_source) if file is not None]
    formats = [FORMATS.plugin(name) for name in dict.fromkeys(files) if name not in NO_FORMATS]
    added = [plugin.facts() for plugin in (*config.plugins(), *formats) if plugin is not None]
    return {
        "method": config.method.name,
        **({"plugins": added} if added else {}),
        "input": {**source.facts(config.input.path), **view}, **result.start.facts,
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


def summary(result: Result, journal: Journal, certificate: Certificate, output: str | None,
            findings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the summary of a run that is reported at its end, as text and as JSON."""
    spectrum, kept = result.model.spectrum, len(result.embedding.columns)
    ranks = {} if spectrum is None else {**leading(spectrum, kept), "scree": leading(spectrum, LEADING)}
    told = facts(result, journal, certificate)
    return {"run": output, "components": kept, **ranks,
            **facts_of(findings or {}),
            **told, "input": {**told["input"], "path": result.config.input.path}}  # as it was given


def facts_of(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of all findings, of those that a run lacks as well."""
    return {key: fact for name, finding in FINDINGS.items() for key, fact in finding.facts(findings.get(name)).items()}


def leading(spectrum: Spectrum, count: int) -> dict[str, Any]:
    """The first eigenvalues and their shares of the trace; null where that is unknown."""
    shares = spectrum.proportions[:count]
    return {"eigenvalues": spectrum.eigenvalues[:count].tolist(),
            "proportions": shares.tolist() if np.isfinite(shares).all() else None}
