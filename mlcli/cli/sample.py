"""`mlcli sample`: generated data sets."""

from dataclasses import replace
from typing import Annotated

import typer

from mlcli.base.compute import Compute
from mlcli.base.threads import threads_limited
from mlcli.cli.behavior import Force
from mlcli.cli.output import format_of, refuse_existing, write_out
from mlcli.config.layers import value_of
from mlcli.data.samples import SAMPLES
from mlcli.data.samples import sample as sample_of
from mlcli.errors import UsageError

Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help=f"One of {', '.join(SAMPLES)}.")]
Rows = Annotated[str, typer.Option("--rows", metavar="N", help="Number of points.")]
Seed = Annotated[str, typer.Option("--seed", metavar="N", help="Seed; the same one gives the same points.")]
Noise = Annotated[str | None, typer.Option("--noise", metavar="SD", show_default=False,
                                             help="Standard deviation of the noise added to each coordinate.")]
Truth = Annotated[bool, typer.Option("--truth", help="Write the coordinates on the surface as well.")]
Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE",
                                     help="A .csv, .parquet or .npy file; - is CSV on standard output.")]


def sample(name: Name, rows: Rows = "1000", seed: Seed = "0", noise: Noise = None, truth: Truth = False,
           output: Output = "-", force: Force = False) -> None:
    """Write a generated data set.

    \b
    mlcli sample swiss-roll --rows 500 -o roll.csv
    mlcli sample s-curve | mlcli embed --method lle - -o -
    """
    refuse_existing(output, force)
    ids = "" if format_of(output, None) == "csv" else "id"  # a CSV's first column without a name is read as ids
    level = None if noise is None else number(noise, "--noise")
    with threads_limited(Compute().thread_count()):
        table = sample_of(name, whole(rows, "--rows"), whole(seed, "--seed"), level, truth=truth)
        write_out(replace(table, id_name=ids), output, None, force=force)


def whole(text: str, flag: str) -> int:
    """The whole number that a flag gives; raises UsageError."""
    value = value_of(text, flag)
    if type(value) is not int:
        raise UsageError("NUMBER", f"{text[:40]!r} is not a whole number", where=flag, hint="write it as 500")
    return value


def number(text: str, flag: str) -> float:
    """The number that a flag gives; raises UsageError."""
    value = value_of(text, flag)
    if type(value) not in (int, float):
        raise UsageError("NUMBER", f"{text[:40]!r} is not a number", where=flag, hint="write it as 0.1")
    return float(value)
