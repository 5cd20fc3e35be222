"""Tables of a run as values, and the forms in which they are written; here their names, light enough for the
command line to import.
"""

from typing import Literal

Name = Literal["loadings", "factors", "correlations", "spectrum", "quality", "fit", "dimension", "items"]
Form = Literal["markdown", "latex", "csv"]
