"""Predictions of a run's time and memory.

`plan.py` puts them together for `mlcli plan`. The memory of a fit is predicted in `methods/method.py`, by which a fit
over the limit is refused, too; the costs of stages stand beside the stages.
"""
