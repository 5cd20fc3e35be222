"""The figure of partial points: which rows it names, and the order of its legend."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.partial import NAMED, ROW, PartialFinding
from mlcli.methods import METHODS

GROUPS = ("taste", "smell", "look")  # not in alphabetical order


def drawn(places: dict[str, Array], own: Array) -> str:
    """The section of a run whose groups place its rows (n x 2)."""
    ids = tuple(f"s{row}" for row in range(len(own)))
    value = CsvColumns({"id": ids, **{f"{name}.y{axis}": values[:, axis - 1] for name, values in places.items()
                                      for axis in (1, 2)}})
    run: Any = SimpleNamespace(embedding=SimpleNamespace(values=own, ids=ids), seed=0,
                               config=SimpleNamespace(method=METHODS["mfa"]()), axis_names=lambda count: ("y1", "y2"))
    ((_, part),) = PartialFinding().sections(value, run)
    return str(part)


def test_rows_on_which_groups_disagree_are_named_and_the_legend_is_in_the_order_of_groups() -> None:
    own = np.random.default_rng(0).uniform(-5, 5, (20, 2))
    apart = np.full((20, 1), 0.1)
    apart[[3, 11]] = [[3.0], [2.0]]
    page = drawn({name: own + apart * way for name, way in zip(GROUPS, ([1, 0], [-1, 1], [0, -1]), strict=True)}, own)
    assert "The longest lines: &#x27;s3&#x27;, &#x27;s11&#x27;, " in page and page.count("&#x27;s") == NAMED
    assert ">s3<" in page
    legend = [page.index(f">{name} (20)<") for name in (*GROUPS, ROW)]
    assert legend == sorted(legend)
