"""The command line: one file per command, without logic of its own.

`program.py` carries out a command line, and `attempt` (`screen/failure.py`) returns its exit code: that of the branch
in the tree of errors (`errors.py`).
"""
