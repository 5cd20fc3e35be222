"""`mlcli compare`: finished runs side by side."""

import sys
from collections.abc import Sequence
from itertools import accumulate, combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mlcli.cli.line import behavior
from mlcli.cli.line.parsing import first_given
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json, refuse_existing, require_page
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.cli.screen.terminal import GAP, WIDTH, Cells, aligned, columns_of, tell
from mlcli.errors import UsageError
from mlcli.findings.quality.section import MEASURES
from mlcli.publication.publish import write_whole
from mlcli.report.drawing.text import number, shorten

LEADING = 3  # eigenvalues of each run
ANGLES = 3  # of two spans
PATH, BESIDE = 56, 24  # characters of a run's name, and of what is beside it
LEAST = 12  # columns for a run
SIZES = {"rows": "rows", "axes": "components", "seconds": "seconds"}  # words for keys of a run
RANKS = {"eigenvalue": "eigenvalues", "share of axis": "proportions"}
PAIRS = ("run", "with", "m2", "angles (degrees)", "shared", "jaccard")
KERNELS = ("run", "with", "alignment of kernels", "difference")
P_VALUE = "p of m2"
MOST_PERMUTATIONS = 10**6
SPANS = ("run", "with", "axes of one eigenvalue", "angles (degrees)")
Runs = Annotated[list[str], typer.Argument(metavar="RUN RUN...", show_default=False,
                                           help="Directories of finished runs of the same rows.")]
Output = Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", show_default=False, help=(
    "HTML page to write, with the embeddings side by side; with --kernels also a .svg file, of their figure alone."))]
SVG = ".svg"
Neighbors = Annotated[int, typer.Option("-k", "--neighbors", min=1, help="Size of the neighborhoods compared.")]
ColorBy = Annotated[list[str] | None, typer.Option("--color-by", "--label-column", metavar="NAMES",
                                                   show_default=False, help=(
    "Columns for the colors of the page, with commas between or repeated, plots for each: label columns of the first "
    "run, or any column of its input, which is read again (default: its first label column)."))]
Given = Annotated[str | None, typer.Option("--input", metavar="FILE", show_default=False,
                                           help="The first run's input, if it was moved.")]
Orientation = Annotated[Literal["aligned", "own"], typer.Option("--orientation", help=(
    "Embeddings on the page: aligned with the first by a Procrustes rotation, or each in its own orientation."))]
WithKernels = Annotated[bool, typer.Option("--kernels", help=(
    "Fit each run again to its input, and compare the kernels: on the page each as a heat map, over its spectrum, its "
    "map and its formulas."))]
Orders = Annotated[int, typer.Option("--permutations", metavar="COUNT", min=0, max=MOST_PERMUTATIONS, help=(
    "Number of permutations that m2 is tested by, as vegan's protest does (0: no test)."))]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the permutations, and of the random sample of rows "
                                   "that is compared, if there are many.")]


def compare(runs: Runs, *, output: Output = None, neighbors: Neighbors = 12, color_by: ColorBy = None,
            labels: behavior.Labels = None, given: Given = None, orientation: Orientation = "aligned",
            kernels: WithKernels = False, permutations: Orders = 0, seed: Seed = 0, force: behavior.Force = False,
            quiet: behavior.Quiet = False, json: behavior.Json = False, progress: behavior.Progress = None,
            debug: behavior.Debug = False) -> None:
    """Compare finished runs: shapes, spans, neighbors, spectra.

    \b
    mlcli compare runs/faces-pca runs/faces-isomap
    mlcli compare runs/k-* -o side-by-side.html --color-by pose,light
    mlcli compare runs/cells-umap runs/cells-pca -o page.html --orientation own
    mlcli compare --kernels runs/roll-pca runs/roll-lle -o kernels.html
    mlcli compare runs/sites-nmds runs/sites-pcoa --permutations 999

    Rows are matched by id. m2 is the symmetric Procrustes statistic of the centered and scaled embeddings (0: the same
    shape), as in scipy.spatial.procrustes and vegan's protest; angles are the principal angles between their spans, in
    degrees; shared is the mean share of nearest neighbors in common. Of axes that share an eigenvalue, the spans are
    compared.
    """
    from mlcli.runs import compare as comparing

    if len(runs) < 2:
        raise UsageError("ONE-RUN", "only one run was given, and a comparison needs two", where=runs[0][:80],
                         hint="name two runs or more")
    require_standard_output()
    drawing = output is not None and Path(output).suffix.lower() == SVG
    if output is not None:
        if drawing and not kernels:
            raise UsageError("NO-PAGE", "a comparison is a page, not a drawing", where=output[:80],
                             hint="give a name that ends with .html, or --kernels, whose figure may be a file")
        require_page(output, output, (SVG,) if kernels else ())
        refuse_existing(output, force)
    elif (flag := first_given({"--color-by": color_by, "--labels": labels, "--input": None if kernels else given,
                               "--orientation": orientation != "aligned"})) is not None:
        raise UsageError("NO-PAGE", f"{flag} needs a page", where=flag, hint="give -o FILE")
    options = comparing.PageOptions(tuple(color_by or ()), labels, given if color_by or not kernels else None,
                                    orientation == "own")
    with watching(mode_of(progress), quiet, tell=not json):
        comparison = comparing.compare(runs, neighbors=neighbors, seed=seed, options=options, permutations=permutations)
        document, found = comparison.document(), None
        if kernels:
            from mlcli.explain.kernels import compare_kernels

            found = compare_kernels(runs, comparison, given, seed)
            document["kernels"] = found.document()
    if output is not None:
        from mlcli.pipeline.read_run import encoded
        from mlcli.report.comparison.page import page

        content = encoded(page(comparison, seed=seed) if found is None else
                          found.written(seed=seed, drawing=drawing))
        write_whole(Path(output), lambda draft: draft.write_bytes(content), force=force)
    if json:
        print_json(document)
    elif not quiet:
        tell(lines_of(document, columns_of(sys.stdout) or WIDTH))
    if output is not None and not (quiet or json):
        say_written(f"wrote {output}", output)


