"""The kernels of several runs side by side: every spectral method is kernel PCA, and differs by its kernel alone.

A run does not store its kernel. So each run is fitted again to its input, and the entries between a sample of the rows
are taken when the kernel is about to be decomposed: as it is centered, in the data's unit.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import limit_threads
from mlcli.base.stages.stage import listening, mute_notes
from mlcli.base.types import Array, Indices
from mlcli.base.values.sample_size import sample_of
from mlcli.core.kernels.inverse import Inverse
from mlcli.errors import ConfigError
from mlcli.explain import mathml
from mlcli.explain.formulas import Entry
from mlcli.explain.record import Recorder
from mlcli.findings.frame.plan import FitPlan
from mlcli.methods.tables.combine import TablesMethod
from mlcli.pipeline.fit import fit, plan_fit
from mlcli.pipeline.read_run import read_run
from mlcli.report.comparison.page import page, titles
from mlcli.report.comparison.side_by_side import LEADING, Comparison, Side
from mlcli.report.drawing import svg
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Bar, Figure, Mark, Picture, Text, Tile
from mlcli.report.drawing.html import LONG, Html, Part, figure, section, sentence, side_by_side, table
from mlcli.report.drawing.text import number, safe, shorten
from mlcli.report.figures.coloring import coloring, numbers_of, single_color
from mlcli.report.figures.scatter import Points, dots
from mlcli.runs.relate import read_input

ROWS = 500  # of more, a sample is compared
DRAWN = 128  # rows of a heat map; of more, means over a few are drawn
PLUS, MINUS = (0, 114, 178), (213, 94, 0)  # colors of entries above and below zero, as in the tables of `page.py`
BRIGHT = 0.98  # share of the entries that have not the full color; some kernels have a few very large ones
REFINED = 3  # times that the shift of an inverse, which takes up to 0.001 from entries, is taken away
SHADES = 24  # of each color: as many as one tells apart, and a quarter of the bytes of 255
CELL, GAP, TOP, LOW, LEFT = 196.0, 16.0, 30.0, 96.0, 6.0  # pixels of a panel, between panels, above, of a spectrum
LETTERS = 26  # of a title


@frozen
class RunKernel:
    """The centered kernel of a run between some rows (m x m), and the formulas that lead to it."""

    run: str
    matrix: Array
    formulas: Sequence[Entry]


@frozen
class KernelPair:
    """How alike the kernels of two runs are, between the same rows."""

    first: str
    second: str
    alignment: float  # ⟨K, L⟩ / (‖K‖ ‖L‖), at most 1: Cristianini and others, "On kernel-target alignment", 2001
    difference: float  # ‖K / ‖K‖ - L / ‖L‖‖, which is accurate where the alignment is near 1

    @classmethod
    def of(cls, one: RunKernel, other: RunKernel) -> "KernelPair":
        """Compare two kernels; both figures are NaN where one is zero."""
        left, right = (np.linalg.norm(kernel.matrix) for kernel in (one, other))
        if left == 0 or right == 0:
            return cls(one.run, other.run, float("nan"), float("nan"))
        first, second = one.matrix / left, other.matrix / right
        return cls(one.run, other.run, float(np.sum(first * second)), float(np.linalg.norm(first - second)))

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values; null for what is unknown."""
        figures = {"alignment": self.alignment, "difference": self.difference}
        return {"first": self.first, "second": self.second,
                **{name: value if np.isfinite(value) else None for name, value in figures.items()}}


