"""A random walk of a given width: its certificate compares it in the unit of the computation."""

import json
from pathlib import Path

from tests.journeys.support import Caller


def test_a_given_width_passes_the_certificate(mlcli: Caller) -> None:
    called = mlcli.bare("data.csv", "-m", "diffusion", "--set", "method.bandwidth.epsilon=8", "-q", "-o", "walk")
    assert called.code == 0, called.err
    checks = json.loads(Path("walk/certificate.json").read_text())["checks"]
    assert [check["verdict"] for check in checks if check["name"] == "epsilon"] == ["pass"]
