"""The page report.html, section by section.

A report is a function of a `FinishedRun` (`findings/frame/finished_run.py`). A run makes it from memory, `mlcli report`
from the files of a run directory; both pages have the same bytes. What the report draws of a decoder or of
images a run stores in small files, so that a later page never needs the model. Only `report/interactive/` writes a
page with a script.
"""