@frozen
class Kernels:
    """The kernels of the runs of a comparison, between the same rows in one order."""

    comparison: Comparison
    rows: Indices  # m: those of the comparison that are shown, in their order
    ordered_by: str  # in words
    kernels: Sequence[RunKernel]

    @property
    def pairs(self) -> list[KernelPair]:
        """Every two kernels compared."""
        return [KernelPair.of(one, other) for one, other in combinations(self.kernels, 2)]

    def written(self, *, seed: int, drawing: bool) -> str:
        """Return the page of the comparison with the section of the kernels, or their figure alone as SVG."""
        return svg.document(grid(self)) if drawing else page(
            self.comparison, seed=seed, first=kernels_section(self), style=mathml.STYLE)

    def document(self) -> dict[str, Any]:
        """Return formulas and comparisons as plain values."""
        return {"rows": len(self.rows), "ordered_by": self.ordered_by,
                "formulas": {kernel.run: [entry.formula for entry in kernel.formulas] for kernel in self.kernels},
                "symbols": {kernel.run: [entry.symbols for entry in kernel.formulas] for kernel in self.kernels},
                "pairs": [pair.document() for pair in self.pairs]}


class KernelRecorder(Recorder):
    """The formulas up to the kernel of a fit, and its entries between some rows."""

    def __init__(self, plan: FitPlan, rows: Indices) -> None:
        super().__init__(plan)
        self.rows = rows
        self.matrix: Array | None = None
        self.entries: list[Entry] = []

    def computed(self, name: str, value: Any, says: str) -> None:
        """Record a value, unless the kernel has been computed."""
        if self.matrix is None and name not in ("start", "state", "solved", "Eigensolve.__call__"):
            super().computed(name, value, says)

    def _record(self, key: str, value: Any, says: str) -> None:
        entry = self.entry(key)
        if entry is not None and entry.formula and entry not in self.entries:  # once for all tables
            self.entries.append(entry)
        if key.startswith("kernel:"):
            found = entries_between(value, self.rows)
            self.matrix = None if found is None else self.units.kernel.plain(found)
        elif key == "combined rows":
            self.matrix = value[self.rows] @ value[self.rows].T
        elif key == "combined kernel":
            self.matrix = len(value) * value[np.ix_(self.rows, self.rows)]


def entries_between(kernel: Any, rows: Indices) -> Array | None:
    """Return the entries of a kernel between rows (m), an (m, m) array; None where they are not products with vectors.
    """
    size = len(kernel.factor) if hasattr(kernel, "factor") else kernel.size
    units = np.zeros((size, len(rows)))
    units[rows, np.arange(len(rows))] = 1.0
    if isinstance(kernel, Inverse):
        solve = kernel.solver()
        found = solve(units)
        for _ in range(REFINED):
            found = solve(units + kernel.shift * found)
    elif hasattr(kernel, "apply"):
        found = kernel.apply(units)
    else:
        return None
    found = found[rows]
    return np.asarray((found + found.T) / 2)


def compare_kernels(folders: Sequence[str], comparison: Comparison, given: str | None, seed: int) -> Kernels:
    """Fit each run again, and take its kernel between at most `ROWS` of the rows that all runs have.

    Rows are in the order of the comparison's first color, else of the first axis of its first run. The input of the
    first run, and of others that were made from the same, lies where it is `given` to be. Raises ConfigError for a run
    without a kernel of its rows, and what reading its input and the fit raise.
    """
    rows, ordered_by = ordered_rows(comparison, sample_of(len(comparison.ids), ROWS, np.random.default_rng(seed)))
    ids = [comparison.ids[row] for row in rows.tolist()]
    same = [side.sha256 == comparison.sides[0].sha256 for side in comparison.sides]
    return Kernels(comparison, rows, ordered_by, [kernel_of(folder, ids, given if moved else None)
                                                  for folder, moved in zip(folders, same, strict=True)])


def ordered_rows(comparison: Comparison, rows: Indices) -> tuple[Indices, str]:
    """Return rows (m) of a comparison in the order of its first color, else of the first axis, and that in words."""
    axis = comparison.sides[0].values[rows][:, 0]
    name = next(iter([*comparison.colors, *comparison.labels]), None)
    if name is None:
        return rows[np.argsort(axis, kind="stable")], f"the first axis of {comparison.sides[0].name}"
    texts = [comparison.labels[name][row] for row in rows.tolist()]
    numbers = numbers_of(texts)
    keys = numbers if numbers is not None else coloring(name, texts).of
    return rows[np.lexsort((axis, np.asarray(keys)))], f"the column {name}"


