"""`mlcli schema`: the JSON schema of the YAML files."""

from mlcli.cli.screen.output import standard_output
from mlcli.cli.screen.progress import warn
from mlcli.config.run_config import unusable_plugins
from mlcli.config.schema import schema_text


def schema() -> None:
    """Print the JSON schema of the YAML files, for editors.

    \b
    mlcli schema > mlcli.schema.json

    Editors use it for a YAML file whose first line is `# yaml-language-server: $schema=./mlcli.schema.json`.
    """
    standard_output().write(schema_text().encode())
    warn(unusable_plugins())
