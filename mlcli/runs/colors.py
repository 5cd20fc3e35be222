"""Columns for the colors of a finished run: its labels, and further columns of its input, which is read again."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from mlcli.data.options.names import split_at_commas
from mlcli.errors import ConfigError, UsageError
from mlcli.findings.frame.contents import Contents
from mlcli.report.page.figure_files import MOST_COLORS
from mlcli.runs.input_columns import columns_of_input

FLAG = "--color-by"


def split_names(given: Sequence[str], labels: Collection[str]) -> list[str]:
    """Return names of columns, each once: those with commas between are several, unless a label has the whole name.

    A name that holds commas stands in quotes, as in a line of CSV. Raises UsageError for what is no name.
    """
    names: list[str] = []
    for text in given:
        some = [text] if text in labels else split_at_commas(text)
        if not all(some):
            raise UsageError("REPORT-COLORS", f"{text[:80]!r} has an empty name", where=FLAG,
                             hint="separate names by single commas, and put a name that holds commas in quotes")
        names += some
    return list(dict.fromkeys(names))


def with_colors(run: Contents, folder: Path, given: Sequence[str], input: str | None = None) -> Contents:
    """Return a run whose colors are by the columns that are given; those that are no labels are read from its input.

    `input` is where that lies now. Raises ConfigError for a column that is in neither, for too many of them and for an
    input without any, and what `split_names` and `columns_of_input` do.
    """
    table = run.embedding
    names = split_names(given, table.labels)
    if len(names) > MOST_COLORS:
        raise ConfigError("REPORT-COLORS", f"{len(names)} columns for the colors", where=FLAG,
                          hint=f"name at most {MOST_COLORS}")
    if not names and input is not None:
        raise ConfigError("UNUSED", "the input is read again only for its columns", where="--input",
                          hint=f"name a column with {FLAG}, or leave it out")
    lacking = [name for name in names if name not in table.labels]
    found = columns_of_input(run, folder, lacking, input, FLAG) if lacking else {}
    labels = {**table.labels, **{name: column.texts for name, column in found.items()}}
    measured = frozenset(name for name, column in found.items() if column.measured)
    table = replace(table, labels=labels, measured=table.measured | measured)
    return replace(run, embedding=table, colors=tuple(names))
