"""Tables of a finished run as values, and as CSV, Markdown, LaTeX and HTML."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from math import isfinite

from mlcli.base.frozen import frozen
from mlcli.report.drawing import html
from mlcli.report.drawing.text import number, visible
from mlcli.report.tables.names import Form

Cell = str | float | int | None
Row = Sequence[Cell]
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
         ">": r"\textgreater{}", "²": r"\textsuperscript{2}", "≥": r"$\geq$", "–": "--", "−": "$-$",
         **{sign: f"\\{sign}" for sign in "&%$#_{}"}}
NAME = 26  # characters of a row's name that is never broken
LONG = 400  # characters of a caption
MARKDOWN = {sign: f"\\{sign}" for sign in "\\|*_`<>[]"}


@frozen
class Table:
    """Rows under a head: the first column names them."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Row]
    footers: Sequence[Row] = ()  # sums below the rows, which a CSV file leaves out
    decimals: int | None = None  # of numbers, for people; None: as many digits as tell
    cutoff: float = 0.0  # numbers of the columns `cut` that are smaller in size are left blank, for people
    cut: int = 0  # how many columns, from the second
    words: Sequence[int] = (0,)  # the columns of texts
    keys: Sequence[str] = ()  # the head of a CSV file, where the files of a run call columns otherwise

    def shown(self, row: Row, *, blank: bool) -> list[str]:
        """The cells of a row for people; `blank` leaves small numbers out."""
        return ["" if blank and 1 <= place <= self.cut and isinstance(cell, float) and abs(cell) < self.cutoff
                else self.text(cell) for place, cell in enumerate(row)]

    def text(self, cell: Cell) -> str:
        """A cell for people."""
        if isinstance(cell, str):
            return visible(cell)
        if cell is None or not isfinite(cell):
            return ""
        if isinstance(cell, float) and self.decimals is not None:
            return f"{round(cell, self.decimals) + 0.0:.{self.decimals}f}"
        return number(cell)

    @property
    def top(self) -> list[str]:
        """The head for people."""
        return [visible(name) for name in self.head]

    @property
    def lines(self) -> list[list[str]]:
        """All rows for people, then the footers."""
        return [*(self.shown(row, blank=True) for row in self.rows),
                *(self.shown(row, blank=False) for row in self.footers)]


def as_csv(table: Table) -> str:
    """All rows with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.keys or table.head)
    writer.writerows([_exact(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def _exact(cell: Cell) -> str:
    if cell is None or (not isinstance(cell, str) and not isfinite(cell)):
        return ""
    return f"{cell:.17g}" if isinstance(cell, float) else str(cell)


def as_markdown(table: Table) -> str:
    """A pipe table, as GitHub and Pandoc read it."""
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rule = ["---" if place in table.words else "---:" for place in range(len(table.head))]
    rows = [[_escaped(cell, MARKDOWN) for cell in row] for row in (table.top, *table.lines)]
    caption = _escaped(visible(table.caption, LONG), MARKDOWN)
    return "\n".join([f"{caption}\n", line(rows[0]), line(rule), *map(line, rows[1:])]) + "\n"


def as_latex(table: Table) -> str:
    r"""A floating table with the rules of the package booktabs."""
    def line(cells: Sequence[str]) -> str:
        return " & ".join(_escaped(cell, LATEX) for cell in cells) + r" \\"

    lines, count = table.lines, len(table.rows)
    sides = "".join("l" if place in table.words else "r" for place in range(len(table.head)))
    below = [r"\midrule", *map(line, lines[count:])] if table.footers else []
    return "\n".join([r"\begin{table}", r"\centering", rf"\caption{{{_escaped(visible(table.caption, LONG), LATEX)}}}",
                      rf"\begin{{tabular}}{{{sides}}}", r"\toprule", line(table.top), r"\midrule",
                      *map(line, lines[:count]), *below, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def as_html(table: Table) -> html.Part:
    """The rows of a page, their footers below."""
    places, lines = range(len(table.head)), table.lines
    short = all(len(line[0]) <= NAME for line in lines)
    return html.table(table.head, lines, [place for place in places if place not in table.words], [0] if short else [])


FORMS: Mapping[Form, Callable[[Table], str]] = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv}


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
