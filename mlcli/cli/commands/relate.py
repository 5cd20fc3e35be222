"""`mlcli relate`: a finished run and other variables of its rows."""

from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mlcli.base.context import set_context
from mlcli.base.values.column_ranges import split_at_commas
from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.cli.screen.terminal import aligned, tell
from mlcli.config.explain import locate_errors
from mlcli.config.flags import layer_of
from mlcli.errors import UsageError

PAIRS = 15  # of groups that the terminal lists: those of six groups
DIGITS = 9  # most of a number that is given
DRAWN = ("title", "figures", "point_labels", "outlines", "level", "size", "font_size", "marker_size", "palette",
         "color_scale", "aspect")
With = Annotated[str, typer.Option("--with", metavar="FILE", show_default=False, help=(
    "A table with variables of the same rows: numbers, and texts that are levels of factors."))]
Output = Annotated[str | None, typer.Option("-o", "--output", metavar="DIR", show_default=False,
                                            help="Directory to write [default: RUN-relate].")]
IdColumn = Annotated[str | None, typer.Option("--id-column", metavar="NAME", show_default=False, help=(
    "The column of FILE with the ids of the run's rows (default: the one that holds them)."))]
Columns = Annotated[str | None, typer.Option("--columns", metavar="NAMES", show_default=False,
                                             help="Variables to use, with commas between (default: all).")]
Factors = Annotated[str | None, typer.Option("--factors", metavar="NAMES", show_default=False, help=(
    "Columns of numbers that are names of levels, with commas between."))]
Axes = Annotated[str | None, typer.Option("--axes", metavar="NUMBERS", show_default=False, help=(
    "Axes of the ordination, as in 1,2 (default: all that the run kept)."))]
Formula = Annotated[str | None, typer.Option("--formula", metavar="TERMS", show_default=False, help=(
    "Partition the dissimilarities by these variables (PERMANOVA), as in 'A1 + Management' or 'Management*Use'."))]
Of = Annotated[Literal["terms", "margin", "none"], typer.Option("--by", help=(
    "What PERMANOVA tests: the whole model (none), terms in their order, or each term after all others (margin)."))]
Groups = Annotated[str | None, typer.Option("--dispersion", metavar="FACTOR", show_default=False, help=(
    "Compare the dispersion of the groups of this factor."))]
Center = Annotated[Literal["median", "centroid"], typer.Option("--center", help=(
    "Dispersion is the distance to the spatial median of a group, or to its centroid."))]
Strata = Annotated[str | None, typer.Option("--strata", metavar="FACTOR", show_default=False,
                                            help="Permute rows only within the levels of this factor.")]
Species = Annotated[Literal["auto", "wa", "expanded", "correlations", "none"], typer.Option("--species", help=(
    "Scores of the columns of the run's input: weighted averages (wa), these spread as the sites are (expanded), "
    "correlations with the axes; auto: wa where the run is an ordination of amounts."))]
Orders = Annotated[str, typer.Option("--permutations", metavar="COUNT|FILE", help=(
    "Number of permutations, or a file of them: a row for each, with the numbers of the rows, as R's shuffleSet."))]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the permutations.")]


