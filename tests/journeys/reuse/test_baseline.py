"""What the version before the rooms left on a disk is read, repeated and gone on with: `baseline.tar.xz` holds it."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mlcli.methods import METHODS
from tests.journeys.support import Caller
from tests.laws.contract.repeating import apart, coordinates, distance, spectrum

EVERYDAY = ("pca", "isomap", "lda", "gplvm")  # with a factor, a streamed kernel, labels, and a process
NEAR = {"sde": 1e-2}  # its steps are others now; within a gap of 1e-4 coordinates may move by the root of it
ARCHIVE = Path(__file__).with_name("baseline.tar.xz")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of the former runs, `runs`, with `data` and `configs` beside it."""
    folder = tmp_path_factory.mktemp("baseline")
    with tarfile.open(ARCHIVE) as file:
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and before have none
        file.extractall(folder)
    return folder / "place"


@pytest.fixture(autouse=True)
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(place)
    yield


@pytest.mark.medium
@pytest.mark.parametrize("method", [method if method in EVERYDAY else pytest.param(method, marks=pytest.mark.slow)
                                    for method in METHODS])
def test_a_former_run_is_read_and_repeated(method: str, mlcli: Caller) -> None:
    run = Path("runs", method)
    if not run.exists():
        pytest.skip("a younger method")
    assert mlcli("verify", run, "-q").code == 0
    before = (run / "run.json").stat().st_ino
    assert mlcli("run", f"../configs/{method}.yaml", "--skip-existing", "-q").code == 0
    assert (run / "run.json").stat().st_ino == before, "its fingerprint is another"
    assert mlcli("run", f"../configs/{method}.yaml", "-o", f"again/{method}", "-q").code == 0
    if method in NEAR:
        assert distance(coordinates(run), coordinates(Path("again", method))) <= NEAR[method]
    else:
        assert apart(run, Path("again", method)) <= 1
    assert spectrum(run).shape == spectrum(Path("again", method)).shape
    former, present = (json.loads((folder / "run.json").read_text(encoding="utf-8"))
                       for folder in (run, Path("again", method)))
    assert former.keys() <= present.keys() and former["files"].keys() <= present["files"].keys()
    given = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))["input"]
    options = [text for name in given["label_columns"] for text in ("--label-column", name)]
    assert mlcli("project", run, given["path"], "-o", f"again/{method}.csv", "-q", "--id-column", given["id_column"],
                 *options).code == 0
    assert mlcli("report", run, "-q").code == 0


def test_a_former_sweep_that_is_half_done_goes_on(mlcli: Caller) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in Path("runs/sweep").glob("*/run.json")}
    assert mlcli("run", "../configs/sweep.yaml", "--skip-existing", "-q").code == 0
    assert sorted(path.name for path in Path("runs/sweep").iterdir() if path.is_dir()) == [
        "count=6", "count=7", "count=8", "count=9"]
    assert before == {path.name: path.stat().st_mtime_ns for path in Path("runs/sweep").glob("*/run.json")
                      if path.parent.name in ("count=6", "count=8")}
