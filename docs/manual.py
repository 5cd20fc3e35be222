"""The manual page `mlcli.1`, from the same declarations as --help."""

import inspect
from collections.abc import Sequence
from typing import Any

import mlcli
from mlcli import errors
from mlcli.cli.group import COMMANDS, SETTINGS, command, program
from mlcli.cli.line.parsing import Command

HEAD = r""".\" made by `python docs/generate.py`; change the declarations instead
.TH MLCLI 1 "" "mlcli {version}" "User Commands"
.SH NAME
mlcli \- {name}
.SH SYNOPSIS
.B mlcli
.I COMMAND
[\fIOPTIONS\fR] [\fIARGUMENTS\fR]
.SH EXAMPLES"""
KEPT = "\b"  # begins a paragraph that is kept line by line
TAIL = r""".SH ENVIRONMENT
.TP
\fBMLCLI__\fISECTION\fB__\fIKEY\fR
Any option of a run by its config path, as MLCLI__COMPUTE__THREADS=4.
.TP
\fBMLCLI_THREADS\fR, \fBMLCLI_CACHE\fR, \fBMLCLI_RATES\fR, \fBMLCLI_PROGRESS\fR
Threads, the folder of the cache, the rates of the machine, and how progress is shown, where no option says so.
.SH SEE ALSO
The pages in docs/ of the source: config.md has all options of a run, errors.md all messages, methods/ the methods."""


def manual() -> str:
    """The whole page in the macros of man(7)."""
    root = program()
    first, *rest = paragraphs(root.help)
    examples = [part for part in rest if part.startswith(KEPT)]
    parts = [HEAD.format(version=mlcli.__version__, name=escaped(first.rstrip("."))), *map(block, examples),
             ".SH DESCRIPTION", *(block(part) for part in rest if part not in examples),
             ".SH OPTIONS", *options(root), ".SH COMMANDS",
             *(line for name in COMMANDS for line in section(name)), ".SH EXIT STATUS", *exits(), TAIL]
    return "\n".join(parts) + "\n"


def section(name: str) -> list[str]:
    """A command: what it does, examples, its arguments and options."""
    known = command(name)
    return [f".SS mlcli {name}", *map(block, paragraphs(known.help)), *options(known)]


def options(known: Any) -> list[str]:
    """The arguments and options of a command, each with what it is for; of many options under headings."""
    context = known.context_class(known, info_name=known.name, **SETTINGS)
    if not isinstance(known, Command):
        return records([record for item in known.get_params(context) if (record := item.get_help_record(context))])
    known.describe()
    parts = known.parts(context)
    many = len(parts) > 2  # more than arguments and options
    return [line for heading, rows in parts
            for line in ([".PP", rf"\fI{escaped(heading)}\fR"] * many + records(rows))]


def records(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Options, each with what it is for."""
    return [line for names, said in rows for line in (".TP", rf"\fB{escaped(names)}\fR", escaped(said))]


def exits() -> list[str]:
    """Each exit code with its meaning."""
    return [line for code, text in exits_by_code().items() for line in (".TP", str(code), escaped(text))]


def exits_by_code() -> dict[int, str]:
    """Return the meaning of each exit code."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MlcliError)]
    said = {kind.exit_code: (inspect.getdoc(kind) or "").splitlines()[0] for kind in reversed(kinds)}
    return {0: "The run is complete.", **dict(sorted(said.items()))}


def paragraphs(text: str) -> list[str]:
    """A help text in its paragraphs."""
    return [part for part in inspect.cleandoc(text).split("\n\n") if part.strip()]


def block(paragraph: str) -> str:
    r"""A paragraph; one that begins with \b is kept line by line."""
    if not paragraph.startswith(KEPT):
        return ".PP\n" + escaped(" ".join(paragraph.split()))
    return "\n".join([".PP", ".nf", *map(escaped, paragraph.lstrip("\b\n").splitlines()), ".fi"])


def escaped(text: str) -> str:
    """A text without what roff would read as its own."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return rf"\&{plain}" if plain.startswith(".") else plain
