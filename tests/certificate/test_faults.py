"""A fault in kernel, solver, rows, model or files is seen by the run itself, or by `mlcli verify --full`."""

import shutil
from pathlib import Path

import pytest

from tests.certificate.chain_faults import CHAIN_FAULTS
from tests.certificate.faults import FAULTS
from tests.certificate.support import configured, judged

EVERY = FAULTS | CHAIN_FAULTS
LONG = {"missing cells are taken for zeros"}  # EM that never converges


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in EVERY])
def test_a_fault_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = EVERY[name]
    config = configured(tmp_path, fault.method, fault.values, **fault.sections)
    before = judged(config)
    assert all(check["verdict"] in ("pass", "skipped") for check in before.values()), before
    shutil.rmtree(str(config.output))
    seen = fault.seen(tmp_path, monkeypatch)
    assert seen & fault.seen_by, seen