def kernel_of(folder: str, ids: Sequence[str], given: str | None) -> RunKernel:
    """Fit a run again to its input, and take its kernel between the rows of some ids."""
    run = read_run(Path(folder))
    method, kind = run.config.method, run.config.input.gives
    chain = method.chain_of(kind)
    if (chain is None and not isinstance(method, TablesMethod)) or (chain and chain.landmarks is not None):
        why = "has no kernel" if chain is None else "has a kernel of landmarks, not of all rows"
        raise ConfigError("NO-KERNEL", f"a run of {method.name} {why}", where=folder,
                          hint="leave it out, or choose spectral methods, without landmarks")
    onto = run.config.onto
    if onto is not None and onto.way == "fixed":
        raise ConfigError("NO-KERNEL", "rows that are placed on the map of another run have no kernel with those of "
                          "the map", where=folder, hint=f"compare the run of the map, {shorten(onto.run, 80)}, or fit "
                          "all rows anew ({onto.way=refit})")
    places = {name: row for row, name in enumerate(run.embedding.ids)}
    found = read_input(Path(folder), run, given, "the run is fitted to it again")
    plan = plan_fit(found.config, found.start)
    recorder = KernelRecorder(plan, np.array([places[name] for name in ids], dtype=np.int64))
    with mute_notes(), limit_threads(run.config.compute.thread_count()), listening(recorder):
        fit(plan)
    if recorder.matrix is None:
        raise ConfigError("NO-KERNEL", f"the kernel of {method.name} is not one of its rows", where=folder,
                          hint="leave it out, or choose another method")
    return RunKernel(folder, recorder.matrix, recorder.entries)


def kernels_section(found: Kernels) -> Part:
    """Return the kernels, spectra and maps of the runs in one figure, their formulas, and how alike they are."""
    pairs = [(pair.first, pair.second, figure_of(pair.alignment), figure_of(pair.difference)) for pair in found.pairs]
    many, shown = len(found.comparison.ids), len(found.rows)
    said = (f"Entries between {shown:,} rows{f' of {many:,}, a seeded sample' if many > shown else ''}, in the order "
            f"of {found.ordered_by}: blue above zero, orange below, each kernel on a scale of its own. Below it the "
            "leading eigenvalues in percent of the largest, and the rows on the first two axes.")
    formulas = [Html(f"<h3>{safe(title)}</h3>" + "".join(map(formula_of, kernel.formulas)))
                for title, kernel in zip(titles(found.comparison.sides, 60), found.kernels, strict=True)]
    return section(
        "Kernels", figure(grid(found), said),
        sentence("Each map is the leading eigenvectors of the matrix above it, times the roots of their eigenvalues or "
                 "of another length. The methods differ in how similar two rows are:"),
        side_by_side(*formulas),
        table(("run", "with", "alignment of the kernels", "difference"), pairs, (2, 3)),
        sentence("The alignment is the correlation of the entries of two kernels (not centered again): 1 for kernels "
                 "that are equal up to a factor. The difference is the length of their difference, both of length 1.",
                 "soft"))


def formula_of(entry: Entry) -> str:
    """Return a step that leads to a kernel: its name, its formula, and what the letters mean."""
    return (f"<p>{safe(entry.name)}</p>{mathml.mathml(entry.formula)}"
            f'<p class="soft">{safe(entry.symbols, LONG)}</p>')


def figure_of(value: float) -> str:
    """Return a figure in few digits."""
    return number(None) if np.isnan(value) else f"{value:.4g}"


