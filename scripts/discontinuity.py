#!/usr/bin/env python3
"""Calibrates the thresholds of `report.discontinuity` on maps that are known to be continuous, and to be cut.

    python scripts/discontinuity.py             # prints how often new maps raise the alarm, with the thresholds in use
    python scripts/discontinuity.py --write     # calibrates, and writes mlcli/findings/discontinuity/thresholds.py

Continuous maps are of data that has the layout's two dimensions, with neighborhoods that are large beside it: one normal
distribution, or well separated groups. Cut maps are of data that no continuous map leads to the layout: a sphere to the
plane, a circle to a line, or one normal distribution from a random start with few neighbors. A point is doubtful above
`ROOM` times the 99% quantile of the scores of continuous maps; a map is torn if more of its points are than `WORST`
times the largest share among continuous maps, and than `LEAST`.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.base.values.options import parse_options
from mlcli.findings.discontinuity.measure import Scores, doubtful_points, scores_of
from mlcli.findings.discontinuity.thresholds import TABLE, Threshold
from mlcli.methods import Method

TABLE_FILE = Path(__file__).parent.parent / "mlcli/findings/discontinuity/thresholds.py"
QUANTILE, ROOM, WORST, LEAST = 0.99, 1.1, 1.5, 0.01
UNBOUNDED = 0.005  # share of continuous points without a bound of singularity, beyond which that is not used
CALIBRATED, TESTED = 1_000, 2_000  # first seeds
MAPS = 12
