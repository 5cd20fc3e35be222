"""run.json is JSON whatever a run has found."""

import json
from pathlib import Path

import numpy as np

from mlcli.rundir.manifest import manifest_of, replace_listed, require_intact, write_manifest
from mlcli.rundir.names import MANIFEST


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    facts = {"notes": [{"code": "N-X", "gap": float("inf"), "share": np.float64("nan"), "rows": np.int64(3)}]}
    write_manifest(tmp_path, manifest_of(facts))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["notes"] == [{"code": "N-X", "gap": None, "share": None, "rows": 3}]


def test_versions_and_libraries_are_told(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest_of({}))
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert {"python", "platform", "numpy", "scipy", "pyarrow", "pydantic"} <= set(manifest["versions"])
    assert {"library", "kernel", "threads", "used_by"} <= set(manifest["blas"][0])


def test_a_file_is_replaced_with_its_hash(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("old")
    (tmp_path / "other").write_text("stays")
    write_manifest(tmp_path, manifest_of({}))
    before = json.loads((tmp_path / MANIFEST).read_text())["files"]
    replace_listed(tmp_path, "page", b"new")
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    require_intact(tmp_path, manifest, ("page", "other"))
    assert manifest["files"]["other"] == before["other"] and manifest["files"]["page"] != before["page"]
    assert {path.name for path in tmp_path.iterdir()} == {"page", "other", MANIFEST}
