"""Carrying out one run: its streams checked, its progress shown, its end told."""

from dataclasses import dataclass
from typing import Any

from mlcli.cli.failure import escaped, say
from mlcli.cli.output import standard_output
from mlcli.cli.progress import Mode, told, watching
from mlcli.config.run_config import RunConfig
from mlcli.errors import UsageError


@dataclass(frozen=True)
class Manner:
    """How a run is carried out and shown."""

    force: bool = False
    quiet: bool = False
    json: bool = False
    progress: Mode = "auto"
    strict: bool = False

    @property
    def for_people(self) -> bool:
        """Whether the end of a run is told in words."""
        return not (self.quiet or self.json or self.progress == "json")


def launch(config: RunConfig, manner: Manner) -> dict[str, Any]:
    """Runs a configuration and returns its summary."""
    from mlcli import pipeline

    check_streams(config, manner)
    with watching(manner.progress, manner.quiet):
        if config.output == "-":
            summary = pipeline.stream(config, standard_output(), strict=manner.strict)
        else:
            summary = pipeline.run(config, force=manner.force, strict=manner.strict)
    if manner.for_people:
        for line in ending(summary):
            say(line)
    return summary


def check_streams(config: RunConfig, manner: Manner) -> None:
    """Refuses what standard output cannot do; raises UsageError."""
    if config.output != "-":
        return
    if manner.json:
        raise UsageError("STDOUT", "the embedding and the JSON document cannot both go to standard output",
                         where="-o - --json", hint="give a directory with -o")
    if config.report.formats != ("csv",):
        raise UsageError("STDOUT", "standard output takes csv only", where="--format", hint="give a directory with -o")


def ending(summary: dict[str, Any]) -> list[str]:
    """The end of a run in a few lines: where it is, its eigenvalues, its warnings and notes."""
    shares = summary["proportions"] or [None] * len(summary["eigenvalues"])
    values = [f"{value:.6g}" if share is None else f"{value:.6g} ({share:.1%})"
              for value, share in zip(summary["eigenvalues"], shares, strict=True)]
    more = f", and {len(values) - 10} more" if len(values) > 10 else ""
    lines = [f"mlcli: {summary['spectrum']['ranked_by']} {', '.join(values[:10])}{more}"] if values else []
    lines += [told(item["code"], item["message"]) for item in (*summary["warnings"], *summary["notes"])]
    return lines if summary["run"] is None else [*lines, f"mlcli: wrote {escaped(summary['run'])}"]
