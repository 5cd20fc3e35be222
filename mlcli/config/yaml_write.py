"""Writing a YAML file that `yaml_file` reads back to equal values, and readers of YAML 1.1 as well."""

from typing import Any

import yaml

from mlcli.config import scalars


class Dumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or 1.2 would read as something else; writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Equal objects are written out each time."""
        return True


def quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """A text, in double quotes where it holds characters that other styles fold or lose."""
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar(f"{scalars.CORE}str", value, style=style)


Dumper.yaml_implicit_resolvers = {**yaml.SafeDumper.yaml_implicit_resolvers, None: list(scalars.RESOLVERS.items())}
Dumper.add_representer(str, quoted)
Dumper.add_representer(tuple, yaml.SafeDumper.represent_list)


def dump(value: Any) -> str:
    """The YAML text of plain values (mappings, lists, texts, numbers, null)."""
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=2**16)
