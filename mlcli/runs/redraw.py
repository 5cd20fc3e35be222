"""A finished run drawn again: its page, its figures, and the interactive page, as they are asked for now."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute
from mlcli.config.explain import locate_errors
from mlcli.config.layers import Layer, assignment
from mlcli.config.report_options import FigureFormat, Report
from mlcli.errors import ConfigError, DependencyMissing
from mlcli.findings.decoded import DecodedFinding
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.images import ImagesFinding
from mlcli.findings.loadings import LoadingsFinding
from mlcli.findings.quality import QualityFinding
from mlcli.pipeline.read_run import encoded, figure_files, read_run, with_labels
from mlcli.report.interactive import interactive_page
from mlcli.report.page.embedding import color_columns
from mlcli.report.page.figure_files import FURTHER, NAMES
from mlcli.report.page.page import page
from mlcli.rundir import names
from mlcli.rundir.disk_space import in_temporary_files
from mlcli.rundir.manifest import listed, manifest_bytes, read_manifest, replace_listed
from mlcli.runs.colors import FLAG as COLOR_BY
from mlcli.runs.colors import with_colors

FIGURES = [names.figure(name, format) for name in (*NAMES, *FURTHER) for format in get_args(FigureFormat)]


@frozen
class Redrawn:
    """Paths of the files that were written, and of outdated ones that were removed."""

    pages: Sequence[Path]
    figures: Sequence[Path]
    removed: Sequence[Path]


@frozen
class ColorOptions:
    """Options for the colors of a run that is drawn again."""

    columns: Sequence[str] = ()  # labels of the run or columns of its input; none: every label column
    labels: str | None = None  # a file with labels, before the run's own
    quality: str | None = None  # the label column of quality's measures; None: the first of those above with classes
    input: str | None = None  # where the input lies now


def render_again(folder: Path, drawing: Layer, *, colors: ColorOptions, image: str | None = None,
                 order: str | None = None, interactive: bool = False, cutoff: float | None = None) -> Redrawn:
    """Writes a finished run's page and figures anew.

    Figures have the formats that `drawing` names, else those that they had; one in another format is removed. A run
    that was made without figures gets some where it is said how they are drawn.

    Raises ConfigError for an unknown column, a shape that no row has, a page without points, and options that do not
    fit; DependencyMissing; the errors of reading the files; and OutputRefused if another run replaces this one
    meanwhile.
    """
    record = manifest_bytes(folder)
    former = [name for name in FIGURES if name in listed(read_manifest(folder))]
    with limit_threads(Compute().thread_count()), in_temporary_files():
        run = color_run(drawn_as(folder, drawing, former), folder, colors)
    run = replace(run, interactive=run.interactive or interactive)
    with locate_errors(drawing):
        require_drawable(run)
    run = with_image(run, image, order)
    pages = {names.REPORT: encoded(page(run, cutoff=cutoff))}
    if interactive:
        require_points(run)
        pages[names.INTERACTIVE] = encoded(interactive_page(run))
    said = drawing.values or colors.columns or any(given is not None for given in (colors.labels, image, order))
    drawn = figure_files(run) if said or former else {}
    removed = [name for name in former if name not in drawn]
    replace_listed(folder, {**pages, **drawn}, removed, known=record)
    return Redrawn(*([folder / name for name in part] for part in (pages, drawn, removed)))


def drawn_as(folder: Path, drawing: Layer, former: Sequence[str]) -> FinishedRun:
    """A finished run whose figures have the formats that are named, else those of its former figures."""
    if not former or "figures" in drawing.values.get("report", {}):
        return read_run(folder, drawing)
    formats = list(dict.fromkeys(Path(name).suffix[1:] for name in former))
    try:
        return read_run(folder, assignment("report.figures", formats, f"figures of {folder}").over(drawing))
    except DependencyMissing as error:
        if error.code != "E-EXTRA":
            raise
        raise error.changed(hint=f"{error.hint}; or --figures svg, which removes the others") from None


def color_run(run: FinishedRun, folder: Path, options: ColorOptions) -> FinishedRun:
    """Return a run in other colors, with measures of their labels; raises what `with_colors` does, and ConfigError."""
    run = with_colors(with_labels(run, options.labels), folder, options.columns, options.input)
    measured = QualityFinding.of(run)
    if measured is None and options.quality is not None:
        raise ConfigError("QUALITY-LABEL", "the run has no measures of quality", where="--quality-label",
                          hint="leave it out, or make the run again with quality among its outputs")
    if measured is None or not (options.columns or options.labels or options.quality):
        return run
    from mlcli.findings.quality.measure import about_label

    table = run.embedding
    columns = list(table.labels) if options.quality else [name for name in color_columns(run)
                                                          if name not in table.measured]
    try:
        again = about_label(measured, table.values, {name: table.labels[name] for name in columns}, options.quality,
                            run.config.compute, f"{COLOR_BY} adds columns of the input, and --labels those of a file")
    except ConfigError as error:
        raise error.changed(where="--quality-label") from None
    return replace(run, findings={**run.findings, QualityFinding.name: again})


def require_drawable(run: FinishedRun) -> None:
    """Raise ConfigError where the run lacks labels or loadings that its figures should show."""
    report, table = run.config.report, run.embedding
    report.require_point_labels(len(table.ids), table.labels)
    report.require_arrows(table.values.shape[1], loaded=LoadingsFinding.of(run) is not None)


def require_points(run: FinishedRun) -> None:
    """Raises ConfigError where the run has nothing for an interactive page."""
    if not run.embedding.values.size:
        raise ConfigError("UNUSED", "the run has no points for an interactive page", where="--interactive",
                          hint="leave it out")


def with_image(run: FinishedRun, text: str | None, order: str | None) -> FinishedRun:
    """Return the run with images of the shape that a command names, as in 28,28, and with the order of their cells.

    Raises ConfigError unless the run holds rows, decoded rows or loadings that are such images.
    """
    if text is None and order is None:
        return run
    where, given = ("--image", text) if text is not None else ("--image-order", order)
    own = run.config.report
    try:
        image = own.image if text is None else tuple(map(int, text.split(",")))
        chosen = Report.model_validate({"image": image, "image_order": order or own.image_order})
    except ValueError as error:
        raise ConfigError("REPORT-IMAGE", f"{str(given)[:40]!r} is not an image shape", where=where,
                          hint="give rows and columns, as in 28,28, and 3 for colors; the order is row or column",
                          ) from error
    columns = columns_of(run)
    if columns is None:
        raise ConfigError("REPORT-IMAGE", "the run holds neither rows nor loadings to draw as images", where=where,
                          hint="make it again with --set report.image=[ROWS,COLUMNS], which keeps some of its rows")
    if chosen.image is None:
        raise ConfigError("REPORT-IMAGE", "an order was given, but no image shape", where=where,
                          hint="give --image too")
    chosen.require_image(columns, where)
    report = own.replace(image=chosen.image, image_order=chosen.image_order)
    return replace(run, config=run.config.replace(report=report))


def columns_of(run: FinishedRun) -> int | None:
    """Return how many features a row has that the report may draw as an image; None where it has nothing to draw."""
    decoded, thumbnails, loadings = DecodedFinding.of(run), ImagesFinding.of(run), LoadingsFinding.of(run)
    if decoded is not None:
        return int(decoded.plane.shape[1])
    if thumbnails is not None:
        return int(thumbnails.values.shape[1])
    return None if loadings is None else len(loadings.columns["column"])
