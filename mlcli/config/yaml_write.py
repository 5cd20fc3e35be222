"""Writing a YAML file that `yaml_file` reads back to equal values, and readers of YAML 1.1 as well."""

from typing import Any

import yaml

from mlcli.config import scalars


class Fluent:
    """Writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Equal objects are written out each time."""
        return True


class Dumper(Fluent, yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or 1.2 would read as something else."""


class Fast(Fluent, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """The same in C, where there is libyaml: four times as fast, and the same for texts in ASCII."""


class BeyondAscii(Exception):
    """A text that libyaml would write in another way, or not at all."""


def quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """A text, in double quotes where it holds characters that other styles fold or lose."""
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar(f"{scalars.CORE}str", value, style=style)


def quoted_ascii(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """The same; raises BeyondAscii."""
    if not value.isascii():
        raise BeyondAscii
    return quoted(dumper, value)


for kind, text in ((Dumper, quoted), (Fast, quoted_ascii)):
    kind.yaml_implicit_resolvers = {**yaml.SafeDumper.yaml_implicit_resolvers, None: list(scalars.RESOLVERS.items())}
    kind.add_representer(str, text)
    kind.add_representer(tuple, yaml.SafeDumper.represent_list)


def dump(value: Any) -> str:
    """The YAML text of plain values (mappings, lists, texts, numbers, null)."""
    try:
        return written(value, Fast)
    except BeyondAscii:
        return written(value, Dumper)


def written(value: Any, dumper: type[Any]) -> str:
    """The text as one of the two writes it."""
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=2**16)
