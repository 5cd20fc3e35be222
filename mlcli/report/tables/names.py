"""The names of the tables of a finished run, and their forms; light enough for the command line to import."""

from typing import Literal

Name = Literal["loadings", "factors", "correlations", "spectrum", "quality", "fit", "dimension", "items"]
Form = Literal["markdown", "latex", "csv"]
