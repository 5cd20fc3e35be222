"""A method on a dozen of the user's rows, step by step, with the numbers of the run itself.

The mathematics gives its values to listeners as it computes them (`computed`, in `base/stages/stage.py`): each stage
of a composition, each function that is a stage, each state of an iteration, and a few values between them. `record.py`
is a listener that copies these before they are overwritten, `formulas.py` the one table of what each of them is called,
with formula and sentence, and `steps.py` the result. A method that is not named there has a page all the same: its
rows, the stages of its composition with the sentences of their docstrings, its iteration, spectrum, loadings and
coordinates. `run.py` chooses the rows and carries the method out by the pipeline; `page.py` is the HTML page and
`mathml.py` sets its formulas.
"""