def lines_of(document: dict[str, Any], width: int = WIDTH) -> list[str]:
    """The comparison as lines of at most `width` columns, where words are not longer."""
    runs = document["runs"]
    places = [str(place) for place in range(1, len(runs) + 1)]
    every = list(combinations(places, 2))  # two runs may have one name
    listed = [("", "run", "method"), *((place, shorten(run["run"], min(PATH, max(width - BESIDE, 8))), run["method"])
                                       for place, run in zip(places, runs, strict=True))]
    differing = [(path, *values) for path, values in document["options"].items()]
    pairs = [pair_of(pair, numbers) for pair, numbers in zip(document["pairs"], every, strict=True)]
    tested = any("procrustes_p" in pair for pair in document["pairs"])
    spans = [span for pair, numbers in zip(document["pairs"], every, strict=True) for span in spans_of(pair, numbers)]
    parts = [aligned(listed), below_one_another([("figure", *places), *figures(runs)], width),
             below_one_another([("option that differs", *places), *differing], width) if differing else [],
             aligned([PAIRS if not tested else (*PAIRS[:3], P_VALUE, *PAIRS[3:]), *pairs]),
             aligned([SPANS, *spans]) if spans else [], kernel_lines(document, every),
             [f"{document['rows']:,} rows in common"]]
    return [line for part in parts if part for line in (*part, "")][:-1]


def kernel_lines(document: dict[str, Any], every: Sequence[tuple[str, str]]) -> list[str]:
    """How alike the kernels of every two runs are, by their numbers; nothing where they were not compared."""
    found = document.get("kernels")
    if found is None:
        return []
    rows = [(*numbers, brief(pair["alignment"]), brief(pair["difference"]))
            for pair, numbers in zip(found["pairs"], every, strict=True)]
    return aligned([KERNELS, *rows])


def figures(runs: Sequence[dict[str, Any]]) -> list[Cells]:
    """Return a row for each figure of the runs: sizes, seconds, quality, leading eigenvalues and their shares."""
    most = min(max(len(run["eigenvalues"]) for run in runs), LEADING)
    ranks = [(word, name, place) for word, name in RANKS.items() for place in range(most)]
    return [*((word, *(brief(run[name]) for run in runs)) for word, name in SIZES.items()),
            *((word, *(brief(run["quality"].get(key)) for run in runs)) for key, (word, _) in MEASURES.items()
              if any(key in run["quality"] for run in runs)),
            *((f"{word} {place + 1}", *(brief(dict(enumerate(run[name])).get(place)) for run in runs))
              for word, name, place in ranks)]


def brief(value: float | None) -> str:
    """A figure in few characters."""
    return number(value) if value is None or isinstance(value, int) else f"{value:.4g}"


def pair_of(pair: dict[str, Any], numbers: tuple[str, str]) -> Cells:
    """Two runs compared."""
    tested = (f"{pair['procrustes_p']:.4g}",) if "procrustes_p" in pair else ()
    return (*numbers, f"{pair['procrustes_m2']:.4g}", *tested,
            angles_of(pair["principal_angles"]), share_of(pair, "overlap"), share_of(pair, "jaccard"))


def spans_of(pair: dict[str, Any], numbers: tuple[str, str]) -> list[Cells]:
    """Two runs compared by the spaces of axes that share an eigenvalue."""
    return [(*numbers, f"{span['first']} to {span['last']}",
             angles_of(span["principal_angles"]))
            for span in pair.get("axes", ())
            if span["last"] > span["first"] or not span["principal_angles"]]


def angles_of(angles: Sequence[float]) -> str:
    """Principal angles in degrees, the first and the last of many."""
    shown = " ".join(f"{angle:.2f}" for angle in angles[:ANGLES]) + (
        f" .. {angles[-1]:.2f}" if len(angles) > ANGLES else "")
    return shown or number(None)


def share_of(pair: dict[str, Any], name: str) -> str:
    """A share with its standard error, where there is one."""
    if name not in pair:
        return number(None)
    error = pair[f"{name}_se"]
    return f"{pair[name]:.4f}" if error is None else f"{pair[name]:.3f} +- {error:.1g}"


def below_one_another(rows: Sequence[Cells], width: int) -> list[str]:
    """Rows of a name and a cell for each run, as tables below one another of as many runs as fit."""
    names, *left = zip(*rows, strict=True)
    room = max(width - max(map(len, names)), LEAST)
    left = [tuple(shorten(cell, room - GAP) for cell in column) for column in left]
    lines = list[str]()
    while left:
        widths = accumulate(max(map(len, column)) + GAP for column in left)
        count = max(sum(end <= room for end in widths), 1)
        lines += [*([""] if lines else []), *aligned(list(zip(names, *left[:count], strict=True)))]
        left = left[count:]
    return lines
