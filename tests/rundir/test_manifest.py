"""run.json is JSON whatever a run has found."""

import json
from pathlib import Path

import numpy as np

from mlcli.rundir.manifest import write_manifest
from mlcli.rundir.names import MANIFEST


def test_numbers_that_json_lacks_become_null(tmp_path: Path) -> None:
    facts = {"notes": [{"code": "N-X", "gap": float("inf"), "share": np.float64("nan"), "rows": np.int64(3)}]}
    write_manifest(tmp_path, facts)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["notes"] == [{"code": "N-X", "gap": None, "share": None, "rows": 3}]


def test_versions_and_libraries_are_told(tmp_path: Path) -> None:
    write_manifest(tmp_path, {})
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert {"python", "platform", "numpy", "scipy", "pyarrow", "pydantic"} <= set(manifest["versions"])
    assert {"library", "kernel", "threads", "used_by"} <= set(manifest["blas"][0])
