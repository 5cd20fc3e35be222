"""What a run begins with: its table in memory, or read in blocks where memory holds the table and not its fit."""

from contextlib import suppress

from mlcli.ahead import Start, begin, is_run
from mlcli.assessed import drawing_of
from mlcli.base.footprint import followed_by
from mlcli.base.stage import listening, tell, unnoted
from mlcli.config.run_config import RunConfig
from mlcli.data.input import Input
from mlcli.data.table import Table
from mlcli.errors import MlcliError
from mlcli.methods.memory import peak
from mlcli.rundir.journal import Journal


def begun(config: RunConfig, given: Table | None = None) -> Start:
    """What a run begins with, unless the table is given; raises what reading and preparing raise."""
    if given is not None or not (config.streams and is_read_again(config.input)):
        return begin(config, given)
    blocks = config.replace(input=config.input.replace(stream="always"))
    return _fitting(config) or _fitting(blocks) or begin(config)  # of which the fit says why it is refused


def is_read_again(input: Input) -> bool:
    """Whether a file may be read in another way than its size says: nobody has said how, and it lies there to be read.
    """
    return (input.stream == "auto" and not input.chooses_rows and input.view.path is None and input.path != "-"
            and not is_run(input.path))


def _fitting(config: RunConfig) -> Start | None:
    """What a run begins with; None where memory does not hold its fit, or the file is not read in blocks."""
    journal = Journal()  # what is said of a table that will be read in another way is said then
    try:
        with unnoted(), listening(journal):
            start = begin(config)
            fitting = fits(config, start)
    except MlcliError as error:
        if error.code == "E-MEMORY" or (error.code, error.where) == ("E-STREAM", "input.stream"):
            return None
        _repeat(journal)
        raise
    if not fitting:
        return None
    _repeat(journal)
    return start


def _repeat(journal: Journal) -> None:
    for note in journal.notes:
        tell(note)


def fits(config: RunConfig, start: Start) -> bool:
    """Whether memory holds the fit of a table, as far as that is known before it; also where the fit will be an error.

    Also where rows were reduced, and their fit does not fit alone: no other way of reading them helps.
    """
    table, first, compute = start.prepared.table, start.reduced, config.compute
    data, limit = table.data(), compute.memory_bytes()
    with suppress(MlcliError):
        config.report.require_point_labels(table.rows, table.labels)
        with followed_by(drawing_of(config, start)):
            method = config.method.resolve(data)
            alone = peak(method.known(method.in_range(data), compute), data, method, compute)
            return alone <= limit if first is None else alone > limit or alone + first.given.table.bytes <= limit
    return True
