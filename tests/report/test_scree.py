"""The spectrum as a table and a picture."""

import csv
import io
from xml.etree import ElementTree

import numpy as np
import pytest

from mlcli.report.scree import scree
from mlcli.report.spectrum_table import spectrum_facts, spectrum_table
from mlcli.stages.spectrum import Spectrum

SVG = "{http://www.w3.org/2000/svg}"


def spectrum(values: list[float], *, trace: float | None = None, complete: bool = True) -> Spectrum:
    array = np.array(values)
    return Spectrum(array, np.ones((len(array), 1)), None, float(array.sum()) if trace is None else trace, complete)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_numbers_come_back_to_the_last_bit() -> None:
    values = (np.random.default_rng(0).random(20) * 10.0 ** np.arange(10, -10, -1)).tolist()
    table = rows(spectrum_table(spectrum(values), None))
    assert [float(row["eigenvalue"]) for row in table] == values
    assert [int(row["component"]) for row in table] == list(range(1, 21))


def test_shares_are_of_the_trace_and_may_pass_one() -> None:
    table = rows(spectrum_table(spectrum([6.0, 4.0, -2.0]), None))
    assert [float(row["proportion"]) for row in table] == [0.75, 0.5, -0.25]
    assert [float(row["cumulative"]) for row in table] == [0.75, 1.25, 1.0]


def test_an_unknown_trace_leaves_shares_empty() -> None:
    table = rows(spectrum_table(spectrum([6.0, 4.0], trace=float("nan"), complete=False), None))
    assert [row["proportion"] for row in table] == ["", ""]


def test_as_many_rows_as_asked() -> None:
    assert len(rows(spectrum_table(spectrum([3.0, 2.0, 1.0]), 2))) == 2


def test_the_parts_of_the_trace_are_named() -> None:
    facts = spectrum_facts(spectrum([6.0, 4.0, -2.0]))
    assert (facts["trace"], facts["sum_of_positive"], facts["sum_of_sizes"]) == (8, 10, 12)
    assert facts["negative_share"] == pytest.approx(1 / 6)
    partly = spectrum_facts(spectrum([6.0, 4.0], trace=8.0, complete=False))
    assert partly["sum_of_positive"] is None and partly["trace"] == 8


@pytest.mark.parametrize("values", [[5.0, 3.0, 1.0], [5.0, 3.0, -1.0, -4.0], [0.0], [1e-300, 1e-301], [1e300, 1e299],
                                    list(range(80, 0, -1)), [float("inf"), 1.0], []])
def test_the_picture_is_well_formed_and_has_a_bar_for_each_value(values: list[float]) -> None:
    root = ElementTree.fromstring(scree(spectrum(values), 2, None, "a <name> & more"))
    bars = root.findall(f"{SVG}rect")
    assert len(bars) == min(len(values), 30)
    assert sum(bar.get("class") == "kept" for bar in bars) == min(2, sum(v >= 0 for v in values))
    assert sum(bar.get("class") == "negative" for bar in bars) == sum(v < 0 for v in values)
    for bar in bars:
        assert 0 <= float(bar.get("y", "nan")) <= 400
        assert float(bar.get("height", "nan")) >= 0
    assert "a <name> & more" in [element.text for element in root.iter(f"{SVG}text")]


def test_bars_are_as_high_as_their_values() -> None:
    root = ElementTree.fromstring(scree(spectrum([4.0, 2.0, 1.0]), 1, None, ""))
    heights = [float(bar.get("height", "0")) for bar in root.findall(f"{SVG}rect")]
    assert heights[0] == pytest.approx(2 * heights[1], rel=1e-2)
    assert heights[0] == pytest.approx(4 * heights[2], rel=1e-2)
