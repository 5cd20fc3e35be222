"""The end of a run: what was run, a scree plot of bars, quality and warnings on one screen, or its JSON document."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from mlcli.base.units import percent
from mlcli.cli.screen.output import standard_output
from mlcli.cli.screen.progress import line_of, on_terminal
from mlcli.errors import escaped
from mlcli.findings import FINDINGS
from mlcli.report.figures.scree import WHY, exceed_one, positive_shares, shares_overlap
from mlcli.rundir.json_values import json_value

MOST = 10  # eigenvalues shown
LONGEST, SHORTEST = 30, 4  # characters of the longest bar, on a wide terminal and on a narrow one
BESIDE = 48  # characters beside a bar, at most
EIGHTHS = " ▏▎▍▌▋▊▉"
KEPT, REST, NEGATIVE, PLAIN = "\x1b[34m", "\x1b[90m", "\x1b[31m", "\x1b[0m"
Document = Mapping[str, Any]
FIRST = ("run", "exit", "error", "skipped", "left_out", "method", "input", "embedding", "components", "eigenvalues",
         "proportions")  # facts before those of findings, in their order,
LAST = ("certificate", "seconds", "warnings", "notes")  # and after them
INPUT = ("path", "kind", "rows", "columns")  # of the input
AXES = 10  # whose eigenvalues and shares are told


def ending(summary: Mapping[str, Any]) -> list[str]:
    """The lines that report a finished run, for the standard error that there is."""
    color = on_terminal() and "NO_COLOR" not in os.environ
    columns = None
    if sys.stderr is not None and sys.stderr.isatty():
        from mlcli.cli.screen.terminal import columns_of

        columns = columns_of(sys.stderr)
    lines = [escaped(f"mlcli: {headline(summary)}"), *scree(summary, blocks=can_show(EIGHTHS + "█"), color=color,
                                                            columns=columns)]
    said = [line for finding in FINDINGS.values() for line in finding.lines(summary) if line]
    lines += [f"mlcli: {escaped(line if can_show(line) else line.replace('±', '+-'))}" for line in said]
    lines += [line_of(item["code"], item["message"]) for item in (*summary["warnings"], *summary["notes"])]
    return lines if summary["run"] is None else [*lines, f"mlcli: wrote {escaped(summary['run'])}"]


def headline(summary: Mapping[str, Any]) -> str:
    """Method, input, sizes and time in a line."""
    given, made = summary["input"], summary["embedding"]
    name = "standard input" if given["path"] == "-" else given["path"][-80:]
    if given["kind"] == "covariance":
        return (f"{summary['method']} of {name}: the covariance of {given['columns']:,} columns to loadings on "
                f"{made['components']:,} axes in {summary['seconds']:.2f} s")
    what = "columns" if given["kind"] == "features" else "points"
    size = (f"{given['rows']:,} points, {given['edges']:,} edges" if given["kind"] == "graph" else
            f"{given['rows']:,} rows x {given['columns']:,} {what}")
    return (f"{summary['method']} of {name}: {size} to "
            f"{made['rows']:,} x {made['components']:,} in {summary['seconds']:.2f} s")


def scree(summary: Mapping[str, Any], *, blocks: bool, color: bool, columns: int | None = None) -> list[str]:
    """A bar for each of the first eigenvalues with its share of the trace and their running sum; then lower bounds.

    Bars are shorter on a terminal of few `columns`. Nothing where the method has no spectrum.
    """
    if "spectrum" not in summary:
        return []
    computed: Sequence[float] = summary["scree"]["eigenvalues"][:MOST]
    values = [*computed, *summary["spectrum"].get("further_at_least", ())][:MOST]
    unknown = [None] * len(values)
    by, stated = summary["spectrum"]["ranked_by"], summary["scree"]["proportions"] or []
    known = [] if shares_overlap(by, summary.get("fit") or {}) else stated
    shares: Sequence[float | None] = [*known, *unknown][: len(values)]
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    sums = list(accumulate(share or 0.0 for share in shares))
    length = LONGEST if columns is None else min(max(columns - BESIDE, SHORTEST), LONGEST)
    lines, total, beside = [], 0.0, positive_shares(
        computed, sums, summary["spectrum"].get("sum_of_positive"), digits=1)
    for place, (value, share) in enumerate(zip(values, shares, strict=True)):
        total += share or 0.0
        drawn = bar(abs(value) / largest if largest and math.isfinite(value) else 0.0, blocks, length).ljust(length)
        tone = NEGATIVE if value < 0 else KEPT if place < summary["components"] else REST
        mark = "*" if place < summary["components"] else " "
        figures = "" if share is None else f"  {percent(share):>7}  {percent(total):>7}"
        figures += f"  {percent(beside[place]):>8}" if place < len(beside) else ""
        said = f"{value:.6g}" if place < len(computed) else f">= {value:.5g}"
        lines.append(f"  {place + 1:>2}{mark} {tone + drawn + PLAIN if color else drawn}  {said:>12}{figures}")
    plain = by.startswith("eigenvalues")
    head = f"   * kept{'eigenvalue' if plain else 'value':>{length + 11}}{'    share      sum' if known else ''}"
    return [*([] if plain else [f"  axes are ranked by {by}"]), head + (f"{'positive':>10}" if beside else ""), *lines,
            *([f"  {WHY}"] if exceed_one(sums, 1) else ())] if lines else []


def bar(share: float, blocks: bool, length: int) -> str:
    """A bar as long as a share of the longest, to an eighth of a character where blocks can be shown."""
    eighths = round(share * length * 8)
    if not blocks:
        return "#" * round(share * length)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def can_show(text: str) -> bool:
    """Whether the encoding of standard error has these characters."""
    try:
        text.encode(getattr(sys.stderr, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def leading_facts(document: Document) -> dict[str, Any]:
    """Return the leading facts of a run under the keys of the whole document, with the first axes only."""
    found = {name: keys for name, finding in FINDINGS.items() if (keys := finding.headline())}
    short = {name: document[name] for name in (*FIRST, *found, *LAST) if name in document}
    for name, inner in {"input": INPUT, **found}.items():
        if short.get(name):
            short[name] = {key: short[name][key] for key in inner if key in short[name]}
    for name in ("eigenvalues", "proportions"):
        if short.get(name):
            short[name] = short[name][:AXES]
    return short


def print_headlines(documents: Sequence[Document], *, alone: bool) -> None:
    """The headline of one run, a line for each fact; or of several, a line for each run."""
    short = [leading_facts(json_value(document)) for document in documents]
    if alone:
        text = "{\n" + ",\n".join(f"  {one_line(name)}: {one_line(value)}" for name, value in short[0].items()) + "\n}"
    else:
        text = '{"runs": [\n' + ",\n".join(f"  {one_line(document)}" for document in short) + "\n]}"
    standard_output().write(f"{text}\n".encode())


def one_line(value: Any) -> str:
    """A value on one line of JSON."""
    return json.dumps(value, allow_nan=False)
