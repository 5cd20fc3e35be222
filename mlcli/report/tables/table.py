"""Tables of a finished run as values, and as CSV, Markdown, LaTeX and HTML."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from math import isinf, isnan

from mlcli.base.frozen import frozen
from mlcli.report.drawing import html
from mlcli.report.drawing.text import four_digits, visible
from mlcli.report.tables import Form

Cell = str | float | int | None
Row = Sequence[Cell]
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
         ">": r"\textgreater{}", "²": r"\textsuperscript{2}", "≥": r"$\geq$", "–": "--", "−": "$-$",
         "∞": r"$\infty$", **{sign: f"\\{sign}" for sign in "&%$#_{}"}}
NAME = 26  # largest number of characters of row names that are never broken
OPEN = 40  # rows up to which a table on a page is usually not folded
LONG = 400  # characters of a caption
MARKDOWN = {sign: f"\\{sign}" for sign in "\\|*_`<>[]"}


@frozen
class ReportTable:
    """Rows under a head: the first column names them."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Row]
    footers: Sequence[Row] = ()  # sums below the rows, not in a CSV file
    decimals: int | None = None  # of numbers for people; None: up to four digits
    cutoff: float = 0.0  # smaller numbers in the columns `cut` are left blank for people
    cut: int = 0  # number of columns with a cutoff, from the second
    words: Sequence[int] = (0,)  # the columns of texts
    keys: Sequence[str] = ()  # the head of a CSV file, where the run's own files have other names

    def cells(self, row: Row, *, blank: bool) -> list[str]:
        """Return the cells of a row for people; with `blank`, small numbers are left out."""
        return ["" if blank and 1 <= place <= self.cut and isinstance(cell, float) and abs(cell) < self.cutoff
                else self.text(cell) for place, cell in enumerate(row)]

    def text(self, cell: Cell) -> str:
        """Return a cell for people."""
        if isinstance(cell, str):
            return visible(cell)
        if cell is None or isnan(cell):
            return ""
        if isinf(cell):
            return "∞" if cell > 0 else "-∞"
        if isinstance(cell, float) and self.decimals is not None:
            return f"{round(cell, self.decimals) + 0.0:.{self.decimals}f}"
        return four_digits(cell)

    @property
    def top(self) -> list[str]:
        """The head for people."""
        return [visible(name) for name in self.head]

    @property
    def lines(self) -> list[list[str]]:
        """All rows for people, then the footers."""
        return [*(self.cells(row, blank=True) for row in self.rows),
                *(self.cells(row, blank=False) for row in self.footers)]


def as_csv(table: ReportTable) -> str:
    """Return all rows with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.keys or table.head)
    writer.writerows([_exact(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def _exact(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return ""
    return f"{cell:.17g}" if isinstance(cell, float) else str(cell)


def as_markdown(table: ReportTable) -> str:
    """Return a pipe table, as GitHub and Pandoc read it."""
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rule = ["---" if place in table.words else "---:" for place in range(len(table.head))]
    rows = [[_escape(cell, MARKDOWN) for cell in row] for row in (table.top, *table.lines)]
    caption = _escape(visible(table.caption, LONG), MARKDOWN)
    return "\n".join([f"{caption}\n", line(rows[0]), line(rule), *map(line, rows[1:])]) + "\n"


def as_latex(table: ReportTable) -> str:
    r"""A floating table with the rules of the package booktabs."""
    def line(cells: Sequence[str]) -> str:
        return " & ".join(_escape(cell, LATEX) for cell in cells) + r" \\"

    lines, count = table.lines, len(table.rows)
    sides = "".join("l" if place in table.words else "r" for place in range(len(table.head)))
    below = [r"\midrule", *map(line, lines[count:])] if table.footers else []
    return "\n".join([r"\begin{table}", r"\centering", rf"\caption{{{_escape(visible(table.caption, LONG), LATEX)}}}",
                      rf"\begin{{tabular}}{{{sides}}}", r"\toprule", line(table.top), r"\midrule",
                      *map(line, lines[:count]), *below, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def as_html(table: ReportTable) -> html.Part:
    """Return the table as a part of a page, footers below the rows."""
    places, lines = range(len(table.head)), table.lines
    short = all(len(line[0]) <= NAME for line in lines)
    return html.table(table.head, lines, [place for place in places if place not in table.words], [0] if short else [])


def fold_long(table: ReportTable, words: str, most: int = OPEN) -> html.Part:
    """Return the table as a part of a page, folded under `words` where it has more than `most` rows."""
    shown = as_html(table)
    return shown if len(table.rows) <= most else html.fold(words, shown)


FORMS: Mapping[Form, Callable[[ReportTable], str]] = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv}


def _escape(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
