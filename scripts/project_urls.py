"""The links of the package's metadata, all from one address: `repository` in pyproject.toml."""

from collections.abc import Mapping
from typing import Any


def dynamic_metadata(field: str, settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, str]:
    """Return `project.urls` of a repository on GitHub; none while `repository` is empty."""
    address = str(settings["repository"]).rstrip("/")
    return {} if not address else {
        "Homepage": address, "Documentation": f"{address}/blob/main/docs/index.md",
        "Changelog": f"{address}/blob/main/CHANGELOG.md", "Issues": f"{address}/issues",
        "Security": f"{address}/security/policy"}
