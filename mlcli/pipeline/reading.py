"""Choose how the table is read: whole, or in blocks of rows where the fit of the whole table exceeds the memory."""

from contextlib import suppress

from mlcli.base.context import set_context
from mlcli.base.machine.footprint import memory_after_fit
from mlcli.base.stages.stage import listening, mute_notes, tell
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError
from mlcli.methods.frame.memory import peak
from mlcli.pipeline.assess import drawing_of
from mlcli.pipeline.process import ALONE, Process
from mlcli.pipeline.shared_input import is_sketch
from mlcli.pipeline.start import Start, begin, is_run
from mlcli.rundir.journal import Journal


def read_start(config: RunConfig, process: Process = ALONE, given: Table | None = None) -> Start:
    """Read and prepare the table of a run, unless it is `given`, in memory or in blocks.

    A run that would not fit is refused before a pass over its file. Raises what `begin` raises, and RefusedByPlan.
    """
    start = None if given is not None else preview(config, process)
    if start is None:
        return begin(config, process, given)
    if not is_sketch(start.source):
        return start
    require_fit(config, start)
    return begin(in_blocks(config) if chooses_reading(config.input) else config, process)


def preview(config: RunConfig, process: Process = ALONE, *, final: bool = False) -> Start | None:
    """Return the start of a run; of a table that is read in blocks, one whose first rows stand for all.

    None for input that can be read only once, and where reading the whole file is to find an error. Notes about first
    rows are passed on if they are `final`, as nobody will read all rows.
    """
    if not config.streams or is_run(config.input.path) or config.input.path == "-":  # which is read once
        return None
    try:
        found = _read(config, process)
        if chooses_reading(config.input) and not (found and fits(config, found[0])):
            blocks = _read(in_blocks(config), process)  # where that does not fit either, the first way says why
            found = blocks if blocks and (found is None or fits(config, blocks[0])) else found
    except MlcliError:
        return None
    if found is None:
        return None
    start, journal = found
    for note in journal.notes if final or not is_sketch(start.source) else ():
        tell(note)
    return start


def in_blocks(config: RunConfig) -> RunConfig:
    """Return the configuration with the table read in blocks."""
    return config.replace(input=config.input.replace(stream="always"))


def chooses_reading(input: Input) -> bool:
    """Whether the reader may choose between memory and blocks: `stream` is `auto` and the input is a regular file."""
    return (input.stream == "auto" and input.view.path is None and input.path != "-"
            and not is_run(input.path))


def _read(config: RunConfig, process: Process) -> tuple[Start, Journal] | None:
    """Return the start of a run with its notes; None where memory is too small for it, or no blocks can be read.

    Only the first rows of blocks are read, unless PCA before the method needs all.
    """
    journal = Journal()  # notes are passed on once this reading is chosen
    try:
        with mute_notes(), listening(journal), set_context(sketch=config.prepare.reduce is None):
            return begin(config, process), journal
    except MlcliError as error:
        if error.code == "E-MEMORY" or (error.code, error.where) == ("E-STREAM", "input.stream"):
            return None
        raise


def fits(config: RunConfig, start: Start) -> bool:
    """Whether memory holds the fit of a table, as far as that is known before it; also where the fit will be an error.

    Also where rows were reduced, and their fit does not fit alone: no other way of reading them helps.
    """
    table, first, compute = start.prepared.table, start.reduced, config.compute
    data, limit = table.data(), compute.memory_bytes()
    with suppress(MlcliError):
        config.report.require_point_labels(table.rows, table.labels)
        with memory_after_fit(drawing_of(config, start)):
            method = config.method.resolve(data)
            alone = peak(method.steps_before_fit(method.in_range(data), compute), data, method, compute)
            return alone <= limit if first is None else alone > limit or alone + first.given.table.bytes <= limit
    return True


def require_fit(config: RunConfig, start: Start) -> None:
    """Refuses a fit for which memory is known not to suffice; raises RefusedByPlan."""
    if not fits(config, start):
        data = start.prepared.table.data()
        with memory_after_fit(drawing_of(config, start)):
            method = config.method.resolve(data)
            method.require_memory(method.steps_before_fit(method.in_range(data), config.compute), data, config.compute)
