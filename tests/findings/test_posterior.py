"""Classes with their probabilities: written, read back, and refused where they are damaged."""

import shutil
from pathlib import Path

import pytest

from mlcli.cli.program import run
from mlcli.errors import MlcliError
from mlcli.findings.posterior import memberships_of
from mlcli.runs.verify import verify
from tests.faults.fuzz.directories import SAMPLES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of discriminants."""
    made = tmp_path_factory.mktemp("classes") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlcli.report.paper.needs.LABELED", 0)  # names take longer than the run
        assert run(["embed", str(SAMPLES / "iris.csv"), "-m", "lda", "--label-column", "Species", "-o", str(made),
                    "-q"]) == 0
    return made


def test_probabilities_of_classes_are_read_back_and_verified(folder: Path, tmp_path: Path) -> None:
    found = memberships_of(folder, 150)
    assert found is not None and found.names == ("setosa", "versicolor", "virginica")
    assert abs(found.probabilities.sum(axis=1) - 1).max() < 1e-15
    verified = {check.name: check.verdict for check in verify(folder, full=True).certificate.checks}
    assert (verified["classifier"], verified["posterior"]) == ("pass", "pass")
    assert memberships_of(tmp_path, 150) is None


@pytest.mark.parametrize(("old", "new"), [("1,setosa,1,", "1,virginica,1,"), ("1,setosa,1,", "1,setosa,,"),
                                          ("1,setosa,", "0,setosa,1,0,0\n1,setosa,")])
def test_damaged_classes_are_refused(folder: Path, tmp_path: Path, old: str, new: str) -> None:
    shutil.copy(folder / "classes.csv", tmp_path)
    copy = tmp_path / "classes.csv"
    copy.write_text(copy.read_text().replace(old, new, 1))
    with pytest.raises(MlcliError) as caught:
        memberships_of(tmp_path, 150)
    assert "classes.csv" in str(caught.value)
