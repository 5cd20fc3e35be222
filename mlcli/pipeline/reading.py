"""What a run begins with: its table in memory, or read in blocks where memory holds the table and not its fit."""

from contextlib import nullcontext, suppress

from mlcli.base.machine.footprint import followed_by
from mlcli.base.rows.sketching import sketching
from mlcli.base.stages.stage import listening, tell, unnoted
from mlcli.config.run_config import RunConfig
from mlcli.data.options.input import Input
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError
from mlcli.methods.frame.memory import peak
from mlcli.pipeline.assess import drawing_of
from mlcli.pipeline.shared_input import is_sketch
from mlcli.pipeline.start import Start, begin, is_run
from mlcli.rundir.journal import Journal


def begun(config: RunConfig, given: Table | None = None) -> Start:
    """What a run begins with, unless the table is given; raises what reading and preparing raise.

    A run that would not fit is refused before a pass over its file.
    """
    start = None if given is not None else foreseen(config)
    if start is None:
        return begin(config, given)
    if not is_sketch(start.source):
        return start
    require_fit(config, start)
    return begin(in_blocks(config) if is_read_again(config.input) else config)  # which it is read in at any rate


def foreseen(config: RunConfig, *, told: bool = False) -> Start | None:
    """What a run begins with, read already, or with the first rows for all of a table that is read in blocks.

    None where nothing is to be foreseen, or where reading all is to find what is wrong. What the first rows say is
    `told` where nobody will read all.
    """
    if not config.streams or is_run(config.input.path) or config.input.path == "-":  # which is read once
        return None
    try:
        found = _read(config)
        if is_read_again(config.input) and not (found and fits(config, found[0])):
            blocks = _read(in_blocks(config))  # where that does not fit either, the first way says why
            found = blocks if blocks and (found is None or fits(config, blocks[0])) else found
    except MlcliError:
        return None
    if found is None:
        return None
    start, journal = found
    for note in journal.notes if told or not is_sketch(start.source) else ():
        tell(note)
    return start


def in_blocks(config: RunConfig) -> RunConfig:
    """The same run, which reads its table in blocks."""
    return config.replace(input=config.input.replace(stream="always"))


def is_read_again(input: Input) -> bool:
    """Whether a file may be read in another way than its size says: nobody has said how, and it lies there to be read.
    """
    return (input.stream == "auto" and input.view.path is None and input.path != "-"
            and not is_run(input.path))


def _read(config: RunConfig) -> tuple[Start, Journal] | None:
    """What a run begins with, and what there is to say of it; None where memory is too small for this way, or the file
    is not read in blocks. PCA ahead of a method takes a table as it is.
    """
    journal = Journal()  # what is said of a table that will be read in another way is said then
    try:
        with unnoted(), listening(journal), nullcontext() if config.prepare.reduce is not None else sketching():
            return begin(config), journal
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
        with followed_by(drawing_of(config, start)):
            method = config.method.resolve(data)
            alone = peak(method.steps_before_fit(method.in_range(data), compute), data, method, compute)
            return alone <= limit if first is None else alone > limit or alone + first.given.table.bytes <= limit
    return True


def require_fit(config: RunConfig, start: Start) -> None:
    """Refuses a fit for which memory is known not to suffice; raises RefusedByPlan."""
    if not fits(config, start):
        data = start.prepared.table.data()
        with followed_by(drawing_of(config, start)):
            method = config.method.resolve(data)
            method.require_memory(method.steps_before_fit(method.in_range(data), config.compute), data, config.compute)
