"""Stress by point, and the Shepard diagram of a layout (Kruskal, 1964)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.units import percent
from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.core.model import Goodness
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

POINTS = File("stress.csv", Columns(("id", "goodness", "share"), texts=1))
NAMES = ("dissimilarity", "distance", "disparity")
PAIRS = File("disparities.csv", Columns(NAMES))
WORST = 10  # points on the page


def goodness_of(folder: Path, count: int) -> "Goodness | None":
    """Return the fit of the points of an embedding, and of pairs; None where a run does not have it.

    Raises UnsafeFile where the file has another number of rows.
    """
    from mlcli.core.model import Goodness
    from mlcli.rundir.reading import damaged

    points, pairs = POINTS.read(folder), PAIRS.read(folder)
    if points is None or pairs is None:
        return None
    values = points.array("goodness")
    if len(values) != count:
        raise damaged(folder / POINTS.name, f"it has {len(values)} rows, not {count} as in run.json")
    return Goodness(values, _columns(*(pairs.array(name) for name in NAMES)))


def in_corner(fit: Mapping[str, Any], axes: int) -> str:
    """Return the stress that a layout's method made small, for the corner of a figure of two axes; else nothing.

    With the number of axes that it is of, where that is another one.
    """
    from mlcli.findings.quality.measure import own_stress

    stress = own_stress(fit)
    return "" if stress is None else f"stress {stress:.3g}{'' if axes == 2 else f' ({axes} axes)'}"


class StressFinding(Finding[Mapping[str, "CsvColumns"]]):
    """The stress of each point, and distances beside the dissimilarities that they fit."""

    name = "stress"
    files = (POINTS, PAIRS)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> Mapping[str, "CsvColumns"] | None:
        """Return stress.csv and disparities.csv of a model that states how well it fits; else None."""
        from mlcli.findings.frame.finished_run import CsvColumns

        fit = result.model.goodness
        if fit is None:
            return None
        squares = fit.points * fit.points
        total = float(squares.sum())  # not a product of BLAS, which depends on the processor
        return {POINTS.name: CsvColumns({"id": tuple(result.embedding.ids), "goodness": fit.points,
                                      "share": squares / (total or 1.0)}),
                PAIRS.name: CsvColumns(dict(zip(NAMES, fit.pairs.T, strict=True)))}

    def cells(self, method: "Method", table: "Table") -> float:
        """Return those of a line for each point and for each pair that is shown, of a method that has them."""
        if not hasattr(method, "goodness"):
            return 0.0
        from mlcli.core.layouts.goodness import SHOWN

        return 3.0 * (table.rows + min(table.rows * (table.rows - 1) // 2, SHOWN))

    def lines(self, summary: Mapping[str, Any]) -> Iterable[str]:
        """Return the stress that the method made small, and how many starts reached it."""
        from mlcli.findings.quality.measure import own_stress

        fit = summary.get("fit") or {}
        if own_stress(fit) is None:
            return ()
        starts = "" if fit["starts"] == 1 else f", reached from {fit['reached']} of {fit['starts']} starts"
        return (f"stress {fit['stress']:.4f}{starts}",)

    def sections(self, value: Mapping[str, "CsvColumns"], run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the fits in words, the Shepard diagram with the line of disparities, and the points that fit worst."""
        from mlcli.report.drawing.html import figure, fold, section, sentence, table
        from mlcli.report.figures.curves import shepard

        points, pairs = value[POINTS.name], value[PAIRS.name]
        places, distances, line = (pairs.array(name) for name in pairs.columns)
        ranked = bool((line != places).any())
        drawn = shepard("Shepard diagram", _columns(places, distances), _columns(places, line))
        said = (f"{len(places):,} pairs of points: dissimilarity and distance, with the line of "
                f"{'disparities, which never falls' if ranked else 'equality'}.")
        shares = points.array("share")
        worst = sorted(range(len(shares)), key=lambda place: -shares[place])[:WORST]
        rows = [(points.texts("id")[place], f"{points.numbers('goodness')[place]:.4g}", percent(shares[place], 2))
                for place in worst]
        return [(Place.RESULT, section(
            "Stress", sentence(fits(run.fit, ranked=ranked)), figure(drawn, said),
            fold("points that fit worst", table(("point", "goodness", "share of the stress"), rows, (1, 2), (0,)))))]


def fits(fit: Mapping[str, Any], *, ranked: bool) -> str:
    """Return a sentence about the fits, as R's vegan gives them under a Shepard diagram."""
    stress, linear = fit.get("stress"), fit.get("linear_r_squared")
    parts: Sequence[str] = [
        f"stress {stress:.4g}" if stress is not None else "",
        f"non-metric fit R² = 1 - stress² = {1 - stress**2:.3f}" if ranked and stress is not None else "",
        f"linear fit R² = {linear:.3f}, the squared correlation of distances and "
        f"{'disparities' if ranked else 'dissimilarities'}" if linear is not None else ""]
    text = "; ".join(part for part in parts if part)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _columns(*parts: Any) -> Any:
    import numpy as np

    return np.column_stack(parts)
