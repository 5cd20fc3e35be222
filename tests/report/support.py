"""Runs to report on, without computing any: contents made up by hand."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.config.run_config import RunConfig
from mlcli.findings import FINDINGS
from mlcli.findings.frame.finished_run import CsvColumns, Embedding, FinishedRun


def finished_run(rows: int = 30, axes: int = 2, labels: dict[str, list[str]] | None = None, path: str = "points.csv",
             ids: list[str] | None = None, **others: Any) -> FinishedRun:
    """A run of PCA on made-up points."""
    generator = np.random.default_rng(0)
    values = generator.standard_normal((rows, axes)) * np.arange(axes, 0, -1)
    eigenvalues = [float(value) for value in range(axes + 2, 0, -1)]
    shares = np.array(eigenvalues) / sum(eigenvalues)
    spectrum = CsvColumns({"component": [str(i + 1) for i in range(axes + 2)],
                           "eigenvalue": [repr(v) for v in eigenvalues],
                           "proportion": [repr(v) for v in shares.tolist()],
                           "cumulative": [repr(v) for v in np.cumsum(shares).tolist()]})
    manifest = {
        "method": "pca", "mlcli": "0.1.0", "finished": "2026-01-01T00:00:00+00:00", "seed": 0, "threads": 2,
        "input": {"path": path, "kind": "features", "rows": rows, "columns": 5, "format": "csv", "sha256": "ab12"},
        "embedding": {"rows": rows, "components": axes, "dropped": 0}, "spectrum": {"computed": axes + 2},
        "seconds": 0.25, "stages": [{"stage": "eigensolve", "seconds": 0.125, "peak_memory_mib": 80.0}],
        "warnings": [], "notes": [], "versions": {"numpy": "2.0", "gone": None},
        "blas": [{"library": "openblas 0.3", "kernel": "Haswell", "threads": 2}], **others.pop("manifest", {})}
    config = RunConfig.model_validate({"input": {"path": path}, "method": {"name": "pca", "divisor": "n-1"},
                                       "report": {"point_labels": "none", **others.pop("report", {})}})
    embedding = Embedding(values, ids or [f"p{i}" for i in range(rows)], labels or {})
    found = {"spectrum": spectrum, **{name: others.pop(name) for name in FINDINGS if name in others}}
    return FinishedRun(manifest, config, f"input: {{path: {path}}}\n", embedding, found, **others)


def with_findings(run: FinishedRun, **found: Any) -> FinishedRun:
    """The run with other values of some findings."""
    return replace(run, findings={**run.findings, **found})
