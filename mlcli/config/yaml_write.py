"""Writing of YAML that `yaml_file`, and readers of YAML 1.1, read back to equal values."""

from typing import Any

import yaml

from mlcli.config import scalars


class NoAliases:
    """A mixin that writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: equal objects are written in full each time."""
        return True


class Dumper(NoAliases, yaml.SafeDumper):
    """A dumper that quotes every text that YAML 1.1 or 1.2 would read as another value."""


class FastDumper(NoAliases, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """A dumper in C, if libyaml is installed: four times as fast, for ASCII texts."""


class BeyondAscii(Exception):
    """A text that libyaml would write differently, or not at all."""


def quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Return the node of a text, in double quotes if it has characters that other styles fold or lose."""
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar(f"{scalars.CORE}str", value, style=style)


def quoted_ascii(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Return the node of an ASCII text; raises BeyondAscii for others."""
    if not value.isascii():
        raise BeyondAscii
    return quoted(dumper, value)


for kind, text in ((Dumper, quoted), (FastDumper, quoted_ascii)):
    kind.yaml_implicit_resolvers = {**yaml.SafeDumper.yaml_implicit_resolvers, None: list(scalars.RESOLVERS.items())}
    kind.add_representer(str, text)
    kind.add_representer(tuple, yaml.SafeDumper.represent_list)


def dump(value: Any) -> str:
    """Return the YAML text of plain values (mappings, lists, texts, numbers, null)."""
    try:
        return dump_by(value, FastDumper)
    except BeyondAscii:
        return dump_by(value, Dumper)


def dump_by(value: Any, dumper: type[Any]) -> str:
    """Return the YAML text that a dumper writes."""
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=2**16)
