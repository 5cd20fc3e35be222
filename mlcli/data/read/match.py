"""Columns of new rows matched to a finished run: features by name, or dissimilarities to its points."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.data.options.column_names import columns_named_as_ids
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, listed, place
from mlcli.data.table.cells import refuse_negative, refuse_nonfinite
from mlcli.data.table.sheet import Sheet
from mlcli.errors import DataError, option


def match_columns(sheet: Sheet, wanted: tuple[str, ...], path: str, noun: str) -> Array:
    """Return the (n, d) array with the wanted columns in their order; columns without names are matched by position.

    Columns beside the wanted ones are left out with a note, but points of a matrix are not. Raises DataError.
    """
    if sheet.columns == wanted:
        return sheet.values
    if not sheet.named and by_position(sheet.columns, wanted, noun):
        return sheet.values
    require_named(sheet.columns, wanted, path, noun, strict=noun == "point" or not sheet.named or bool(sheet.image))
    positions = {name: column for column, name in enumerate(sheet.columns)}
    return np.ascontiguousarray(sheet.values[:, [positions[name] for name in wanted]])


def by_position(columns: Sequence[str], wanted: Sequence[str], noun: str) -> bool:
    """Whether columns without names are as many as the wanted ones; if so, note the match."""
    if len(columns) == len(wanted):
        note("N-BY-POSITION", f"the file does not name its columns; they were taken in the order of the run's {noun}s")
    return len(columns) == len(wanted)


def require_named(ids: Sequence[str], wanted: Sequence[str], path: str, noun: str, *, strict: bool) -> None:
    """Raise DataError with lists of missing columns, and of additional ones if `strict`; note these, and the order."""
    present, needed = set(ids), set(wanted)
    missing = [name for name in wanted if name not in present]
    extra = [name for name in ids if name not in needed]
    naming = [extra[column] for column in columns_named_as_ids(extra)]
    names_rows = f"give {option('input.id_column', naming[0])} if it names the rows" if naming else ""
    if missing or (extra and strict):
        parts = [f"{counted(len(names), 'column')} {word}: {listed(names)}"
                 for names, word in ((missing, "missing"), (extra, "not of the run")) if names]
        raise DataError("COLUMNS-DIFFER", "; ".join(parts), where=place(path),
                        hint=f"{names_rows}{'; ' * bool(names_rows)}the run needs one column for each of its "
                        f"{counted(len(wanted), noun)}; choose them with {{input.columns}}, and name ids and labels "
                        "with {input.id_column} and {input.label_columns}")
    if extra:
        note("N-OTHER-COLUMNS", f"{counted(len(extra), 'column')} not of the run and not used: {listed(extra)}"
             + f"; {names_rows}" * bool(names_rows), columns=len(extra))
    if [name for name in ids if name in needed] != list(wanted):
        note("N-REORDERED", "the columns were put in the order of the run", columns=len(wanted))


def match_points(sheet: Sheet, points: tuple[str, ...], input: Input) -> Array:
    """Return the (m, n) array of dissimilarities or kernel values from m new points to the n points of the run.

    Raises DataError.
    """
    where = place(input.path)
    if sheet.values.ndim != 2:
        raise DataError("ARRAY", "a condensed vector holds no dissimilarities to the points of the run", where=where,
                        hint="give a matrix: a row for every new point, a column for every point of the run")
    values = match_columns(sheet, points, input.path, "point")
    refuse_nonfinite(values, sheet.row_names(), points, where,
                     "every new point needs a number to every point of the run")
    if input.kind == "dissimilarities":
        refuse_negative(values, sheet.row_names(), points, where)
    return np.sqrt(values) if input.squared else values
