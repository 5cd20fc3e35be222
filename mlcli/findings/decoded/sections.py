"""The parts of a report about a decoder."""

from mlcli.config.report_options import Image
from mlcli.findings.decoded import DecodedFinding, pictures, profiles
from mlcli.findings.decoded.decode import CANDIDATES, Decoded
from mlcli.findings.decoded.layout import PLANE
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.report.drawing.html import Part, figure, section
from mlcli.report.drawing.text import three_digits


def plane(run: FinishedRun, image: Image | None) -> Part:
    """Return the features at a grid of places on the plane of the first two axes, as images or as profiles."""
    found = DecodedFinding.of(run)
    if found is None:
        return None
    drawn = (profiles.plane(found, run.axes, apart=_own_ranges(run)) if image is None else
             pictures.plane(found, pictures.Shape.of(image, found.originals), run.axes))
    others = run.embedding.values.shape[1] - len(found.ends)
    means = f"; the other {'axis is' if others == 1 else f'{others} axes are'} at the mean" if others else ""
    return section(PLANE, figure(drawn, "Decoded points of a grid between the 2nd and the 98th percentile of the first "
                                 f"{'two axes' if len(found.ends) > 1 else 'axis'}{means}. "
                                 f"{_values(run, found, image)}"))


def reconstructions(run: FinishedRun, image: Image | None) -> Part:
    """Return some rows with their reconstructions, as images or as profiles."""
    found = DecodedFinding.of(run)
    if found is None:
        return None
    ids = [run.embedding.ids[row] for row in found.rows.tolist()]
    drawn = (profiles.row_figure(found, ids, apart=_own_ranges(run)) if image is None else
             pictures.row_figure(found, pictures.Shape.of(image, found.originals), ids))
    count = len(run.embedding.values)
    some = f" of a random sample of {CANDIDATES:,} of {count:,} rows" if count > CANDIDATES else ""
    said = (f"Rows from the smallest to the largest error, at even steps of rank{some}. The error is the distance "
            f"between a row and its reconstruction, as the method measures it. {_values(run, found, image)}")
    return section("Reconstructions", figure(drawn, said))


def _own_ranges(run: FinishedRun) -> bool:
    """Whether each column of a profile has its own range: where the columns were scaled, their units differ."""
    return run.config.prepare.scale not in ("none", "center")


def _values(run: FinishedRun, found: Decoded, image: Image | None) -> str:
    """Return a sentence on the values of dark and light, or of the heights of lines."""
    if image is not None:
        shape = pictures.Shape.of(image, found.originals)
        low, high = three_digits(shape.low), three_digits(shape.high)
        return (f"Pixels go from {low} (dark) to {high} (light), the range of the originals in the report; values "
                "beyond are clipped.")
    lines = f"Lines go over the {found.plane.shape[1]:,} columns in their order"
    if _own_ranges(run):
        return f"{lines}, each column over a range of its own."
    heights = profiles.Heights.of(found, apart=False)
    return f"{lines}; panels reach from {three_digits(heights.low[0])} to {three_digits(heights.high[0])}."