@with_flags(*DRAWN)
def relate(run: behavior.Run, *, environment: With, output: Output = None, id_column: IdColumn = None,
           columns: Columns = None, factors: Factors = None, axes: Axes = None, formula: Formula = None,
           by: Of = "none", dispersion: Groups = None, center: Center = "median", strata: Strata = None,
           species: Species = "auto", permutations: Orders = "999", seed: Seed = 0, given: behavior.Input = None,
           network: behavior.Network = False, force: behavior.Force = False, quiet: behavior.Quiet = False,
           json: behavior.Json = False, progress: behavior.Progress = None, debug: behavior.Debug = False,
           **flags: Any) -> None:
    """Relate a finished run to other variables of its rows.

    \b
    mlcli relate runs/dune --with env.csv
    mlcli relate runs/dune --with env.csv --axes 1,2 --permutations 9999
    mlcli relate runs/dune --with env.csv --formula "A1 + Use" --by margin
    mlcli relate runs/dune --with env.csv --dispersion Use --strata Block

    Each variable is fitted to the axes: numbers as vectors, factors as the means of their levels, with r² and a
    permutation test. Columns of the run's input have species scores. The page, the tables and the figure go into one
    directory (docs/relate.md). Rows are matched by id; a row without a value is left out of the test of that variable.
    """
    from mlcli.runs.relate import PAGE, RelationRequest, relate, require_output, write_relation

    if permutations.startswith("-") or (permutations.isdecimal() and len(permutations) > DIGITS):
        raise UsageError("PERMUTATIONS", f"{permutations[:40]!r} is no number of permutations", where="--permutations",
                         hint=f"give a number from 0 to {10**DIGITS - 1:,}, or a file")
    folder = Path(output or f"{run.rstrip('/')}-relate")
    require_output(folder, force=force)
    require_standard_output()
    asked = RelationRequest(environment, id_column=id_column, columns=names_in(columns), factors=names_in(factors),
                            axes=numbers_in(axes), formula=formula, by=by, groups=dispersion, center=center,
                            strata=strata, species=species, permutations=permutations, seed=seed, input=given)
    layer = layer_of(flags)
    with watching(mode_of(progress), quiet, tell=not json), locate_errors(layer), set_context(network=network):
        found, contents = relate(Path(run), asked, layer)
        write_relation(found, contents, folder, force=force)
    if json:
        print_json({**found.document(), "output": str(folder)})
        return
    if not quiet:
        tell(lines_of(found.document()))
        say_written(f"wrote {folder / PAGE}, its tables and its figure", folder / PAGE)


def names_in(text: str | None) -> tuple[str, ...]:
    """Return names with commas between."""
    return () if text is None else tuple(filter(None, split_at_commas(text)))


def numbers_in(text: str | None) -> tuple[int, ...]:
    """Return numbers with commas between, each once; raises UsageError."""
    if text is None:
        return ()
    parts = text.split(",")
    numbers = all(part.strip().isdecimal() and len(part.strip()) <= DIGITS for part in parts)
    if not numbers or len(set(map(int, parts))) < len(parts):
        raise UsageError("AXES", f"{text[:40]!r} are not different numbers of axes", where="--axes",
                         hint="give them as in 1,2")
    return tuple(map(int, parts))


def lines_of(document: dict[str, Any]) -> list[str]:
    """Format a relation as lines of text."""
    lines = []
    fits = [(name, f"{one['r2']:.4f}", f"{one['p_value']:.4g}")
            for part in ("vectors", "factors") for name, one in document[part].items()]
    if fits:
        lines += aligned([("variable", "r2", "p"), *fits])
    if document["permanova"]:
        cells = [(row["term"], str(row["df"]), f"{row['sum_of_squares']:.5g}", f"{row['r2']:.4f}",
                  *("" if row[key] is None else f"{row[key]:.4g}" for key in ("F", "p_value")))
                 for row in document["permanova"]["terms"]]
        lines += ["", *aligned([("PERMANOVA", "df", "SS", "R2", "F", "p"), *cells])]
    if document["dispersion"]:
        test = document["dispersion"]
        means = [(level, str(test["group_rows"][level]), f"{mean:.5g}")
                 for level, mean in test["mean_distances"].items()]
        lines += ["", *aligned([("dispersion", "rows", f"mean distance to the {test['center']}"), *means]),
                  f"F({', '.join(map(str, test['df']))}) = {test['F']:.4g}, p = {test['p_value']:.4g}"]
        pairs = [(f"{pair['first']} - {pair['second']}", *("" if isnan(pair[key]) else f"{pair[key]:.4g}" for key in (
            "t", "p_value"))) for pair in test["pairs"]]
        lines += ["", *aligned([("dispersions of two", "t", "p"), *pairs[:PAIRS]])]
        if len(pairs) > PAIRS:
            lines.append(f"and {len(pairs) - PAIRS:,} more pairs in dispersion_pairs.csv")
    if lines:
        orders = "of a file" if document["seed"] is None else f"seed {document['seed']}"
        within = f" within {document['strata']}" if document["strata"] else ""
        lines.append(f"p from {document['permutations']:,} permutations{within} ({orders})")
    return lines
