"""`mlcli check`: the input doctor."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json, require_page
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.terminal import tell
from mlcli.config.build import build, outside_layer
from mlcli.config.explain import locate_errors
from mlcli.config.flags import READING, layer_of, require_annotated
from mlcli.config.layers import assignment
from mlcli.engine.cluster.address import note_here
from mlcli.errors import DataError
from mlcli.publication.publish import refuse_existing, write_whole
from mlcli.rundir.journal import recording

Data = Annotated[str, typer.Argument(metavar="DATA", show_default=False,
                                     help="The file or finished run to read; - is standard input.")]
GRAPH = "isomap"  # the method whose neighbors are examined
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", show_default=False,
                                             help="Also write a page, an .html file, with figures.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with code 65 if there is any finding.")]


@with_flags(*READING, "neighbors", "radius", "seed", "threads", "memory_limit")
def check(data: Data, *, output: Output = None, strict: Strict = False, assignments: behavior.Assignments = None,
          force: behavior.Force = False, quiet: behavior.Quiet = False, json: behavior.Json = False,
          progress: behavior.Progress = None, debug: behavior.Debug = False, **flags: Any) -> None:
    """Examine a data set before a run.

    \b
    mlcli check data.csv
    mlcli check --dissimilarities distances.csv
    mlcli check --graph edges.csv
    mlcli check --label-column species iris.csv -o iris.html
    mlcli check --strict --json data.csv > checkup.json

    Dissimilarities: the four axioms of a metric, whether they are Euclidean, corrections. Features: missing, constant
    and repeated rows and columns, scales, distance concentration, and how distances and the separation of labels depend
    on the number of columns. Both: intrinsic dimension, hubs, the neighbor graph and its pieces. Graphs: pieces, edges
    per point, edges longer than a path. With --quiet only the findings are shown.
    """
    require_annotated(flags, [data])
    given = layer_of(flags).over(assignment("input.path", data, "DATA")).over(assignment("method.name", GRAPH, ""))
    layer = outside_layer(os.environ, assignments or [], given)
    config = build(layer)
    start_portably([config.compute])
    if output is not None:
        require_page(output, str(output))
        refuse_existing(output, None, force=force)
    with locate_errors(layer), watching(mode_of(progress), quiet, tell=not json), recording() as journal:
        from mlcli.checkup.examine import check as examined

        note_here(config.compute.cluster)
        report = examined(config)
    if output is not None:
        from mlcli.checkup.page import page

        content = page(report).encode("utf-8")
        write_whole(output, lambda draft: draft.write_bytes(content), force=force)
    if json:
        print_json({**report.document(), "notes": [*journal.noted("W-"), *journal.noted("N-")]})
    else:
        from mlcli.checkup.lines import finding_lines, lines_of

        tell(finding_lines(report) if quiet else lines_of(report))
    if output is not None and not quiet and not json:
        say_written(f"wrote {output}", output)
    if strict and report.findings:
        codes = ", ".join(dict.fromkeys(finding.code for finding in report.findings))
        raise DataError("FINDINGS", f"the checkup has findings: {codes}", where=data,
                        hint="follow the advice of each, or leave --strict out")
