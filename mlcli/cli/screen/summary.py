"""The end of a run: what was done, how good it is, how many axes, and where the page is; or its JSON document."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.frozen import frozen
from mlcli.base.units import percent
from mlcli.cli.screen.lines import BLOCKS, Line, can_show, line, link, width
from mlcli.cli.screen.output import standard_output
from mlcli.cli.screen.progress import line_of
from mlcli.cli.screen.terminal import aligned
from mlcli.errors import escaped
from mlcli.findings import FINDINGS
from mlcli.findings.frame.finished_run import columns_in_words
from mlcli.methods import METHODS
from mlcli.report.figures.scree import WHY, exceed_one, positive_shares, shares_overlap
from mlcli.rundir.json_values import json_value
from mlcli.rundir.names import REPORT

if TYPE_CHECKING:
    from mlcli.findings.quality.judgement import Judgement

MOST_RUNS = 20  # in a table
MOST = 10  # eigenvalues shown by --verbose
FEW, BEYOND = 6, 2  # bars of the short plot, and how many of them are of axes that are not kept
SHORT = 20  # characters of its longest bar
LEAST = 50  # columns of a terminal that has it
LONGEST, SHORTEST = 30, 4  # characters of the longest bar, on a wide terminal and on a narrow one
BESIDE = 48  # characters beside a bar, at most
EIGHTHS = " ▏▎▍▌▋▊▉"
Document = Mapping[str, Any]
FIRST = ("run", "exit", "error", "skipped", "left_out", "method", "input", "embedding", "components", "eigenvalues",
         "proportions")  # facts before those of findings, in their order,
LAST = ("certificate", "seconds", "warnings", "notes")  # and after them
INPUT = ("path", "kind", "rows", "columns")  # of the input
TOLD = frozenset({  # notes that are told without --verbose: what was given is left out, read in doubt, or changed
    "N-UNLABELED", "N-RUN-DROPPED", "N-ROWS-WITHOUT-VALUE", "N-ONE-ANSWER", "N-ROW-NAMES", "N-FRAMES",
    "N-FOLDERS-UNREAD", "N-NO-HEADER", "N-NAMES-RECUR", "N-NEIGHBORS", "N-PERPLEXITY", "N-SOLVER",
    "N-TOLERANCE", "N-TOP-VARIANCE", "N-GRAPH", "N-DENSITY", "N-CLUSTER-UNUSED", "N-CLUSTER-FOLDER", "N-NO-KERNELS",
    "N-UNCHECKED"})
AXES = 10  # whose eigenvalues and shares are told


def ending(summary: Document, *, verbose: bool = False) -> list[Line]:
    """Return the lines that report a finished run: what was done, how good it is, how many axes, and its page.

    Bars of the spectrum stand between them on a terminal that is wide enough, and warnings before the last. With
    `verbose` all figures, warnings and notes do.
    """
    from mlcli.findings.quality.judgement import judgement

    judged, columns = judgement(summary), width()
    judgements = ["" if judged is None else judged.sentence, advice_on_axes(summary)]
    lines = [line(headline(summary), "head")]
    lines += (scree if verbose else bars)(summary, blocks=can_show(BLOCKS), columns=columns)
    said = [text for finding in FINDINGS.values()  # without --verbose, of those that are off unless asked for
            if verbose or (finding.option is not None and not finding.default) for text in finding.lines(summary)]
    lines += [line(text) for text in dict.fromkeys([*judgements, *said]) if text]
    lines += warnings(summary, notes=verbose)
    if (run := summary["run"]) is None:
        return lines
    page = Path(run, REPORT)
    return [*lines, link("open", page) if page.is_file() else link("wrote", run)]


@frozen
class Outcome:
    """What the table of several runs says of one: how good it is, or the code of its error."""

    name: str
    seconds: float | None = None
    judged: "Judgement | None" = None
    kept: "Judgement | None" = None  # of neighbors
    error: str = ""

    @classmethod
    def of(cls, name: str, document: Document) -> "Outcome":
        """Return the outcome of a run by its document."""
        from mlcli.findings.quality.judgement import judgement, neighbors

        if "error" in document:
            return cls(name, error=document["error"]["code"])
        return cls(name, document.get("seconds"), judgement(document), neighbors(document))


def table_of_runs(outcomes: Sequence[Outcome], rest: str) -> list[Line]:
    """Return a table of several runs, the first of them if there are many, with a line that names the `rest`.

    Where their methods are judged by different measures, each cell names its own.
    """
    shown = outcomes[:MOST_RUNS]
    names = {one.judged.measure for one in shown if one.judged}
    alone = names.pop() if len(names) == 1 else ""  # the measure of all
    beside = next((one.kept.measure for one in shown if one.kept), "")
    rows = [("run", alone or "result", beside, "seconds")]
    for one in shown:
        judged, kept = one.judged, None if alone == beside else one.kept
        result = one.error if judged is None else judged.value if alone else f"{judged.measure} {judged.value}"
        rows.append((escaped(one.name), result, kept.value if kept else "",
                     "" if one.seconds is None else f"{one.seconds:.2f}"))
    filled = [column for column in zip(*rows, strict=True) if any(column[1:])]
    rows = list(zip(*filled, strict=True))
    first, *later = aligned(rows, sys.stderr)
    more = len(outcomes) - len(shown)
    return [line(first, "head"), *map(line, later), *([line(f"{more:,} more in {rest}")] if more else [])]


def advice_on_axes(summary: Document) -> str:
    """Return the line about the number of axes; empty where the rules were not asked, or none applies."""
    advice = summary.get("dimension")
    if not advice:
        return ""
    from mlcli.findings.dimension.rules import axes_line  # loaded already by the run that asked them

    return axes_line(advice, summary["components"])


def warnings(summary: Document, *, notes: bool = False, run: str = "") -> list[Line]:
    """Return the warnings of a run with the notes that are always told, or with all `notes`.

    Of several runs each line names its `run`.
    """
    said = [(line_of(item["code"], item["message"]), kind) for kind in ("warning", "note")
            for item in summary[f"{kind}s"] if notes or kind == "warning" or item["code"] in TOLD]
    return [line(f"{text}; in the run {run}" if run else text, kind) for text, kind in said]


def headline(summary: Mapping[str, Any]) -> str:
    """Method, input, sizes and time in a line."""
    given, made = summary["input"], summary["embedding"]
    name = "standard input" if given["path"] == "-" else given["path"][-80:]
    if given["kind"] == "covariance":
        return (f"{summary['method']} of {name}: the covariance of {given['columns']:,} columns to loadings on "
                f"{made['components']:,} axes in {summary['seconds']:.2f} s")
    columns = columns_in_words(given)
    size = (f"{given['rows']:,} points, {given['edges']:,} edges" if given["kind"] == "graph" else
            f"{given['rows']:,} rows x {columns}")
    if (onto := summary.get("onto")) is not None:
        size = f"{onto['old']:,} rows of {onto['run'][-80:]} + {onto['new']:,} new x {columns}"
    return (f"{summary['method']} of {name}: {size} to "
            f"{made['rows']:,} x {made['components']:,} in {summary['seconds']:.2f} s")


def bars(summary: Document, *, blocks: bool, columns: int | None) -> list[Line]:
    """Return a bar for each of the first axes with its share of the trace, on a terminal that is wide enough.

    Axes that are not kept follow those that are. Where eigenvalues are negative, shares are of the positive ones.
    Nothing where the method has no spectrum.
    """
    if columns is None or columns < LEAST or "spectrum" not in summary:
        return []
    kept = summary["components"]
    values, known = spectrum_of(summary, min(kept + BEYOND, FEW))
    spectrum = summary["spectrum"]
    if known and spectrum.get("negative_share") and (positive := spectrum.get("sum_of_positive")):
        known = [value / positive for value in values]
    name = METHODS[summary["method"]].axis
    names = [f"{name} {place}" for place in range(1, len(values) + 1)]
    lines = []
    for place, (value, drawn) in enumerate(zip(values, drawn_bars(values, blocks, SHORT), strict=True)):
        figure = f"{value:.4g}" if place >= len(known) or known[place] is None else percent(known[place])
        lines.append(Line([(f"  {names[place]:<{len(names[-1])}}  ", ""), (drawn, tone(value, place < kept)),
                           (f"  {figure:>7}{'' if place < kept else '  not kept'}", "")]))
    return lines


def spectrum_of(summary: Document, count: int) -> tuple[Sequence[float], Sequence[float]]:
    """Return the first computed eigenvalues, and their shares of the trace where these add up."""
    computed: Sequence[float] = summary["scree"]["eigenvalues"][:count]
    overlap = shares_overlap(summary["spectrum"]["ranked_by"], summary.get("fit") or {})
    return computed, [] if overlap else (summary["scree"]["proportions"] or [])[:count]


def tone(value: float, kept: bool) -> str:
    """Return the style of a bar."""
    return "negative" if value < 0 else "kept" if kept else "rest"


def scree(summary: Document, *, blocks: bool, columns: int | None = None) -> list[Line]:
    """Return a bar for each of the first eigenvalues with its share of the trace and their running sum; then bounds.

    Bars are shorter on a terminal of few `columns`. Nothing where the method has no spectrum.
    """
    if "spectrum" not in summary:
        return []
    computed, known = spectrum_of(summary, MOST)
    values = [*computed, *summary["spectrum"].get("further_at_least", ())][:MOST]
    shares: Sequence[float | None] = [*known, *[None] * len(values)][: len(values)]
    by = summary["spectrum"]["ranked_by"]
    sums = list(accumulate(share or 0.0 for share in shares))
    length = LONGEST if columns is None else min(max(columns - BESIDE, SHORTEST), LONGEST)
    lines, total, beside = list[Line](), 0.0, positive_shares(
        computed, sums, summary["spectrum"].get("sum_of_positive"), digits=1)
    drawings = drawn_bars(values, blocks, length)
    for place, (value, share, drawn) in enumerate(zip(values, shares, drawings, strict=True)):
        total += share or 0.0
        mark = "*" if place < summary["components"] else " "
        figures = "" if share is None else f"  {percent(share):>7}  {percent(total):>7}"
        figures += f"  {percent(beside[place]):>8}" if place < len(beside) else ""
        said = f"{value:.6g}" if place < len(computed) else f">= {value:.5g}"
        lines.append(Line([(f"  {place + 1:>2}{mark} ", ""), (drawn, tone(value, place < summary["components"])),
                           (f"  {said:>12}{figures}", "")]))
    plain = by.startswith("eigenvalues")
    head = f"   * kept{'eigenvalue' if plain else 'value':>{length + 11}}{'    share      sum' if known else ''}"
    head += f"{'positive':>10}" if beside else ""
    before = [] if plain else [line(f"  axes are ranked by {by}")]
    return [*before, line(head), *lines, *([line(f"  {WHY}")] if exceed_one(sums, 1) else ())] if lines else []


def drawn_bars(values: Sequence[float], blocks: bool, length: int) -> list[str]:
    """Return a bar for each value, as long as its size is beside the largest, padded to a length; of infinity none."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return [bar(abs(value) / largest if largest and math.isfinite(value) else 0.0, blocks, length).ljust(length)
            for value in values]


def bar(share: float, blocks: bool, length: int) -> str:
    """Return a bar as long as a share of the longest, to an eighth of a character where blocks can be shown."""
    eighths = round(share * length * 8)
    if not blocks:
        return "#" * round(share * length)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


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