def grid(found: Kernels) -> Figure:
    """Draw a column for each run: its kernel as a heat map, its spectrum, and its map."""
    comparison = found.comparison
    name = next(iter([*comparison.colors, *comparison.labels]), None)
    ids = [comparison.ids[row] for row in found.rows.tolist()]
    colors = single_color(len(ids)) if name is None else coloring(
        name, [comparison.labels[name][row] for row in found.rows.tolist()], measured=name in comparison.measured)
    marks: list[Mark] = []
    parts: list[Tile] = []
    height = TOP + CELL + GAP + LOW + GAP + CELL + GAP
    for place, (side, title, kernel) in enumerate(zip(
            comparison.sides, titles(comparison.sides, LETTERS), found.kernels, strict=True)):
        left = LEFT + place * (CELL + GAP)
        parts.append(Tile(x=left - LEFT, y=0, width=CELL + GAP, height=height))
        points = Points(side.values[found.rows][:, :2], ids, colors, len(comparison.ids))
        marks += [Text(left, TOP - 10, shorten(title, LETTERS), kind="small"), *heat_map(kernel.matrix, left, TOP),
                  *spectrum_bars(side, left, TOP + CELL + GAP),
                  *small_map(points, left, TOP + CELL + GAP + LOW + GAP)]
    return Figure("Kernels, spectra and maps side by side", len(found.kernels) * (CELL + GAP) + LEFT, height, marks,
                  parts)


def heat_map(matrix: Array, left: float, top: float) -> Iterator[Mark]:
    """Yield the picture of a kernel (m x m) in its frame: of many rows, means over a few of them."""
    firsts = np.linspace(0, len(matrix), min(len(matrix), DRAWN), endpoint=False).astype(np.int64)
    counts = np.diff(firsts, append=len(matrix))
    matrix = np.add.reduceat(np.add.reduceat(matrix, firsts, axis=0), firsts, axis=1) / np.outer(counts, counts)
    sizes = np.abs(matrix)
    largest = float(np.quantile(sizes, BRIGHT)) or float(sizes.max(initial=0.0)) or 1.0
    levels = np.empty((*matrix.shape, 4), np.uint8)
    levels[:, :, :3] = np.where((matrix >= 0)[:, :, None], PLUS, MINUS)
    levels[:, :, 3] = np.rint(255 / SHADES * np.rint(SHADES * np.minimum(sizes / largest, 1.0)))
    yield Picture(kind="pixels", x=left, y=top, width=CELL, height=CELL, levels=levels)
    yield Bar(kind="frame", x=left, y=top, width=CELL, height=CELL)


def spectrum_bars(side: Side, left: float, top: float) -> Iterator[Mark]:
    """Yield the bars of the leading eigenvalues of a run, over a line at zero."""
    values = np.array(side.eigenvalues[:LEADING], dtype=float)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    shares = values / largest
    scale = Scale.over([0.0, 1.0, *shares.tolist()], top + LOW, top, most=3)
    panel = Panel(Scale(low=-0.5, high=LEADING - 0.5, start=left, end=left + CELL, step=1.0), scale)
    wide = 0.7 * CELL / LEADING
    yield from panel.rows(texts=False)
    for place, (share, value) in enumerate(zip(shares.tolist(), values.tolist(), strict=True)):
        kind = "negative" if share < 0 else "kept" if place < side.values.shape[1] else "rest"
        above, below = sorted((panel.y(share), panel.y(0.0)))
        yield Bar(kind=kind, x=panel.x(place) - wide / 2, y=above, width=wide, height=below - above,
                  tip=f"{place + 1}: {value:.4g}")


def small_map(points: Points, left: float, top: float) -> Iterator[Mark]:
    """Yield the rows on the first two axes (m x 2, or m x 1), in their frame and in the run's own orientation."""
    values = np.column_stack([points.values, np.zeros(len(points.values))])[:, :2]
    values = values - (values.max(axis=0) + values.min(axis=0)) / 2
    half = 1.06 * float(np.abs(values).max(initial=0.0)) or 1.0
    panel = Panel(Scale(low=-half, high=half, start=left, end=left + CELL, step=half),
                  Scale(low=-half, high=half, start=top + CELL, end=top, step=half))
    yield Bar(kind="frame", x=left, y=top, width=CELL, height=CELL)
    yield from dots(points, values, panel, 0.7 * points.radius)
