"""The section of the page about the rows that were held out of the fit."""

from typing import TYPE_CHECKING

import numpy as np

from mlcli.findings.calibration import SCORE
from mlcli.report.drawing.html import Part, figure, section, sentence
from mlcli.report.drawing.text import number
from mlcli.report.figures.curves import curve

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import CsvColumns

BINS = 20


def calibration(value: "CsvColumns") -> Part:
    """Return what p of new rows is computed from, and the scores of the rows held out as a curve."""
    scores = value.array(SCORE)
    count = len(scores)
    said = (f"{number(count)} {'row was' if count == 1 else 'rows were'} held out of the fit and placed by it. "
            "mlcli project compares the score of a new row with theirs: p is the share of scores that are as large, "
            "the row's own included, and "
            f"{1 / (count + 1):.2g} at least. Of rows like these, a share of at most a has p up to a, on average over "
            "the draw of the rows held out. A usual row of the fit has a score of about one.")
    if not np.ptp(scores) > 0:
        return section("Rows held out", sentence(f"{said} All scores are equal.", "soft"))
    heights, edges = np.histogram(scores, bins=BINS)
    drawn = curve("Rows held out by their score", "score off the manifold", "rows",
                  ((edges[:-1] + edges[1:]) / 2).tolist(), {"rows": heights.astype(float).tolist()})
    return section("Rows held out", sentence(said, "soft"), figure(drawn, "New rows beyond the right end have the "
                                                                   "least p."))
