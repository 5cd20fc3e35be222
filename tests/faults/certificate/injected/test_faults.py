"""A fault in kernel, solver, rows, model or files is seen by the run itself, or by `mlcli verify --full`."""

import pickle
import shutil
from pathlib import Path

import pytest

from tests.faults.certificate.injected.chain_faults import CHAIN_FAULTS
from tests.faults.certificate.injected.faults import FAULTS, Fault
from tests.faults.certificate.injected.linear_faults import LINEAR_FAULTS
from tests.faults.certificate.injected.local_faults import LOCAL_FAULTS
from tests.faults.certificate.support import configured, judged

EVERY = FAULTS | CHAIN_FAULTS | LOCAL_FAULTS | LINEAR_FAULTS
LONG = {"missing cells are taken for zeros"}  # EM that never converges

_honest: dict[bytes, dict[str, str]] = {}  # verdicts of checks, by the run


def honest(folder: Path, fault: Fault) -> dict[str, str]:
    """The verdict of each check on the run without the fault, which faults in the same run share."""
    run = pickle.dumps((fault.method, fault.values, fault.sections))
    if run not in _honest:
        config = configured(folder, fault.method, fault.values, **fault.sections)
        _honest[run] = {name: check["verdict"] for name, check in judged(config).items()}
        shutil.rmtree(str(config.output))
    return _honest[run]


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in EVERY])
def test_a_fault_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = EVERY[name]
    before = honest(tmp_path, fault)
    assert set(before.values()) <= {"pass", "skipped"}, before
    seen = fault.seen(tmp_path, monkeypatch)
    assert seen & fault.seen_by, seen
