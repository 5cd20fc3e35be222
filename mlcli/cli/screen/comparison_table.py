"""A comparison of runs as lines of a terminal: the runs by number, then what each has, then every two of them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from mlcli.cli.screen.columns import GAP, Cells, aligned
from mlcli.cli.screen.terminal import WIDTH
from mlcli.findings.quality.section import MEASURES
from mlcli.report.drawing.text import number, shorten

LEADING = 3  # eigenvalues of each run
ANGLES = 3  # of two spans
PATH, BESIDE = 56, 24  # characters of a run's name, and of what is beside it
LEAST = 12  # columns for a run
SIZES = {"rows": "rows", "axes": "components", "seconds": "seconds"}  # words for keys of a run
RANKS = {"eigenvalue": "eigenvalues", "share of axis": "proportions"}
PAIRS = ("run", "with", "m2", "angles (degrees)", "shared", "jaccard")


def table(document: dict[str, Any], width: int = WIDTH) -> list[str]:
    """The comparison as lines of at most `width` columns, where words are not longer."""
    runs = document["runs"]
    places = [str(place) for place in range(1, len(runs) + 1)]
    numbers = {run["run"]: place for run, place in zip(runs, places, strict=True)}
    listed = [("", "run", "method"), *((place, shorten(run["run"], min(PATH, max(width - BESIDE, 8))), run["method"])
                                       for place, run in zip(places, runs, strict=True))]
    differing = [(path, *values) for path, values in document["options"].items()]
    pairs = [pair_of(pair, numbers) for pair in document["pairs"]]
    parts = [aligned(listed), below_one_another([("figure", *places), *figures(runs)], width),
             below_one_another([("option that differs", *places), *differing], width) if differing else [],
             aligned([PAIRS, *pairs]), [f"{document['rows']:,} rows in common"]]
    return [line for part in parts if part for line in (*part, "")][:-1]


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


def pair_of(pair: dict[str, Any], numbers: dict[str, str]) -> Cells:
    """Two runs compared."""
    angles, m2 = pair["principal_angles"], pair["procrustes_m2"]
    shown = " ".join(f"{angle:.2f}" for angle in angles[:ANGLES]) + (
        f" .. {angles[-1]:.2f}" if len(angles) > ANGLES else "")
    return (numbers[pair["first"]], numbers[pair["second"]], f"{m2:.4g}", shown or number(None),
            share_of(pair, "overlap"), share_of(pair, "jaccard"))


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
