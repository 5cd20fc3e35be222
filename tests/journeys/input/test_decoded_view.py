"""A second view that an autoencoder decodes, from the command line: new rows are of the first, features of the second.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.input.test_view import write
from tests.journeys.support import Caller
from tests.wording import Wording

GENERATOR = np.random.default_rng(4)
SHARED = GENERATOR.standard_normal((60, 2))
FIRST = np.hstack([SHARED, GENERATOR.standard_normal((60, 2))]) * [3, 2, 1, 1] + [5, 0, 0, 100]
SECOND = 1000 * (SHARED @ [[1, 0, 1], [0, 1, -1]]) + 7 + GENERATOR.standard_normal((60, 3))
BOTH = ("first.csv", "-m", "autoencoder", "--view", "second.csv", "--scale", "standard")


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """Both views, the second in another order, and rows of the first that no run was fitted to."""
    write("first.csv", FIRST[:40], list(range(40)))
    write("second.csv", SECOND[:40], GENERATOR.permutation(40).tolist())
    write("fresh.csv", FIRST[40:], list(range(20)))


def table(path: str) -> tuple[list[str], np.ndarray]:
    """The names of the columns, and the numbers of the rows in the order of the file."""
    head, *rows = csv.reader(Path(path).read_text(encoding="utf-8").splitlines())
    return head[1:], np.array([[float(cell) for cell in row[1:]] for row in rows])


def test_new_rows_of_the_first_view_lead_to_the_columns_of_the_second(mlcli: Caller) -> None:
    mlcli.finished("embed", *BOTH, "-o", "run", "-q")
    assert mlcli("project", "run", "fresh.csv", "-o", "placed.csv", "-q").code == 0
    assert mlcli("reconstruct", "run", "placed.csv", "-o", "back.csv", "-q").code == 0
    names, back = table("back.csv")
    assert names == table("second.csv")[0]
    assert np.corrcoef(back.ravel(), SECOND[40:].ravel())[0, 1] > 0.99  # in the unit of the file
    assert table("placed.csv")[0][2:] == ["off_manifold", "off_manifold_p"]
    assert mlcli("verify", "run", "--full").out.startswith("run: pass; the input is unchanged")


def test_the_run_says_of_what_it_gives_back_how_much(mlcli: Caller) -> None:
    called = mlcli("embed", *BOTH, "-o", "run")
    assert called.code == 0
    record = json.loads(Path("run/run.json").read_text(encoding="utf-8"))
    share = 100 * (1 - record["fit"]["unexplained"])
    assert f"2 axes give back {share:.1f}% of the variance of the second view" in called.err
    quality = json.loads(Path("run/quality.json").read_text(encoding="utf-8"))
    assert quality["reconstruction_error"] == pytest.approx(3 * record["fit"]["mean_squared_error"], rel=1e-9)
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert "a row of the second view and what its row of the first leads to" in page
    with np.load("run/decoded.npz") as decoded:
        order = {name: row for row, name in enumerate(line.split(",")[0] for line in Path(
            "second.csv").read_text(encoding="utf-8").splitlines()[1:])}
        ids = [line.split(",")[0] for line in Path("run/embedding.csv").read_text(encoding="utf-8").splitlines()[1:]]
        expected = table("second.csv")[1][[order[ids[row]] for row in decoded["rows"].tolist()]]
        assert np.allclose(decoded["originals"], expected, rtol=1e-9)


def test_rows_of_the_second_view_are_not_placed_and_others_not_added(mlcli: Caller, wording: Wording) -> None:
    mlcli.finished("embed", *BOTH, "-o", "run", "-q", "--outputs", "embedding,spectrum,model")
    for words in (("second.csv", "--as-view", "2"), ("fresh.csv", "--view", "second.csv")):
        called = mlcli("project", "run", *words, "-q")
        assert (called.code, wording(called.err)) == (78, ["E-AS-VIEW"])
    called = mlcli("embed", "fresh.csv", "--onto", "run", "-o", "added", "-q")
    assert (called.code, wording(called.err)) == (78, ["E-ONTO-RUN"])


def test_rows_that_are_held_out_make_p_exact(mlcli: Caller) -> None:
    write("second.csv", SECOND[:40], list(range(40)))  # rows are held out by their numbers, before views are matched
    mlcli.finished("embed", *BOTH, "--calibrate", "0.3", "-o", "run", "-q")
    names, held = table("run/calibration.csv")
    assert names == ["y1", "y2", "off_manifold"] and held.shape == (12, 3) and (held[:, 2] > 0).all()
    assert mlcli("verify", "run").out.startswith("run: pass")
