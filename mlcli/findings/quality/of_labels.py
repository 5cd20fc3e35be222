"""Measures of another label column of a finished run: 1-NN error and silhouette, of the embedding alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlcli.base.stages.stage import note, running
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.similarities.spaces import EuclideanSpace
from mlcli.findings.quality.anchors import Anchors, Spaces, sums_over_anchors
from mlcli.findings.quality.measure import QualityResult, estimates_of, plain_value
from mlcli.findings.quality.measures import Labels
from mlcli.findings.quality.section import OF_LABELS


def about_label(found: QualityResult, embedding: Array, labels: Mapping[str, Sequence[str]], label: str | None,
                compute: Compute, remedy: str) -> QualityResult:
    """Return measures whose label measures are about `label`, or about the first of `labels` with classes.

    `embedding` is an (n, p) array; `labels` are columns of n texts. Points are measured from the anchors of the other
    measures where those are of all rows. The measures stay as they are where no column has classes. Raises ConfigError
    for a chosen column without classes, with the `remedy`.
    """
    classes = Labels.first_of(labels, label, remedy)
    if classes is None:
        return found
    rows, size = found.figures.get("rows"), len(embedding)
    if rows != size:
        note("N-QUALITY-ROWS", f"label measures are of all {size:,} rows, the other measures of {rows:,}")
    anchors = Anchors.choose(size, 1, "auto" if rows != size else int(found.figures["anchors"]), compute.generator())
    space = EuclideanSpace.of(embedding, anchors.rows)
    with running("quality"):
        values = estimates_of([classes], anchors, sums_over_anchors([classes], anchors, Spaces(space, space, space)))
    every = [key for name in OF_LABELS for key in (name, f"{name}_se")]
    others = {key: value for key, value in found.figures.items() if key not in every}
    figures = {**others, "label": classes.column, **{name: plain_value(value) for name, value in values.items()}}
    if "baseline" in others:  # its coordinates are not kept
        figures["baseline"] = {**others["baseline"], **dict.fromkeys(every)}
    return replace(found, figures=figures)
