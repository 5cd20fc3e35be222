"""The findings of a run, and what they take beside the fit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mlcli.base.machine.footprint import AfterFit
from mlcli.base.stages.stage import no_listeners
from mlcli.config.run_config import RunConfig
from mlcli.findings.dimension.choose import has_auto_axes
from mlcli.findings.quality.labels import Labels
from mlcli.pipeline.result import Run
from mlcli.pipeline.start import Start
from mlcli.report.paper.needs import plot_cost


def assess(result: Run) -> dict[str, Any]:
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


def drawing_of(config: RunConfig, start: Start) -> AfterFit:
    """Predict the memory of assessing a fit and drawing its figures; little if only the embedding is streamed.

    Raises ConfigError where figures are to show labels that the table lacks.
    """
    table, asked = start.prepared.table, has_auto_axes(config.method)
    source = start.source.source
    read = AfterFit() if source is None else AfterFit(reading=source.reading, kept=source.kept)
    if config.output == "-":
        return replace(read, rules=asked, quality=False)
    report, measures = config.report, config.report.setting("quality")
    report.require_point_labels(table.rows, table.labels)
    if measures is not None:
        with no_listeners():
            Labels.first_of(table.labels, measures.label)  # before the fit: one that has no classes
    if not table.rows:  # a covariance, whose columns have names
        table = table.take(())
    drawn = plot_cost(report, table, unsure=config.method.decoder_variance and config.draws_decoder(start.features))
    beside = 0.0
    if measures is not None and config.method.beside_baseline:
        from mlcli.findings.quality.baseline import baseline_steps

        beside = max((step.memory for step in baseline_steps(config.method, table.data(), config.compute)), default=0.0)
    return replace(drawn, rules=report.setting("dimension") is not None or asked, quality=measures is not None,
                   baseline=beside, reading=read.reading, kept=read.kept)
