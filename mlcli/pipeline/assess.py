"""What a run says of its fit: rules for the axes, decoder, rows as images, quality, and fits to rows drawn again."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.machine.footprint import Later
from mlcli.base.rows.scratch import some_of
from mlcli.base.stages.stage import note, running, unheard
from mlcli.base.values.inputs import Dissimilarities, Features, Input
from mlcli.base.values.sample_size import EXACT
from mlcli.base.values.scaling import all_finite
from mlcli.config.run_config import RunConfig
from mlcli.data.table.table import Table
from mlcli.findings.decoded.decode import decoded
from mlcli.findings.decoded.decoded import Decoded
from mlcli.findings.dimension import dimension
from mlcli.findings.dimension.choose import is_asked
from mlcli.findings.findings import Findings
from mlcli.findings.images.thumbnails import Thumbnails, chosen
from mlcli.findings.quality import Measured, quality
from mlcli.findings.quality.labels import Labels
from mlcli.findings.stability.measure import FEWEST, Stable, stable
from mlcli.findings.stability.resamples import drawn_of, draws, resampled
from mlcli.pipeline.result import Run
from mlcli.pipeline.start import Start
from mlcli.report.paper.drawings import drawing
from mlcli.stages.algebra.metrics.points import alike


def assess(result: Run) -> Findings:
    """What the run directory says of the embedding besides the embedding itself."""
    config = result.config
    axes = rules_of(result) if config.report.rules else None
    shown = drawn(result) if config.report.writes("report") else None
    return Findings(dimension=axes, decoded=shown, thumbnails=pictured(result), quality=measured(result),
                    stability=resampling(result))


def rules_of(result: Run) -> dict[str, Any]:
    """What the rules for the number of axes say."""
    table = result.prepared if result.source.rows else result.given
    return dimension(result.config.method, result.model, compared(result, table), result.config.compute)


def drawn(result: Run) -> Decoded | None:
    """What the report shows of the decoder; of a table read in blocks from the rows that are in memory."""
    model, table, start, sample = result.model, result.prepared, result.start, result.sample()
    if not result.source.rows:
        table = result.given
    if sample is None:
        return decoded(model, table, start.undone, start.features, result.config)
    some = replace(model, embedding=some_of(model.embedding, sample))
    shown = decoded(some, table.take(sample), start.undone, start.features, result.config)
    return shown and replace(shown, rows=sample[shown.rows])


def drawing_of(config: RunConfig, start: Start) -> Later:
    """What assessing a fit and drawing its figures will take: little where standard output gets the embedding alone.

    Raises ConfigError where figures are to show labels that the table lacks.
    """
    table, asked = start.prepared.table, is_asked(config.method)
    source = start.source.source
    read = Later() if source is None else Later(reading=source.reading, kept=source.kept)
    if config.output == "-":
        return replace(read, rules=asked, quality=False)
    config.report.require_point_labels(table.rows, table.labels)
    if config.report.measures is not None:
        with unheard():
            Labels.first_of(table.labels, config.report.measures.label)  # before the fit: one that has no classes
    if not table.rows:  # a covariance, whose columns have names
        table = table.take(())
    drawn = drawing(config.report, table, unsure=config.method.unsure and config.draws_decoder(start.features))
    return replace(drawn, rules=config.report.rules or asked, quality=config.report.measures is not None,
                   reading=read.reading, kept=read.kept)


def measured(result: Run) -> Measured | None:
    """The quality of the rows without missing cells; None where it was not asked for, or there are no rows."""
    asked, projector, table = result.config.report.measures, result.model.projector, result.prepared
    if asked is None or not table.rows or not table.data().apart:
        return None
    embedding = result.model.embedding
    if (sample := result.sample(EXACT)) is not None:
        note("N-QUALITY-ROWS", f"quality is measured among {len(sample):,} of {table.rows:,} rows, as the table is "
             "read in blocks")
        table, embedding = table.take(sample), some_of(embedding, sample)
    if not all_finite(table.values):
        whole = np.flatnonzero(np.isfinite(table.values).all(axis=1))
        note("N-QUALITY-ROWS", f"quality is measured on the {len(whole):,} of {table.rows:,} rows without gaps")
        table, embedding = table.take(whole), embedding[whole]
    if not table.rows:
        return None
    with running("quality"):
        return quality(compared(result, table), embedding, labels=table.labels, label=asked.label,
                       kept=result.model.space(result.config.compute), decode=projector.decode,
                       neighbors=asked.neighbors, sample=asked.sample, free=result.config.method.free_scale,
                       generator=result.config.compute.generator())


def compared(result: Run, table: Table) -> Input:
    """Some of the prepared rows as the method compared them."""
    return alike(table.data(), result.config.method.compared(result.given.data()))


def pictured(result: Run) -> Thumbnails | None:
    """Some rows as the images that they are; of a table read in blocks from the rows that are in memory."""
    image, table, embedding = result.config.report.picture, result.prepared, result.model.embedding
    if image is None or not result.config.report.writes("report") or not embedding.size or not result.source.rows:
        return None
    sample = result.sample()
    rows = chosen(embedding if sample is None else some_of(embedding, sample), image, result.config.compute.seed)
    rows = rows if sample is None else sample[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        found = Thumbnails(rows, result.start.undone(table.take(rows).values))
    return found if not np.isinf(found.values).any() else None


def resampling(result: Run) -> Stable | None:
    """How far the result would change with other rows; None where it was not asked for, or too few fits were made."""
    asked, config = result.config.report.stability, result.config
    if asked is None:
        return None
    data, method, size = result.prepared.data(), config.method, len(result.model.embedding)
    assert isinstance(data, Features | Dissimilarities)
    share = asked.share if method.resampling(config.input.gives) == "subsample" else None
    with running("stability"):
        drawn = draws(size, asked.resamples, share, config.compute.generator())
        again = method.with_axes(result.model.embedding.shape[1])
        made = resampled(result.model, lambda rows: again.fit(data.take(rows), config.compute), drawn)
        if len(made) < FEWEST:
            note("N-STABILITY", f"stability is not known: {len(made)} of {len(drawn)} fits to rows drawn again ended "
                 "well")
            return None
        return stable(result.model, made, asked=len(drawn), level=asked.level,
                      drawn=None if share is None else drawn_of(size, share))
