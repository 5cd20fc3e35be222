"""Choose how the table is read: whole, or in blocks of rows where the fit of the whole table exceeds the memory."""

from __future__ import annotations

from contextlib import suppress

from mlcli.base.context import set_context
from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import Note, listening, mute_notes, tell
from mlcli.config.run_config import RunConfig
from mlcli.data.read.table import can_be_cut
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError, RefusedByPlan
from mlcli.findings.frame.plan import FitPlan
from mlcli.findings.frame.result import Start
from mlcli.pipeline.fit import drawing_of
from mlcli.pipeline.process import ALONE, Process, is_sketch
from mlcli.pipeline.start import begin
from mlcli.rundir.journal import Journal
from mlcli.rundir.reading import is_run


@frozen
class Reading:
    """A way of reading: the start of a run, of the first rows alone where blocks are read, and the plan of its fit."""

    start: Start
    notes: list[Note]
    fit: FitPlan | None  # None where the fit will be an error

    @classmethod
    def of(cls, config: RunConfig, process: Process) -> Reading | None:
        """Begin a run; None where memory is too small for it. Raises what `begin` raises else.

        Only the first rows of blocks are read, unless PCA before the method needs all.
        """
        journal = Journal()  # notes are passed on once this reading is chosen
        try:
            with mute_notes(), listening(journal), set_context(sketch=config.prepare.reduce is None):
                start = begin(config, process)
        except RefusedByPlan:
            return None
        with suppress(MlcliError):
            config = config.with_image(start.source.image, start.features)
            return cls(start, journal.notes, FitPlan.of(config, start, drawing_of(config, start)))
        return cls(start, journal.notes, None)

    def take(self) -> tuple[Start, FitPlan | None]:
        """Pass on the notes of the reading, which is chosen; returns its start and the plan of its fit."""
        for note in self.notes:
            tell(note)
        return self.start, self.fit

    @property
    def fits(self) -> bool:
        """Whether memory holds the fit, as far as that is known before it; also where the fit will be an error.

        Also where rows were reduced, and their fit does not fit alone: no other way of reading them helps.
        """
        with suppress(MlcliError):
            if self.fit is not None:
                first, alone, limit = self.start.reduced, self.fit.memory, self.fit.compute.memory_bytes()
                return alone <= limit if first is None else alone > limit or alone + first.given.table.bytes <= limit
        return True


def read_start(config: RunConfig, process: Process = ALONE, given: Table | None = None) -> tuple[Start, FitPlan | None]:
    """Read and prepare the table of a run, unless it is `given`, in memory or in blocks.

    Returns also the plan of the fit where that has decided how the table is read. A run that would not fit is refused
    before a pass over its file. Raises what `begin` raises, and RefusedByPlan.
    """
    reading = None if given is not None else choose_reading(config, process)
    if reading is None:
        return begin(config, process, given), None
    if is_sketch(reading.start.source):
        if reading.fit is not None and not reading.fits:
            reading.fit.require_memory()
        del reading  # and with it a sparse table, which is read again
        return begin(with_blocks(config) if chooses_reading(config) else config, process), None
    return reading.take()


def preview(config: RunConfig) -> tuple[Start, FitPlan | None]:
    """Return the start of a run that is predicted, as `read_start` does, and the plan of its fit where it is known.

    Of a table that is read in blocks, the first rows stand for all.
    """
    reading = choose_reading(config, ALONE)
    if reading is None:
        return begin(config), None
    return reading.take()


def choose_reading(config: RunConfig, process: Process) -> Reading | None:
    """Choose between memory and blocks by the memory of the fit.

    None for input that can be read only once, and where reading the whole file is to find an error.
    """
    if config.onto is not None:
        return None
    if not config.streams or is_run(config.input.path) or config.input.path == "-":  # which is read once
        return None
    with suppress(MlcliError):
        whole = Reading.of(config, process)
        if not chooses_reading(config) or (whole and whole.fits) or not has_blocks(config):
            return whole
        blocks = Reading.of(with_blocks(config), process)
        return blocks if blocks and (whole is None or blocks.fits) else whole  # which says why it does not fit
    return None


def has_blocks(config: RunConfig) -> bool:
    """Whether blocks of the table's rows can be read, and prepared as the options say; raises DataError."""
    whole = config.report.setting("calibration") is not None or not config.prepare.in_blocks
    return not whole and all(can_be_cut(file, config.compute, config.method.distance.categories)
                             for file in with_blocks(config).input.files)


def with_blocks(config: RunConfig) -> RunConfig:
    """Return the configuration with the table read in blocks."""
    return config.replace(input=config.input.replace(stream="always"))


def chooses_reading(config: RunConfig) -> bool:
    """Whether the reader may choose between memory and blocks: `stream` is `auto` and the input are regular files whose
    columns are one table.
    """
    input = config.input
    return (input.stream == "auto" and (not input.views or config.joins_views) and input.path != "-"
            and not is_run(input.path))
