"""The program as it is, but that every checkpoint and every result of a stage is worth keeping.

Called as `python -P keeping.py PAUSE ARGUMENTS...`: with a pause in seconds at each checkpoint it says so first.
"""

import sys
import time

import mlcli.cli.program
from mlcli.__main__ import main

dispatch = mlcli.cli.program.dispatch


def eagerly(arguments: list[str]) -> None:
    """Carries out a command in the worker."""
    from mlcli.engine import resume

    resume.EVERY, resume.SHARE = 0.0, 1e9
    if PAUSE:
        offer = resume.CheckpointPlace.offer

        def told(place: resume.CheckpointPlace, checkpoint: object) -> None:
            print("offered", file=sys.stderr)
            time.sleep(PAUSE)
            offer(place, checkpoint)  # type: ignore[arg-type]

        resume.CheckpointPlace.offer = told  # type: ignore[assignment, method-assign]
    dispatch(arguments)


PAUSE = float(sys.argv[1])
mlcli.cli.program.dispatch = eagerly
sys.argv = ["mlcli", *sys.argv[2:]]
main()
