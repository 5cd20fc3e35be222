"""Group G of the failure table: models, configurations, reports and places. A row's number begins a case's name."""

import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.cli.program import run as program
from tests.faults.failures.support import Refusal, answers, embed, refuses, zipped
from tests.faults.fuzz.directories import damaged, edited
from tests.journeys.support import Caller, write_points
from tests.wording import Wording


class Trap:
    """What writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("sprung",)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("whole")
    assert program(["embed", str(write_points(folder / "data.csv")), "-o", str(folder / "run"), "-q"]) == 0
    return folder / "run"


@pytest.fixture
def run(own_directory: Path, whole: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(whole, "run"))


def changed_arrays(content: bytes) -> bytes:
    """Arrays of which one is pickled."""
    with zipfile.ZipFile(Path("run/model.npz")) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(iter(members))
    array = b"\x93NUMPY\x01\0v\0" + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
    return zipped({**members, name: array + content}, zipfile.ZIP_STORED)


MODELS: dict[str, tuple[str, Any]] = {  # a place in model.json, and what is put there
    "G105 a future version": ("format", 99), "G105 an unknown kind": ("model.projector.similarity.type", "os.system"),
    "G105 no kind": ("model.kind", None), "G105 a kind of another type": ("model.kind", 3),
    "G105 a long header": ("pad", "x" * 2**20)}


@pytest.mark.parametrize("row", MODELS)
def test_a_model_that_is_not_one_is_refused(row: str, run: Path, mlcli: Caller) -> None:
    place, value = MODELS[row]
    if place == "model.projector.similarity.type":
        text = (run / "model.json").read_text()
        content = text.replace('"type": "', '"type": "os.system', 1)
        damaged(run, Path("damaged"), "model.json", content.encode())
    else:
        edited(run, Path("damaged"), "model.json", place, value)
    called = mlcli("project", "damaged", "data.csv", "-o", "out.csv", "-q")
    assert called.code == 83 and called.err.startswith("mlcli: error[E-MODEL]: "), called.err
    assert called.err.count("\n") == 1 and " damaged/model.json; " in called.err
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("file", ["model.npz", "model.json", "embedding.csv", "spectrum.csv"])
def test_g105_another_hash(run: Path, mlcli: Caller, file: str) -> None:
    (run / file).write_bytes((run / file).read_bytes() + b" ")
    called = mlcli("verify", "run")
    assert called.code == 83 and called.err.count("error[E-") == 1 and file in called.err, called.err


@pytest.mark.parametrize("file", ["model.npz", "model.json", "run.json"])
def test_g105_cut(run: Path, mlcli: Caller, file: str) -> None:
    damaged(run, Path("damaged"), file, (run / file).read_bytes()[:-20])
    called = mlcli("project", "damaged", "data.csv", "-o", "out.csv", "-q")
    assert called.code == 83 and called.err.count("\n") == 1 and "damaged" in called.err, called.err


def test_g105_a_pickle_is_not_opened(run: Path, mlcli: Caller, wording: Wording) -> None:
    damaged(run, Path("damaged"), "model.npz", changed_arrays(pickle.dumps(np.array([Trap()], dtype=object))))
    called = mlcli("project", "damaged", "data.csv", "-o", "out.csv", "-q")
    assert called.code == 83 and "E-MODEL" in wording(called.err) and not Path("sprung").exists()


START = "input: {path: data.csv}\n"
YAML: dict[str, tuple[str, int, str]] = {  # the file, and where it is wrong
    "G106 a tag": (START + "method: !!python/object/apply:os.mkdir [sprung]\n", 78, "c.yaml:2"),
    "G106 an alias": (START + "method: &a {name: pca}\nreport: *a\n", 78, "c.yaml:2"),
    "G106 a bomb": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 78, "c.yaml:1"),
    "G106 a large file": ("#" * (2**20 + 1), 78, "c.yaml"), "G106 depth": ("a: " + "[" * 10_000, 78, "c.yaml:1"),
    "G106 a key twice": (START + "input: {path: other.csv}\n", 78, "c.yaml:2"),
    "G106 an unknown key": (START + "methd: {name: pca}\n", 78, "c.yaml:2"),
    "G106 a text for a number": (START + "compute: {seed: five}\n", 78, "c.yaml:2"),
    "G106 a number beyond doubles": (START + "compute: {seed: 1e999}\n", 78, "c.yaml:2"),
    "G106 a time of YAML 1.1": (START + "compute: {seed: 12:30:45}\n", 78, "c.yaml:2"),
    "G106 no file": ("", 66, "absent.yaml")}


@pytest.mark.parametrize("row", YAML)
def test_a_configuration_that_is_not_plain_is_refused(row: str, mlcli: Caller) -> None:
    text, code, where = YAML[row]
    if text:
        Path("c.yaml").write_text(text)
    name = where.partition(":")[0]
    parts = ("run", name, "-o", "out", "-q")
    called = mlcli(*parts)
    assert called.code == code and called.err.count("\n") == 1 and where in called.err, called.err
    assert not Path("out").exists() and not Path("sprung").exists()


def test_g106_numbers_are_what_yaml_1_2_says(mlcli: Caller) -> None:
    Path("c.yaml").write_text(START + "method: {name: kpca, kernel: {name: gaussian, rate: 1e-1}}\n"
                              "compute: {seed: 012}\n")
    answers(mlcli, "run", "c.yaml", "-o", "out", "-q")
    made = Path("out/config.yaml").read_text()
    assert "seed: 12" in made and "rate: 0.1" in made


@pytest.mark.parametrize(("row", "output"), [
    ("G107 a file in the way", "data.csv"), ("G107 below a file", "data.csv/x"), ("G107 a link in the way", "link"),
    ("G107 a foreign folder", "folder"), ("G107 no disk", "/proc/x")])
def test_a_place_that_is_taken_is_refused(mlcli: Caller, row: str, output: str) -> None:
    Path("folder").mkdir()
    Path("folder/mine").write_text("kept")
    Path("link").symlink_to("folder")
    called = mlcli("embed", "data.csv", "-o", output, "-q", "--force")
    assert called.code == 73 and called.err.count("error[E-") == called.err.count("\n") == 1, called.err
    assert Path("folder/mine").read_text() == "kept" and Path("data.csv").is_file()


def test_g107_a_pipe_is_no_input(mlcli: Caller) -> None:
    os.mkfifo("pipe")
    refuses(mlcli, Refusal(embed("pipe"), 66, "E-NOT-A-FILE", "pipe"))


HOSTILE = ["</script><img src=x onerror=alert(1)>", "\x1b[31mred", "\u202eright to left", "two\nlines", "a" * 3000]


def test_g108_names_stay_text(mlcli: Caller) -> None:
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    Path("x.csv").write_text("\n".join([f"id,{quoted[0]},{quoted[1]}", *(
        f"{name},{place},{place**2}" for place, name in enumerate(quoted, 1))]), encoding="utf-8")
    called = mlcli("embed", "x.csv", "--id-column", "id", "-o", "out")
    assert called.code == 0, called.err
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page and "</script><img" not in page and "\x1b" not in page + called.err + called.out
    called = mlcli("embed", "x.csv", "-o", "other")  # whose first column is text, and is named
    assert called.code == 65 and called.err.count("\n") == 1 and "\x1b" not in called.err and len(called.err) < 1000
    assert "\u202e" not in called.err


def test_g109_formulas_are_kept_and_told(mlcli: Caller) -> None:
    Path("x.csv").write_text('id,a,b\n=cmd(),1,2\n+1,2,5\n@x,3,1\n')
    assert "warning[W-FORMULA]" in mlcli("embed", "x.csv", "--id-column", "id", "-o", "out").err
    assert Path("out/embedding.csv").read_text().splitlines()[1].startswith("=cmd(),")


@pytest.mark.parametrize("sign", "=+-@")
def test_columns_and_labels_named_like_formulas_are_warned_of(mlcli: Caller, sign: str, wording: Wording) -> None:
    rows = [f"p{row},{row % 2},{row * 7 % 5},{row * 3 % 7}" for row in range(8)]
    Path("x.csv").write_text("\n".join([f"id,group,{sign}a,b", *rows]))
    called = mlcli("embed", "x.csv", "--id-column", "id", "-o", "out", "--outputs", "embedding,spectrum,model")
    assert wording(called.err, "W-FORMULA") == ["W-FORMULA"] and f"'{sign}a'" in called.err
    Path("x.csv").write_text("\n".join([f"id,{sign}group,a,b", *rows]))
    called = mlcli("embed", "x.csv", "--id-column", "id", "--label-column", f"{sign}group", "-o", "labeled")
    assert wording(called.err, "W-FORMULA") == ["W-FORMULA"] and f"'{sign}group'" in called.err


def test_g110_nothing_of_the_environment_is_written(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "correct-horse-battery")
    answers(mlcli, *embed("data.csv"))
    assert not any(b"correct-horse" in path.read_bytes() for path in Path("out").iterdir())
    assert "path: data.csv" in Path("out/config.yaml").read_text()
    assert "data.csv" in json.dumps(json.loads(Path("out/run.json").read_text())["input"])
