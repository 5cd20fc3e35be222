"""`mlcli sample`: generated data sets."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from mlcli.base.machine.threads import limit_threads
from mlcli.base.values.compute import Compute
from mlcli.cli.line.behavior import Force, Quiet
from mlcli.cli.line.completion import completer_of
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import format_of, refuse_existing, require_own_file, standard_output, write_out
from mlcli.config.layers import value_of
from mlcli.data.options.formats import ANNDATA
from mlcli.data.samples import NAMES, TABLES, names_with_columns, sample_parts
from mlcli.data.samples import sample as sample_of
from mlcli.errors import UsageError
from mlcli.publication import publish

if TYPE_CHECKING:
    from mlcli.data.table.table import Table

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, autocompletion=completer_of(lambda: NAMES),
                                     help=f"One of {', '.join(NAMES)}.")]
Rows = Annotated[str | None, typer.Option("--rows", metavar="N", show_default=False, help=(
    "Number of rows [default: 1000; " + "; ".join(f"of {name} {table.rows}" for name, table in TABLES.items()) + "]."))]
Columns = Annotated[str | None, typer.Option("--columns", metavar="N", show_default=False, help=(
    f"Number of columns, of {', '.join(names_with_columns())} [default: 3; "
    + "; ".join(f"of {name} {table.columns}" for name, table in TABLES.items()) + "]."))]
Seed = Annotated[str, typer.Option("--seed", metavar="N", help="Seed of the random numbers.")]
Noise = Annotated[str | None, typer.Option("--noise", metavar="SD", show_default=False,
                                             help="Standard deviation of the noise added to each coordinate.")]
Truth = Annotated[bool, typer.Option("--truth", help=(
    "Also write the ground truth of each row (its position on the surface, its radius, or its type and batch) as "
    "columns for --label-column of mlcli embed."))]
Labels = Annotated[str | None, typer.Option("--labels", metavar="FILE", show_default=False, help=(
    "Write the ground truth to this second file instead, for --labels of mlcli embed."))]
Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE",
                                     help="A .csv, .parquet or .npy file, of cells also .h5ad, with their counts in "
                                     "a layer and logarithms in X; - is CSV on standard output.")]


def sample(name: Name, rows: Rows = None, columns: Columns = None, seed: Seed = "0", noise: Noise = None,
           truth: Truth = False, labels: Labels = None, output: Output = "-", force: Force = False,
           quiet: Quiet = False) -> None:
    """Write a generated data set.

    \b
    mlcli sample swiss-roll --rows 500 -o roll.csv
    mlcli sample s-curve | mlcli embed --method lle - -o -
    mlcli sample ball --columns 10 -o ball.csv
    mlcli sample cells --labels cells.csv -o counts.parquet
    mlcli sample cells --truth -o cells.h5ad
    """
    annotated = Path(output).suffix.lower() == ANNDATA
    if labels is not None:
        refuse_labels(labels, output, truth)
        refuse_existing(labels, force)
    elif truth and not annotated and format_of(output, None) == "npy":
        raise UsageError("FORMAT", "an NPY file has no labels", where="--truth",
                         hint="write them to a second file with --labels, or choose .csv or .parquet")
    refuse_existing(output, force)
    if annotated and name != "cells":
        raise UsageError("FORMAT", f"{name} cannot be written as .h5ad; only cells can", where=output[:80],
                         hint="write .csv, .parquet or .npy")
    sizes = [None if text is None else whole(text, flag) for text, flag in ((rows, "--rows"), (columns, "--columns"))]
    level = None if noise is None else number(noise, "--noise")
    chosen: dict[str, Any] = {"rows": sizes[0], "seed": whole(seed, "--seed"), "noise": level, "columns": sizes[1],
                              "truth": truth or labels is not None}
    told: list[Table] = []
    with limit_threads(Compute().thread_count()):
        if annotated:
            from mlcli.data.write.h5ad import write_annotated_counts

            (table,) = without_labels(iter([sample_of(name, **chosen)]), None if labels is None else told)
            publish.write_whole(Path(output), lambda draft: write_annotated_counts(table, draft), force=force)
        else:
            write_sample(without_labels(sample_parts(name, **chosen), None if labels is None else told), output,
                         force=force)
        if labels is not None:
            from mlcli.data.write.table import joined

            write_out(replace(joined(told), id_name="id"), labels, None, force=force)
    for path in () if quiet else (labels, output):
        if path not in (None, "-"):
            say_written(f"wrote {path}", path)


def without_labels(parts: "Iterator[Table]", told: "list[Table] | None") -> "Iterator[Table]":
    """Yield parts of a table without their labels, which are added to `told` as tables of their own; None keeps them.
    """
    for part in parts:
        if told is not None:
            told.append(replace(part, values=np.empty((part.rows, 0)), columns=()))
        yield part if told is None else replace(part, labels={})


def write_sample(parts: "Iterator[Table]", output: str, *, force: bool) -> None:
    """Write a table that comes in parts to standard output as CSV (`-`), or to a file, whole or not at all."""
    from mlcli.data.write.table import write_parts, writing_to

    chosen = format_of(output, None)
    ids = "" if chosen == "csv" else "id"  # a CSV's first column without a name is read as ids
    named = (replace(part, id_name=ids) for part in parts)

    def write(draft: Path) -> None:
        with writing_to(draft) as stream:
            write_parts(named, stream, chosen)

    if output == "-":
        write_parts(named, standard_output(), chosen)
    else:
        publish.write_whole(Path(output), write, force=force)


def refuse_labels(labels: str, output: str, truth: bool) -> None:
    """Refuse labels that would be written twice, over the points, or in a format that has none; raises UsageError."""
    if truth:
        raise UsageError("SAMPLE-LABELS", "--truth and --labels both write the labels", where="--labels",
                         hint="leave --truth out")
    require_own_file("--labels", labels, {"-o": output})
    if format_of(labels, None) == "npy":
        raise UsageError("FORMAT", "an NPY file has no labels", where="--labels",
                         hint="the endings are .csv and .parquet")


def whole(text: str, flag: str) -> int:
    """The whole number that a flag gives; raises UsageError."""
    value = value_of(text, flag)
    if type(value) is not int:
        raise UsageError("NUMBER", f"{text[:40]!r} is not a whole number", where=flag,
                         hint="write a whole number such as 500")
    return value


def number(text: str, flag: str) -> float:
    """The number that a flag gives; raises UsageError."""
    value = value_of(text, flag)
    if type(value) not in (int, float):
        raise UsageError("NUMBER", f"{text[:40]!r} is not a number", where=flag, hint="write a number such as 0.1")
    return float(value)
