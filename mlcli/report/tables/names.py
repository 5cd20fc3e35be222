"""Which tables a finished run can give, and in which forms; light enough for the command line to import."""

from typing import Literal

Name = Literal["loadings", "factors", "correlations", "spectrum", "quality", "fit", "dimension"]
Form = Literal["markdown", "latex", "csv"]
