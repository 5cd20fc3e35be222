"""`project --classes` writes the classes of new rows, with probabilities."""

from pathlib import Path

from tests.faults.fuzz.directories import SAMPLES
from tests.journeys.support import Caller


def test_new_rows_get_classes_with_probabilities(mlcli: Caller) -> None:
    lines = (SAMPLES / "iris.csv").read_text().splitlines()
    Path("known.csv").write_text("\n".join([lines[0], *lines[1::2], ""]))
    Path("new.csv").write_text("\n".join([lines[0], *lines[2::2], ""]))
    assert mlcli("embed", "known.csv", "-m", "lda", "--label-column", "Species", "-o", "run", "-q").code == 0
    assert mlcli("project", "run", "new.csv", "-o", "placed.csv", "--classes", "classes.csv").code == 0
    head, *rows = [line.split(",") for line in Path("classes.csv").read_text().splitlines()]
    assert head == ["id", "class", "P(setosa)", "P(versicolor)", "P(virginica)"]
    assert all(abs(sum(map(float, row[2:])) - 1) < 1e-12 for row in rows)
    known = [line.rpartition(",")[2].strip('"') for line in lines[2::2]]
    assert sum(row[1] == name for row, name in zip(rows, known, strict=True)) >= 70
    assert mlcli("project", "run", "known.csv", "-o", "again.csv", "--classes", "own.csv").code == 0
    assert Path("own.csv").read_text() == Path("run/classes.csv").read_text()
    for other, code in (("classes.csv", 73), ("more.csv", 2), ("classes.npy", 2)):
        assert mlcli("project", "run", "new.csv", "-o", "more.csv", "--classes", other).code == code


def test_a_run_without_classes_gives_none(mlcli: Caller) -> None:
    mlcli.finished("embed", "data.csv", "-p", "3", "-o", "run")
    called = mlcli("project", "run", "data.csv", "-o", "more.csv", "--classes", "classes.csv")
    assert called.code == 78 and "E-NO-CLASSES" in called.err and not Path("more.csv").exists()
