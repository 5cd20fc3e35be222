"""A second start of the program, with variables that libraries read only when they load (`compute.portable`)."""

import os
from collections.abc import Iterable

from mlcli.base.machine import blas
from mlcli.base.values.compute import Compute
from mlcli.cli import supervisor
from mlcli.config import yaml_file
from mlcli.process.shared_status import STATUS


def start_portably(computes: Iterable[Compute]) -> None:
    """Start the program anew if results are to be portable and NumPy was loaded with other settings.

    Nothing may have been written or shown yet. Raises ConfigError where a new start would not help. Where the program
    is part of another one it is not started anew, and the computation raises ConfigError.
    """
    settings = blas.settings()
    if settings.portable or not settings.early or not any(compute.portable for compute in computes):
        return
    from mlcli.engine.portable import own_environment, require_possible

    require_possible()
    variables, piped = {blas.AGAIN: "1"}, yaml_file.Piped.content.decode()
    if not STATUS.supervised:
        supervisor.start_anew({**own_environment(), **variables}, piped)
    STATUS.post(again=variables, piped=piped)
    if "again" in STATUS.read():  # else the configuration from standard input is too long to be handed over
        os._exit(0)
