"""A fault in kernel, solver, rows, model or files is seen by the run itself."""

from pathlib import Path

import pytest

from mlcli.certify.budget import Budget
from tests.certificate.faults import FAULTS
from tests.certificate.support import configured, judged


@pytest.fixture(autouse=True)
def on_a_quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at follows from the work that 50 ms allow, not from what else this machine does."""
    monkeypatch.setattr(Budget, "over", property(lambda self: False))
    monkeypatch.setattr("mlcli.certify.budget.pace", lambda: 1.0)


LONG = {"missing cells are taken for zeros"}  # EM that never converges


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in FAULTS])
def test_a_fault_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    config = configured(tmp_path, fault.method, fault.values, **fault.sections)
    before = judged(config)
    assert all(check["verdict"] in ("pass", "skipped") for check in before.values()), before
    fault.inject(monkeypatch)
    failed = {name for name, check in judged_again(config).items() if check["verdict"] == "fail"}
    assert failed & fault.seen_by, failed


def judged_again(config):  # type: ignore[no-untyped-def]
    """The same run with the fault in it, in an empty place."""
    import shutil

    shutil.rmtree(str(config.output))
    return judged(config)
