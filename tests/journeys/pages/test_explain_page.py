"""The six points of docs/explain.md are worked through with the numbers that the command gives."""

import json
import re
from pathlib import Path

from tests.journeys.support import Caller

PAGE = (Path(__file__).parents[3] / "docs" / "explain.md").read_text(encoding="utf-8")
TABLES = re.findall(r"\n((?:\|.*\|\n)+)", PAGE)


def cells(line: str) -> list[str]:
    """The cells of a line of a table, without the marks of the row's name."""
    return [cell.strip().strip("*") for cell in line.strip("|").split("|")]


def test_the_tables_of_the_page_are_those_of_the_command(mlcli: Caller) -> None:
    (points,) = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    Path("six.csv").write_text(points, encoding="utf-8")
    called = mlcli("explain", "isomap", "six.csv", "-k", "2", "--json")
    assert called.code == 0, called.err
    shown = [array for step in json.loads(called.out)["steps"] for array in step["arrays"]]
    assert len(TABLES) == 7
    for table in TABLES:
        head, _, *lines = table.strip().split("\n")
        symbol, *columns = cells(head)
        rows = [cells(line)[0] for line in lines]
        stated = [[cell or None for cell in cells(line)[1:]] for line in lines]
        found = next(array for array in shown if (array["symbol"], array["rows"], array["columns"]) == (
            symbol, rows, columns))
        assert stated == [[None if value is None else "0" if abs(value) < 1e-12 else f"{value:.4g}" for value in row]
                          for row in found["values"]]
