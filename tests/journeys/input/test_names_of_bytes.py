"""Names of files that are no UTF-8: any bytes but / are a name, and each command takes and writes it."""

import json
import os
from pathlib import Path

import pytest

from mlcli.base.values.file_names import FileName, Text
from mlcli.base.values.options import Options
from tests.journeys.support import Caller, write_points

DATA, WORDS, RUN, CONFIG = map(os.fsdecode, (b"d\xff.csv", b"w\xff.csv", b"r\xff", b"c\xff.yaml"))


@pytest.fixture
def called(mlcli: Caller) -> Caller:
    """The command line, beside a file with such a name and a finished run of it."""
    write_points(Path(DATA))
    Path(WORDS).write_text("\n".join(["group", *(f"g{number % 3}" for number in range(30))]))
    done = mlcli("embed", DATA, "-m", "isomap", "-k", "8", "--labels", WORDS, "-o", RUN, "-q", "--json")
    assert done.code == 0, done.err
    return mlcli


def test_a_run_reads_and_is_given_any_name(called: Caller) -> None:
    """Its documents are UTF-8, and lead back to the file, as its config.yaml does."""
    manifest = json.loads(Path(RUN, "run.json").read_text(encoding="utf-8"))
    assert manifest["input"]["path"] == DATA and Path(manifest["input"]["absolute"]).exists()
    assert "\\udcff" in Path(RUN, "report.html").read_text(encoding="utf-8")
    again = called("run", f"{RUN}/config.yaml", "-o", f"{RUN}2", "-q")
    assert again.code == 0, again.err
    assert Path(RUN, "embedding.csv").read_bytes() == Path(f"{RUN}2", "embedding.csv").read_bytes()


@pytest.mark.parametrize("line", [
    ("check", DATA), ("plan", DATA), ("verify", RUN), ("report", RUN), ("project", RUN, DATA, "-o", f"p{DATA}"),
    ("compare", RUN, RUN, "-o", f"o{RUN}.html"), ("collect", ".", "-o", f"o{RUN}"), ("export", RUN, "-o", f"{RUN}.txt",
                                                                               "--format", "ordination"),
    ("embed", DATA, "-o", f"o{RUN}", "--set", f"compute.cache=k{RUN}")], ids=lambda line: line[0])
def test_commands_take_it(line: tuple[str, ...], called: Caller) -> None:
    done = called(*line)
    assert done.code == 0, done.err


@pytest.mark.medium
def test_a_sweep_over_such_names_has_its_table(called: Caller) -> None:
    Path(CONFIG).write_text('input: {path: "d\\udcff.csv"}\nsweep: {compute.seed: [0, 1]}\n', encoding="utf-8")
    done = called("run", CONFIG, "-q")
    assert done.code == 0, done.err
    folder, = (path for path in Path("runs").iterdir() if path.is_dir())
    assert os.fsencode(folder.name) == b"c\xff" and Path(folder, "runs.html").exists()


@pytest.mark.medium
def test_parts_of_a_table_have_such_names(called: Caller) -> None:
    Path("parts").mkdir()
    for number in range(2):
        Path("parts", f"{number}{DATA}").write_text(f"x,y\n{number},2.5\n3,1.25\n4,{number}.5\n")
    done = called("embed", "parts", "-o", "joined", "-q")
    assert done.code == 0, done.err
    assert called("verify", "joined").code == 0


def test_only_bytes_stand_in_for_letters() -> None:
    """A surrogate that no byte is read as is refused, and so is no name at all."""

    class Named(Options):
        file: FileName = "x"
        says: Text = ""

    assert Named(file=DATA, says=DATA).file == DATA
    for wrong in ("\ud800", "", 7):
        with pytest.raises(ValueError, match="file"):
            Named.model_validate({"file": wrong})
