"""`mlcli schema`: the JSON schema of the YAML files."""

from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import warn
from mlcli.config.run_config import unusable_plugins
from mlcli.config.schema import schema as schema_of_files


def schema() -> None:
    """Print the JSON schema of the YAML files, for editors.

    \b
    mlcli schema > mlcli.schema.json

    Editors use it for a YAML file whose first line is `# yaml-language-server: $schema=./mlcli.schema.json`.
    """
    print_json(schema_of_files())
    warn(unusable_plugins())
