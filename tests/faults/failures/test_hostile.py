"""Hostile data through `check`, `plan` and `compare`: an answer or a named error, never an internal one or a warning.

Warnings of NumPy are errors here, and would end in exit code 1.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Called, Caller
from tests.wording import Wording

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.standard_normal((30, 4))
SQUARE = np.abs(POINTS[:8] @ POINTS[:8].T)
SQUARE = (SQUARE + SQUARE.T) * (1 - np.eye(8))


def table(values: np.ndarray) -> bytes:
    """Numbers as CSV."""
    head = ",".join(f"c{j}" for j in range(values.shape[1]))
    return "\n".join([head, *(",".join(map(repr, row)) for row in values.tolist()), ""]).encode()


def changed(values: np.ndarray, *cells: tuple[int, int, float]) -> np.ndarray:
    """A copy with other numbers in some cells."""
    values = values.copy()
    for row, column, value in cells:
        values[row, column] = value
    return values


PLAIN = table(POINTS)
TEXTS = {  # what reads, or the exit codes of check and plan
    "constant": (table(np.ones((20, 3))), 0, 0), "repeated": (table(np.repeat(POINTS[:4], 8, axis=0)), 0, 0),
    "one row": (table(POINTS[:1]), 0, 65), "a missing cell": (table(changed(POINTS, (3, 2, np.nan))), 0, 65),
    "no numbers": (table(np.full((9, 3), np.nan)), 0, 65), "infinite": (table(changed(POINTS, (4, 1, np.inf))), 0, 65),
    "denormal": (table(POINTS * 5e-320), 0, 0), "large": (table(np.clip(POINTS, -1.7, 1.7) * 1e308), 0, 0),
    "all scales": (table(POINTS * [1e-300, 1, 1e300, 1e10]), 0, 0), "empty": (b"", 65, 65), "blank": (b"\n\n", 65, 65),
    "names only": (b"a,b\n", 65, 65), "bytes": (RANDOM.bytes(5000), 65, 65),
    "zero byte": (b"a,b\n1,2\n3,\x004\n", 65, 65),
    "byte order mark": (b"\xef\xbb\xbf" + PLAIN, 0, 0), "carriage returns": (PLAIN.replace(b"\n", b"\r\n"), 0, 0),
    "two bytes": (PLAIN.decode().encode("utf-16"), 0, 0), "ragged": (b"a,b\n1,2\n3\n", 65, 65),
    "line in quotes": (b'"a\nb",c\n1,2\n3,4\n', 0, 0),
    "10,000 columns": (table(RANDOM.standard_normal((4, 10_000))), 0, 0),
}
MATRICES = {  # with the exit codes as dissimilarities
    "asymmetric": (np.triu(SQUARE), 0, 65), "not square": (SQUARE[:5], 65, 65), "zero": (0 * SQUARE, 0, 0),
    "infinite": (changed(SQUARE, (1, 2, np.inf), (2, 1, np.inf)), 0, 65),
    "large": (SQUARE / SQUARE.max() * 1.7e308, 0, 0), "below zero": (-SQUARE, 0, 65),
    "one point": (np.zeros((1, 1)), 0, 65), "no points": (np.zeros((0, 0)), 65, 65),
}


def ends(called: Called, code: int) -> None:
    """As it should, with one error that says what, or none."""
    assert called.code == code, called.err
    assert "E-INTERNAL" not in called.err and "Traceback" not in called.err
    assert called.err.count("mlcli: error[E-") == (code != 0)


@pytest.mark.parametrize("name", TEXTS)
def test_tables(name: str, mlcli: Caller) -> None:
    content, checked, planned = TEXTS[name]
    Path("hostile.csv").write_bytes(content)
    ends(mlcli("check", "hostile.csv"), checked)
    ends(mlcli("plan", "hostile.csv"), planned)


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str, mlcli: Caller) -> None:
    values, checked, planned = MATRICES[name]
    np.save("hostile.npy", values)
    ends(mlcli("check", "hostile.npy", "--dissimilarities"), checked)
    ends(mlcli("plan", "hostile.npy", "--dissimilarities", "-m", "mds"), planned)


def test_numbers_as_large_as_there_are(mlcli: Caller) -> None:
    np.save("largest.npy", np.where(POINTS > 0, 1.7e308, -1.7e308))
    ends(mlcli("check", "largest.npy"), 0)


@pytest.mark.slow
def test_runs_of_hostile_data_side_by_side(mlcli: Caller) -> None:
    runs = {"constant": np.ones((30, 3)), "repeated": np.repeat(POINTS[:6], 5, axis=0), "plain": POINTS,
            "small": POINTS * 1e-300, "large": POINTS * 1e300, "two rows": POINTS[:2]}
    for name, values in runs.items():
        Path("data.csv").write_bytes(table(values))
        ends(mlcli("embed", "data.csv", "-o", name, "-q"), 0)
    for left, right in pairwise([*runs, *runs]):
        ends(mlcli("compare", left, right, "-o", "page.html", "--force"), 0)
    ends(mlcli("compare", *runs, "--json"), 0)


@pytest.mark.parametrize("factor", [5e-320, 1e308])
def test_coordinates_that_are_no_doubles_are_refused_as_such(factor: float, mlcli: Caller, wording: Wording) -> None:
    Path("data.csv").write_bytes(table(np.clip(POINTS, -1.7, 1.7) * factor))
    called = mlcli("embed", "data.csv", "-o", "out")
    ends(called, 80)
    assert "E-RANGE" in wording(called.err)
    assert not Path("out.failed").exists()
    ends(mlcli("embed", "data.csv", "-o", "out", "--scale", "standard"), 0)
