"""The forecast of a sequence: its file is read as it was computed, and the page draws the columns that move most."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.errors import UnsafeFile
from mlcli.findings.forecast import MOST, SHOWN, TABLE, ForecastFinding, ForecastRows
from mlcli.rundir.reading import csv_rows
from tests.report.support import finished_run

FINDING = ForecastFinding()


def forecast(rows: int, columns: int) -> ForecastRows:
    """Column k moves by k, with deviations of a tenth."""
    names = tuple(f"c{place}" for place in range(columns))
    return ForecastRows(names, np.linspace(0, 1, rows)[:, None] * np.arange(columns), np.full((rows, columns), 0.1))


def test_a_file_is_read_as_it_was_written_whatever_the_columns_are_called(tmp_path: Path) -> None:
    value: Any = None
    for names in (("a", "sd a"), ("step", "sd step"), ("a, b", "a")):
        rows = np.random.default_rng(1).standard_normal((2, 3, 2))
        value = ForecastRows(names, rows[0], np.abs(rows[1]))
        FINDING.write(value, tmp_path, value)  # the result is not read
        found = FINDING.read(tmp_path, finished_run())
        assert found is not None and found.columns == names
        assert np.array_equal(found.means, value.means) and np.array_equal(found.deviations, value.deviations)
    assert csv_rows(tmp_path / TABLE.name, check=lambda _: None)[2].shape == (3, 5)


def test_a_run_without_the_file_has_none_and_damage_is_named(tmp_path: Path) -> None:
    assert FINDING.read(tmp_path, finished_run()) is None
    for text in ("step,a,sd b\n1,2,3\n", "step,a\n1,2\n", "step,a,sd a\n1,2\n", "step,a,sd a\n1,x,3\n"):
        (tmp_path / TABLE.name).write_text(text, encoding="utf-8")
        with pytest.raises(UnsafeFile, match=TABLE.name):
            FINDING.read(tmp_path, finished_run())


def test_the_columns_that_move_most_are_drawn_in_their_order() -> None:
    [(_, part)] = FINDING.sections(forecast(5, 7), finished_run())
    titles = [part.text.find(f">c{place}<") for place in range(7)]
    assert [place for place, found in enumerate(titles) if found >= 0] == [3, 4, 5, 6] and titles == sorted(titles)
    assert f"Of 7 columns those {SHOWN}" in part.text and "The first" not in part.text
    [(_, part)] = FINDING.sections(forecast(MOST + 1, 2), finished_run())
    assert f"The first {MOST} rows are drawn." in part.text and "columns those" not in part.text


def test_numbers_that_are_not_finite_are_not_drawn() -> None:
    value = forecast(3, 2)
    value.means[1, 1] = np.inf
    assert not [*FINDING.sections(value, finished_run())]
