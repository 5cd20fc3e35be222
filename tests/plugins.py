"""Packages that add to the program's tables, laid out in a folder as an installer does, without network or build."""

import os
import shutil
import tomllib
from pathlib import Path

from tests.processes import PACKAGES

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"


def install(site: Path, source: Path = EXAMPLE) -> Path:
    """Put the modules and the metadata of a package into a folder for Python's path, which is returned."""
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in (path.parent for path in source.glob("*/__init__.py")):
        shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return describe(site, project["name"], project["version"], project["entry-points"])


def describe(site: Path, name: str, version: str, entries: dict[str, dict[str, str]]) -> Path:
    """Put the metadata of a package with these entry points, by group and name, into a folder, which is returned."""
    metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = [line for group, names in entries.items()
             for line in (f"[{group}]", *(f"{key} = {place}" for key, place in names.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return site


def on_path(*sites: Path) -> dict[str, str]:
    """The variables of a process with such folders on Python's path."""
    return {"PYTHONPATH": os.pathsep.join([*map(str, sites), *(os.environ.get(name, "") for name in PACKAGES)])}
