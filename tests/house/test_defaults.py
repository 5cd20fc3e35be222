"""The defaults on the pages are those that a run uses and writes to config.yaml."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcli.config.describe import show
from mlcli.config.run_config import RunConfig
from mlcli.methods import METHODS
from tests.journeys.support import Caller, write_points

PAGES = Path(__file__).parents[2] / "docs"
LINE = re.compile(r"\| `([a-z_.]+)`(?: \(`[^`]+`\))? \| .* \| `([^`]*)` \| [^|]*\|$")


def documented(page: str) -> Iterator[tuple[str, str]]:
    """Yield the options of a page with their defaults."""
    for line in (PAGES / page).read_text(encoding="utf-8").splitlines():
        if found := LINE.match(line):
            yield found[1], found[2]


def written(config: Any, path: str) -> list[str]:
    """Return the value at a path in a configuration, as a page shows it; nothing for an option of an alternative."""
    for name in path.split("."):
        if not isinstance(config, dict) or name not in config:
            return []
        config = config[name]
    if isinstance(config, list):
        return [f"[{', '.join(map(str, config))}]"]
    return [config if isinstance(config, str) else show(config)]


@pytest.mark.parametrize("method", METHODS)
def test_defaults_on_the_page_of_a_method_are_those_of_its_configuration(method: str) -> None:
    config = RunConfig.model_validate({"input": {"path": "x.csv"}, "method": {"name": method}}).model_dump(mode="json")
    stated = list(documented(f"methods/{method}.md"))
    compared = [(path, default, value) for path, default in stated for value in written(config, path)]
    assert compared and [(path, default) for path, default, _ in compared] == [
        (path, value) for path, _, value in compared]


@pytest.mark.medium
@pytest.mark.parametrize("method", ["smacof", "sammon", "nmds", "phate", "pca"])
def test_a_run_writes_the_defaults_that_are_documented(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_points(Path("data.csv"))
    assert Caller(capsys)("embed", "data.csv", "-m", method, "-o", "run", "-q").code == 0
    config = yaml.safe_load(Path("run/config.yaml").read_text(encoding="utf-8"))
    for path, default in documented(f"methods/{method}.md"):
        assert [yaml.safe_load(value) for value in written(config, path)] in ([], [yaml.safe_load(default)]), path


def test_defaults_on_the_page_of_the_configuration_are_its_own() -> None:
    config = RunConfig.model_validate({"input": {"path": "x.csv"}, "method": {"name": "pca"}}).model_dump(mode="json")
    compared = [(path, default, value) for path, default in documented("config.md")
                for value in written(config, path) if default != "required"]
    assert len(compared) > 40
    assert [(path, default) for path, default, _ in compared] == [(path, value) for path, _, value in compared]
