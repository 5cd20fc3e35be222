"""What a run assesses of its own embedding."""

from typing import Any

from mlcli.base.frozen import frozen
from mlcli.findings.decoded.decoded import Decoded
from mlcli.findings.images.thumbnails import Thumbnails
from mlcli.findings.quality import Measured
from mlcli.findings.stability.measure import Stable


@frozen
class Findings:
    """What is assessed of a finished embedding, for the run directory."""

    quality: Measured | None  # None where it was not asked for
    dimension: dict[str, Any] | None = None  # the content of dimension.json; None where it was not asked for
    stability: Stable | None = None  # where it was asked for
    decoded: Decoded | None = None  # where the method has a decoder, and rows are drawn
    thumbnails: Thumbnails | None = None  # where rows are images
