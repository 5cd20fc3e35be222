"""`mlcli cache`: what a stage cache holds, and why a run took results from it or did not."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.units import duration, memory
from mlcli.base.values.compute import Compute
from mlcli.cli.line import behavior
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.terminal import tell
from mlcli.engine.cache import Folder, folder_of
from mlcli.errors import UsageError

Run = Annotated[str | None, typer.Argument(metavar="[RUN]", show_default=False,
                                           help="A finished run, to see which results it took from the cache.")]
Where = Annotated[str | None, typer.Option("--folder", metavar="DIR", show_default=False,
                                           help="Folder of the cache (default: MLCLI__COMPUTE__CACHE, else "
                                               "MLCLI_CACHE).")]
Clear = Annotated[bool, typer.Option("--clear", help="Remove all results.")]


def cache(run: Run = None, *, folder: Where = None, clear: Clear = False, json: behavior.Json = False,
          debug: behavior.Debug = False) -> None:
    """Show what the cache holds, or what a run took from it.

    \b
    mlcli cache
    mlcli cache runs/data-isomap
    mlcli cache --clear
    """
    if run is not None and (clear or folder is not None):
        raise UsageError("CACHE", "a run was given together with an option for the cache itself", where="mlcli cache",
                         hint="ask for one of the two")
    document = answers(Path(run)) if run is not None else cache_content(folder, clear=clear)
    if json:
        print_json(document)
    else:
        tell((answer_lines if run is not None else content_lines)(document))


def cache_content(folder: str | None, *, clear: bool) -> dict[str, Any]:
    """Return the results in the cache by stage, after clearing it if requested; raises UsageError for no cache."""
    chosen = folder or os.environ.get("MLCLI__COMPUTE__CACHE")
    cached = Folder(Path(chosen)) if chosen else folder_of(Compute())
    if cached is None:
        raise UsageError("NO-CACHE", "no cache folder is set", where="mlcli cache",
                         hint="set MLCLI_CACHE to a folder, or give --folder")
    removed = cached.shrink(0) if clear else 0
    stages: dict[str, dict[str, int]] = {}
    for entry in cached.entries():
        counted = stages.setdefault(entry.stage, {"results": 0, "bytes": 0})
        counted["results"], counted["bytes"] = counted["results"] + 1, counted["bytes"] + entry.bytes
    return {"folder": str(cached.path), "bytes": sum(part["bytes"] for part in stages.values()),
            "removed": removed, "stages": stages}


def content_lines(document: dict[str, Any]) -> list[str]:
    """Format the results in the cache as lines of text."""
    lines = [f"{document['folder']}: {memory(document['bytes'])}"]
    if document["removed"]:
        lines.append(f"{document['removed']:,} results removed")
    return lines + [f"  {stage}: {part['results']:,} results, {memory(part['bytes'])}"
                    for stage, part in document["stages"].items()]


def answers(run: Path) -> dict[str, Any]:
    """Return the cache facts of a finished run; raises what reading one does, and UsageError where it had none."""
    from mlcli.rundir.manifest import read_manifest

    manifest = read_manifest(run)
    if "cache" not in manifest:
        raise UsageError("NO-CACHE", "this run had no cache", where=str(run)[:80],
                         hint="set MLCLI_CACHE to a folder, or run a sweep")
    return {"run": str(run), "cache": manifest["cache"], "stages": manifest["stages"]}


def answer_lines(document: dict[str, Any]) -> list[str]:
    """Format the cache facts of a run as lines of text."""
    seconds = {stage["stage"]: stage["seconds"] for stage in document["stages"]}
    return [f"{answer['stage']}: {why(answer)}"
            + (f" ({duration(seconds[answer['stage']])})" if answer["stage"] in seconds else "")
            for answer in document["cache"]]


def why(answer: dict[str, Any]) -> str:
    """Why a stage was taken from the cache or computed."""
    if answer["taken"]:
        return "taken"
    if not answer["differs"]:
        return "computed: there was no result of this stage"
    return f"computed: the nearest result differs in {', '.join(answer['differs'])}"
