"""What is published beside the package says the same as pyproject.toml: conda's recipe, the citation, the links."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import mlcli
from mlcli.methods import METHODS
from scripts.project_urls import dynamic_metadata

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
ADDRESS = PYPROJECT["tool"]["scikit-build"]["metadata"]["urls"]["repository"]
RECIPE = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def bounds(requirements: list[str]) -> dict[str, str]:
    """Names with their bounds, in one order."""
    return {found.name: str(found.specifier) for found in map(Requirement, requirements)}


def in_recipe(part: str) -> tuple[list[str], dict[str, str]]:
    """The requirements of a part of the recipe, and its conditional ones with their conditions."""
    listed = RECIPE["requirements"][part]
    return ([one for one in listed if isinstance(one, str)],
            {one["then"]: one["if"] for one in listed if isinstance(one, dict)})


def test_the_recipe_runs_with_the_dependencies_of_the_package_and_is_built_with_its_tools() -> None:
    listed, conditional = in_recipe("run")
    assert bounds([*listed, *conditional]) == {"python": PROJECT["requires-python"], **bounds(PROJECT["dependencies"])}
    marked = {found.name for found in map(Requirement, PROJECT["dependencies"]) if found.marker is not None}
    assert {Requirement(text).name for text in conditional} == marked
    for text, condition in conditional.items():
        (marker,) = (str(found.marker) for found in map(Requirement, PROJECT["dependencies"])
                     if found.name == Requirement(text).name)
        assert set(condition.split(" or ")) == set(re.findall(r'platform_machine == "(\w+)"', marker))
    host, _ = in_recipe("host")
    assert bounds(host) == {"python": PROJECT["requires-python"], "pip": "",
                            **bounds(PYPROJECT["build-system"]["requires"])}


def test_the_recipe_has_the_name_version_license_and_command_of_the_package() -> None:
    assert RECIPE["package"]["name"] == PROJECT["name"] and RECIPE["context"]["version"] == mlcli.__version__
    about = RECIPE["about"]
    assert (about["license"], about["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert all((ROOT / name).exists() for name in about["license_file"])
    assert RECIPE["build"]["python"]["entry_points"] == [f"{name} = {place}"
                                                         for name, place in PROJECT["scripts"].items()]
    assert about.get("repository", "") == ADDRESS


def test_the_citation_is_of_this_version_and_license() -> None:
    assert CITATION.keys() >= {"cff-version", "message", "title", "abstract", "keywords"}
    assert (CITATION["version"], CITATION["type"]) == (mlcli.__version__, "software")
    assert " AND ".join(CITATION["license"]) == PROJECT["license"]
    assert CITATION["authors"] == PROJECT["authors"] and CITATION.get("repository-code", "") == ADDRESS
    assert f"one of {len(METHODS)} methods" in CITATION["abstract"]


@pytest.mark.parametrize("name", ["https://example.org/mlcli", "https://example.org/mlcli/"])
def test_all_links_are_made_of_the_address_of_the_repository(name: str) -> None:
    links: dict[str, Any] = dynamic_metadata("urls", {"repository": name}, {})
    assert links["Homepage"] == "https://example.org/mlcli" and links["Issues"] == "https://example.org/mlcli/issues"
    files = [link.partition("/blob/main/")[2] for link in links.values() if "/blob/main/" in link]
    assert files and all((ROOT / file).is_file() for file in files)
    assert dynamic_metadata("urls", {"repository": ""}, {}) == {}


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[([^\]]*)\]", text, re.MULTILINE)[0] == mlcli.__version__
    assert f"- {len(METHODS)} methods" in text
