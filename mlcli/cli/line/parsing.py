"""How a command line is read: an option once unless it is repeatable, and `--json` with or without a word; and how
messages spell options.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from typer.core import TyperCommand

from mlcli.base.context import set_context
from mlcli.config.headings import HEADINGS
from mlcli.errors import MlcliError, Spelling, UsageError, spell

SET = "--set"
PLAIN = re.compile(r"[\w./:@%+=-]+(,[\w./:@%+=-]+)*")  # what no shell and no YAML takes for something else
GIVEN = "mlcli.given"  # in a context: the options and arguments whose values are being read
PLACES = frozenset({"FILE", "DIR", "RUN", "CONFIG", "EMBEDDING", "NEW"})  # metavariables of files and folders
MANY, OTHERS = 20, "Options"  # options of a command that has headings, and what the heading is without
JSON, WORDS = "--json", ("headline", "full")  # what may follow it, where it takes a word; alone it is the first


class LazyParsing:
    """A part of commands: the values of options that are given are read, and the others have their defaults.

    Typer would build a validator for each of sixty options, and have it check the default.
    """

    params: list[Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments; raises UsageError for an option that is given twice and would be read once."""
        read: Callable[..., list[str]] = super().parse_args  # type: ignore[misc]
        if ctx.resilient_parsing:
            return read(ctx, args)
        every = self.get_params(ctx)
        given = self.make_parser(ctx).parse_args(args=list(args))[2]  # type: ignore[attr-defined]
        require_once(given)
        if any({*option.opts} & {*ctx.help_option_names} for option in given):  # which shows every option
            return read(ctx, args)
        ctx.meta[GIVEN] = [option for option in every if option in given or option.required]
        try:
            rest = read(ctx, args)
        finally:
            del ctx.meta[GIVEN]
        for option in given:
            require_place(option, ctx.params.get(option.name))
        ctx.params |= {option.name: option.get_default(ctx) for option in every
                       if option.expose_value and option.name not in ctx.params}
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments; while values are read, those that have one."""
        found: list[Any] = ctx.meta[GIVEN] if GIVEN in ctx.meta else super().get_params(ctx)  # type: ignore[misc]
        return found


class Command(LazyParsing, TyperCommand):
    """A command that refuses repeated options, and names options in errors as its own flags."""

    def invoke(self, ctx: Any) -> Any:
        """Carry the command out, with its own options in all messages."""
        given = frozenset(option.opts[-1] for option in self.params if ctx.params.get(option.name) not in (None, False))
        spelling = spelling_of(frozenset(name for option in self.params for name in option.opts), given)
        with set_context(spelling=spelling):
            try:
                return super().invoke(ctx)
            except MlcliError as error:
                raise error.spelled(spelling) from None

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of all options, of many under headings."""
        self.describe()
        for heading, rows in self.parts(ctx):
            with formatter.section(heading):
                formatter.write_dl(rows)

    def parts(self, ctx: Any) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the arguments and options with their help: of many options by the headings that they declare."""
        every = [(item, record) for item in self.get_params(ctx) if (record := item.get_help_record(ctx)) is not None]
        options = [(item, record) for item, record in every if item.param_type_name == "option"]
        arguments = [("Arguments", [record for item, record in every if item.param_type_name == "argument"])]
        headings = (*HEADINGS, OTHERS) if len(options) > MANY else (OTHERS,)
        parts = [(heading, [record for item, record in options if heading == (
            item.rich_help_panel if item.rich_help_panel in headings else OTHERS)]) for heading in headings]
        return [(heading, rows) for heading, rows in (*arguments, *parts) if rows]

    def describe(self) -> None:
        """Set the help of the flags that stand for config paths, which parsing does not need."""
        from mlcli.cli.line.options import describe

        describe(self.params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the arguments, `--json` with or without a word; raises UsageError as `LazyParsing` does."""
        if any(JSON in option.opts and not getattr(option, "is_flag", False) for option in self.params):
            args = with_word(args)
        return super().parse_args(ctx, args)


def require_once(given: Sequence[Any]) -> None:
    """Refuses an option with a value that comes twice and is not repeatable; raises UsageError."""
    for option, count in Counter(given).items():
        if count > 1 and option.param_type_name == "option" and not (option.is_flag or option.multiple):
            from mlcli.config.flags import FLAGS

            several = "; for a run of each: values separated by commas (docs/sweeps.md)" if option.name in FLAGS else ""
            raise UsageError("TWICE", f"{option.opts[0]} is given {'twice' if count == 2 else f'{count} times'}",
                             where=" or ".join(option.opts), hint=f"it takes one value{several}")


def require_place(option: Any, value: Any) -> None:
    """Refuse an empty name of a file or folder, which would be the working directory; raises UsageError.

    Options of a configuration, whose metavariables are set for their help alone, refuse it themselves.
    """
    if "" not in (value if isinstance(value, (list, tuple)) else [value]) or PLACES.isdisjoint(
            re.split(r"\W+", option.metavar or "")):
        return
    named = option.param_type_name == "option"
    raise UsageError("EMPTY-NAME", "the name of a file or folder is empty",
                     where=" or ".join(option.opts) if named else option.metavar,
                     hint="leave it out, or give a name" if named and not option.required else "give a name")


def first_given(values: Mapping[str, object]) -> str | None:
    """Return the first flag that has a value, of those that go with nothing here; None where none has."""
    return next((flag for flag, value in values.items() if value is not None and value is not False), None)


def with_word(arguments: Sequence[str]) -> list[str]:
    """The arguments with what follows `--json` as its value: one of its words, else the usual one."""
    read, rest = list[str](), list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return [*read, argument, *rest]
        if argument == JSON:
            argument = f"{JSON}={rest.pop(0) if rest and rest[0] in WORDS else WORDS[0]}"
        read.append(argument)
    return read


def spelling_of(flags: frozenset[str], given: frozenset[str] = frozenset()) -> Spelling:
    """Return the spelling of options for a command with these flags; one without --set names those of `embed`.

    An option that has two names has the one that is `given`.
    """
    def spelled(path: str, value: str) -> str:
        from mlcli.config.flags import FLAGS, takes_list

        fitting = [flag for flag in FLAGS.values()
                   if flag.path == path and (SET not in flags or flag.names[-1] in flags)]
        fitting.sort(key=lambda flag: (flag.names[-1] not in given, bool(flag.spells)))
        for flag in fitting:
            if value and value == written(flag.constant):
                return flag.names[-1]
        quoted = value if PLAIN.fullmatch(value) else f"'{value}'" if quote(value) == value else quote(value)
        for flag in fitting:
            if flag.constant is None and (not value or flag.spells in ("", "{}")):
                return f"{flag.names[-1]} {quoted}" if value else flag.names[-1]
        if not value:
            return path
        if takes_list(path):
            return f"{SET} {path}=[{value}]" if PLAIN.fullmatch(value) else f"{SET} {quote(f'{path}=[{value}]')}"
        return f"{SET} {path}={quoted}"

    return spelled


def in_flags(text: str) -> str:
    """Return a message with options as flags of `embed`, for pages that no command prints."""
    return spell(text, spelling_of(frozenset()))


def written(constant: object) -> str:
    """Return a constant as YAML has it."""
    return str(constant).lower() if isinstance(constant, bool) else str(constant)
