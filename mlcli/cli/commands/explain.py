"""`mlcli explain`: a method on a dozen rows, step by step."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.batch.launch import built
from mlcli.cli.line import behavior
from mlcli.cli.line.completion import completer_of
from mlcli.cli.line.options import with_flags
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import print_json, require_page
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.config.build import outside_layer
from mlcli.config.explain import locate_errors
from mlcli.config.flags import FLAGS, embed_command, layer_of, require_annotated
from mlcli.config.layers import assignment
from mlcli.methods import METHODS
from mlcli.publication.publish import refuse_existing, write_whole

Method = Annotated[str, typer.Argument(metavar="METHOD", show_default=False, autocompletion=completer_of(
    lambda: list(METHODS)), help="The method, by any of its names: see mlcli methods.")]
Data = Annotated[str, typer.Argument(metavar="DATA", show_default=False,
                                     help="The file or finished run to read; - is standard input.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", show_default=False,
                                             help="The page to write [default: explain-METHOD.html].")]
OTHERS = ("method", "output", "format", "outputs", "keep", "draw_graph", "reliability", "discontinuity", "interactive",
          "time_limit", "cluster")  # flags of a run that a page has no use for


@with_flags(*(name for name in FLAGS if name not in OTHERS))
def explain(method: Method, data: Data, *, output: Output = None, assignments: behavior.Assignments = None,
            force: behavior.Force = False, quiet: behavior.Quiet = False, json: behavior.Json = False,
            progress: behavior.Progress = None, debug: behavior.Debug = False, **flags: Any) -> None:
    """Show a method on a dozen rows, step by step.

    \b
    mlcli explain isomap roll.csv
    mlcli explain pca --rows 6 --columns height,width iris.csv
    mlcli explain tsne --set method.perplexity=3 -o tsne.html data.csv
    mlcli explain mds --dissimilarities distances.csv --json

    The page has the rows, every matrix of the run on the way to the coordinates as a table with a heat map, and each
    step's formula and sentence (docs/explain.md). Of more than 12 rows a sample is drawn with the seed; --rows takes
    fewer. With --json the steps are printed with all digits, and a page is written only with -o.
    """
    require_annotated(flags, [data])
    named = assignment("input.path", data, "DATA").over(assignment("method.name", method, "METHOD"))
    given = layer_of(flags).over(named)
    layer = outside_layer(os.environ, assignments or [], given)
    config = built(layer)
    start_portably([config.compute])
    path = output or (None if json else Path(f"explain-{config.method.name}.html"))
    if path is not None:
        require_page(path, str(path))
        refuse_existing(path, None, force=force)
    if json:
        require_standard_output()

    def again(values: Mapping[str, Any]) -> str:
        chosen = dict.fromkeys(("columns", "genes")) if "input.columns" in values else {}
        return embed_command(data, {**flags, "rows": None, **chosen}, assignments or [], os.environ,
                             {"method.name": config.method.name, **values})

    with locate_errors(layer), watching(mode_of(progress), quiet, tell=not json):
        from mlcli.explain.run import explain as explained

        found = explained(layer, again)
    if path is not None:
        from mlcli.explain.page import page

        content = page(found).encode("utf-8")
        write_whole(path, lambda draft: draft.write_bytes(content), force=force)
    if json:
        print_json({**found.document(), "output": None if path is None else str(path)})
    elif not quiet and path is not None:
        rows = f" on {len(found.ids)} of {found.of:,} rows" if found.ids else ""  # of a covariance there are none
        say_written(f"wrote {path}: {len(found.steps)} steps{rows}", path)
