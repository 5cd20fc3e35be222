"""What the tests of the configuration share."""

from pathlib import Path

import pytest

from mlcli.config.build import build, outside_layer, variants_of
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.errors import MlcliError


def configured(folder: Path, text: str, environment: dict[str, str] | None = None, sets: list[str] | None = None,
               flags: dict[str, tuple[object, str]] | None = None) -> list[RunConfig]:
    """The runs of a YAML text in the file run.yaml under layers from outside; flags map a path to value and name."""
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    layer = Layer()
    for path, (value, name) in (flags or {}).items():
        layer = assignment(path, value, name).over(layer)
    outside = outside_layer(environment or {}, sets or [], layer)
    return [build(each.layer) for each in variants_of(folder / "run.yaml", outside)]


def refused(folder: Path, text: str, **layers: object) -> str:
    """The message that refuses a configuration, with the folder's name left out."""
    with pytest.raises(MlcliError) as caught:
        configured(folder, text, **layers)  # type: ignore[arg-type]
    error = caught.value
    return f"{error.exit_code} {error.code}: {error}".replace(f"{folder}/", "")


def one(**values: object) -> RunConfig:
    """A run of data.csv with some values by dotted path (two underscores stand for a dot)."""
    layer = assignment("input.path", "data.csv", "DATA")
    for name, value in values.items():
        layer = assignment(name.replace("__", "."), value, name).over(layer)
    return build(layer)
